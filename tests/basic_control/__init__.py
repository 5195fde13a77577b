"""Tests of the start: in a checkout, and of an installed wheel."""
