"""Versions of the documents that a run writes, importable without the code that writes them."""

RESULTS_VERSION = 2
"""Version of results.json. Raised when a key is renamed, removed or changes its meaning; not for a new key."""
