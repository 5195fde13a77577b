"""The results of whole runs: scores, comparisons, verdicts; pure functions of tables, on top of `metrics.stats`."""
