"""Tests of what a run's processes share."""
