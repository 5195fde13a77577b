"""Renewed items: made, asked beside their originals, and told apart from them."""
