"""Paragraphs with one key sentence."""
