"""Renewed twins of items, one file per kind of change."""
