"""Tests of the reports, on a run made in memory."""
