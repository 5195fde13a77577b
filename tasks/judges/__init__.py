"""Whether judges can be trusted: what they were measured at, and the labels of people beside theirs."""
