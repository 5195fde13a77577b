"""Estimates of configurations, as `--dry-run` makes them."""

from basic_control.config.settings import Settings
from basic_control.tasks.estimate import costs
from basic_control.tasks.plan import resolve


def estimate(settings: Settings) -> costs.CostEstimate:
    """Return what a configuration would ask."""
    return costs.estimate_plan(resolve(settings))
