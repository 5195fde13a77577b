"""Chain of thought, scored against a worked reference."""
