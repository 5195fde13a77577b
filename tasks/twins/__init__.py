"""Renewed items: created, asked beside their originals, and distinguished from them."""
