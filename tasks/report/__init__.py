"""Reports for users, written into the run's folder."""
