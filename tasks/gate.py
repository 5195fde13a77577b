"""Gate: a run's results against the configured thresholds."""

from basic_control.metrics.analysis.policy import Policy
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.analysis.verdict import RunVerdict, verdict_of
from basic_control.tasks.stage import stage


@stage(version=1, part="report", takes="report", cached=False)
def gate(results: Results, policy: Policy) -> RunVerdict:
    """Decide whether a run passes."""
    return verdict_of(results, policy)
