"""What whole runs come to: scores, comparisons, verdicts; pure functions of tables, on top of `metrics.stats`."""
