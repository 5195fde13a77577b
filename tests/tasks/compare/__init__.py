"""Finished runs side by side: paired by their questions."""
