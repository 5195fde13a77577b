"""Estimate a run's calls and cost; nothing is called or written."""
