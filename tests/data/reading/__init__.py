"""Tests of the one reader of replies."""
