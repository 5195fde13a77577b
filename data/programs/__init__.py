"""Extraction of programs from responses."""
