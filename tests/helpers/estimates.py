"""Estimates of configurations, as `--dry-run` makes them."""

from config.settings import Settings
from tasks.estimate import calls
from tasks.plan import resolve


def estimate(settings: Settings) -> calls.CostEstimate:
    """Return what a configuration would ask."""
    return calls.estimate(resolve(settings))
