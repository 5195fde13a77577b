"""Tests of checking cited sources, against real servers on loopback."""
