"""Estimates of configurations, as `--dry-run` makes them."""

from basic_control.config.settings import Settings
from basic_control.tasks.estimate import calls
from basic_control.tasks.plan import resolve


def estimate(settings: Settings) -> calls.CostEstimate:
    """Return what a configuration would ask."""
    return calls.estimate(resolve(settings))
