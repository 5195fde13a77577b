"""JSON replies scored by schema and content."""
