"""The families' promises, each family's traps, and what they share."""
