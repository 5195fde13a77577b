"""Replies in the manner of real models, written from the rules alone: what must pass and what must not."""
