"""Tests of reading and writing what other tools record."""
