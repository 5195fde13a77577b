"""Cited answers: markers, sources, support."""
