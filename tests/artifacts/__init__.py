"""Tests of artifacts."""
