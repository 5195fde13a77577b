"""Whether judges can be trusted: their measured accuracy, and human labels beside theirs."""
