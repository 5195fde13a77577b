"""Tests mirror the tree; `tests/benchmarks` holds what is measured, not asserted."""
