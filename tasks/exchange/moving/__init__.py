"""Moving from another tool: its configuration as one of ours, and an account of what became of each part."""
