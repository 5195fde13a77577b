"""Comparison of finished runs; no model is called."""
