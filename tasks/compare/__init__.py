"""Finished runs side by side; nothing is asked."""
