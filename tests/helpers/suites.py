"""Suites as shipped, with weights, thresholds and metrics of a test's own; and a configuration's items."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from basic_control.config.settings import Settings
from basic_control.data.suites import Suite
from basic_control.metrics.analysis.headlines import Decision, Headline, Measurement, ModelResult, Shortfall
from basic_control.metrics.analysis.scores import join_headlines
from basic_control.metrics.stats.intervals import Interval, MeanEstimate
from basic_control.tasks.generate import items_of

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


def headline(
    suite: str, score: float | None, interval: Interval | None = None, weight: float = 0.5, **facts: Any
) -> Headline:
    """Return a model's score in a suite; `facts` are fields of its parts."""
    kinds = (Measurement, Shortfall, Decision)
    parts = [{field.name: facts.pop(field.name) for field in fields(kind) if field.name in facts} for kind in kinds]
    assert not facts, f"no part has {', '.join(facts)}"
    measured = Measurement(score=MeanEstimate(score, interval or Interval()), **parts[0])
    return Headline(suite, "", "m", weight, measured, Shortfall(**parts[1]), Decision(**parts[2]))


def model_of(name: str, *headlines: Headline, score: float | None = None, **decision: Any) -> ModelResult:
    """Return a model with its headlines and their overall score (or another `score`), which is decided as told."""
    own = tuple(replace(one, model=name) for one in headlines)
    whole = replace(join_headlines(name, own), decided=Decision(**decision))
    if score is not None:
        estimate = MeanEstimate(score, whole.measured.score.interval)
        whole = replace(whole, measured=replace(whole.measured, score=estimate))
    return ModelResult(name, own, whole)
