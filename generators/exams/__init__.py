"""Questions with a known truth, by which judges are measured."""
