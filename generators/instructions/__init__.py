"""Commands to carry out on a sentence."""
