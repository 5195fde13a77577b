"""Gate: a run's results against the configured thresholds."""

from metrics.analysis.policy import Policy
from metrics.analysis.results import Results
from metrics.analysis.verdict import RunVerdict, verdict_of
from tasks.stage import stage


@stage(version=1, part="report", takes="report", cached=False)
def gate(results: Results, policy: Policy) -> RunVerdict:
    """Decide whether a run passes."""
    return verdict_of(results, policy)
