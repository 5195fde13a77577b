"""Calls of tools compared with the expected ones."""
