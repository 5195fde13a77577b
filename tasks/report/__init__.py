"""Report: what people open, written into the run's folder."""
