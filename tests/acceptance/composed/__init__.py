"""Styles of replies, one module a family: RIGHT ones must be accepted, WRONG ones refused."""
