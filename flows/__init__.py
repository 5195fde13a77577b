"""Wiring only: which task feeds which. Each flow runs as `python -m flows.<name>`."""
