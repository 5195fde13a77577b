"""Questions with a known truth that measure judges."""
