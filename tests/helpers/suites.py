"""Suites as shipped, with weights, thresholds and metrics of a test's own; and a configuration's items."""

from collections.abc import Mapping
from typing import Any

from config.settings import Settings
from data.suites import Suite
from metrics.analysis.scores import SuiteResult
from tasks.generate import items_of

MODEL = {"name": "m", "provider": "ollama"}
JUDGE = {"name": "j", "provider": "ollama"}


def declared(
    *names: str,
    weights: Mapping[str, float] | None = None,
    thresholds: Mapping[str, float | None] | None = None,
    metrics: Mapping[str, tuple[str, ...]] | None = None,
) -> list[Suite]:
    """Return shipped suites, or suites of a metric's name, by name."""
    found = []
    for name in names:
        changes: dict[str, Any] = {}
        if weights and name in weights:
            changes["weight"] = weights[name]
        if thresholds and name in thresholds:
            changes["threshold"] = thresholds[name]
        if metrics and name in metrics:
            changes |= {"metrics": {one: {} for one in metrics[name]}, "score": metrics[name], "strata": ""}
        found.append(shipped(name).model_copy(update=changes))
    return found


def shipped(name: str) -> Suite:
    """Return a suite as it is shipped."""
    return Settings.model_validate({"models": [MODEL], "judges": [JUDGE], "suites": [name]}).suites[0]


def rows_of(name: str, **section: Any) -> list[dict[str, Any]]:
    """Return the items of a shipped suite, with a section of short keys over it."""
    raw = {"models": [MODEL], "judges": [JUDGE], "suites": [name], name: section}
    return list(items_of(Settings.model_validate(raw).suites[0]))


def result(suite: str, score: float | None, n: int) -> SuiteResult:
    """Return a suite's score as far as FINAL_RESULTS needs it."""
    return SuiteResult(suite, score, weight=0.5, n_scored=n)
