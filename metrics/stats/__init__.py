"""Statistics: intervals, pairs, agreement, power."""
