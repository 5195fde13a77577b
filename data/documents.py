"""Versions of the documents that a run leaves, for whoever reads one without all that writes it."""

RESULTS_VERSION = 1
"""Of results.json. Raised when a key is renamed, removed or changes its meaning; a new key does not raise it."""
