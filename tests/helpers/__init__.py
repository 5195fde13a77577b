"""What several tests share; no test imports from another."""
