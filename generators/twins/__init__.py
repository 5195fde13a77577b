"""Renewed twins of items: one file a kind of change."""
