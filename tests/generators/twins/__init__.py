"""Tests of twins."""
