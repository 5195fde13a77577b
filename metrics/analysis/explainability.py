"""Explainability: chain-of-thought and citation scores joined in one result, in its published form."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from basic_control.metrics.analysis.headlines import Headline, ModelResult
from basic_control.metrics.analysis.policy import reaches
from basic_control.metrics.analysis.scores import THRESHOLD
from basic_control.metrics.analysis.summary import round_half_up

EXPLAINED = ("cot", "citation")
"""The suites joined in the explainability result, which are its keys (SPEC 5)."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How the two suites are joined: weights (renormalised), thresholds, and the citation judge."""

    judge_model: str
    weight_cot: float = 0.5
    weight_citation: float = 0.5
    threshold: float = THRESHOLD
    threshold_cot: float = THRESHOLD
    threshold_citation: float = THRESHOLD


@dataclass(frozen=True, slots=True)
class ExplainabilityResult:
    """The result of a reasoning model and a citing model (usually the same), in its published form."""

    published: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The file name: the model's name, or both names."""
        cot_model, citation_model = self.published["cot"]["model"], self.published["citation"]["response_model"]
        if cot_model == citation_model:
            return str(cot_model)
        return f"{cot_model}_{citation_model}"


def explain_models(models: Sequence[ModelResult], terms: Terms) -> tuple[ExplainabilityResult, ...]:
    """Return a result for each model that took part in both suites.

    If no model did, return one for each pair of a model from the first suite and a model from the second.
    """
    cot, citation = (_find_headlines(models, name) for name in EXPLAINED)
    shared = [model for model in cot if model in citation]
    results = []
    for a, b in zip(shared, shared, strict=True) if shared else product(cot, citation):
        published = explainability(cot[a], citation[b], terms, cot_model=a, citation_model=b)
        results.append(ExplainabilityResult(published))
    return tuple(results)


def _find_headlines(models: Sequence[ModelResult], suite: str) -> dict[str, Headline]:
    """Return a suite's own score, which is its first headline, by model."""
    firsts: dict[str, Headline] = {}
    for model in models:
        for headline in model.headlines:
            if headline.suite == suite:
                firsts.setdefault(model.model, headline)
    return firsts


def explainability(
    cot: Headline, citation: Headline, terms: Terms, *, cot_model: str, citation_model: str
) -> dict[str, Any]:
    """Build an explainability result in its published form, with keys in the published order.

    Overall has 3 decimals, averages 4, rounded half up; only passing compares unrounded values. `count` is the
    number of scored items. If a suite has no score, its average and pass are null, and so are the overall ones. The
    weights are written renormalised.

    Source: seed 004.
    """
    whole = math.fsum((terms.weight_cot, terms.weight_citation))
    weights = terms.weight_cot / whole, terms.weight_citation / whole
    first, second = _score_by_judges(cot), _score_by_judges(citation)
    overall = None
    if first is not None and second is not None:
        overall = math.fsum((weights[0] * first, weights[1] * second))
    score, is_passing = _publish_score(overall, 3, terms.threshold)
    return {
        "XAI_overall_score": score,
        "overall_pass": is_passing,
        "overall_threshold": terms.threshold,
        "cot": {"model": cot_model, **_publish_part(cot, first, terms.threshold_cot)},
        "citation": {
            "response_model": citation_model,
            "judge_model": terms.judge_model,
            **_publish_part(citation, second, terms.threshold_citation),
        },
        "weights": {"weight_cot": round_half_up(weights[0], 6), "weight_citation": round_half_up(weights[1], 6)},
    }


def _score_by_judges(headline: Headline) -> float | None:
    """Return a score by the judges' verdicts."""
    # The seed's own formula uses them even where human labels have corrected them.
    measured = headline.measured
    return measured.score.mean if measured.as_judged is None else measured.as_judged


def _publish_score(score: float | None, decimals: int, threshold: float) -> tuple[Any, bool | None]:
    """Return a score as it is published, and whether it passes; both null without one."""
    if score is None:
        return None, None
    return round_half_up(score, decimals), reaches(score, threshold)


def _publish_part(headline: Headline, score: float | None, threshold: float) -> dict[str, Any]:
    average, is_passing = _publish_score(score, 4, threshold)
    return {
        "avg_score": average,
        "count": headline.measured.n_scored,
        "pass": is_passing,
        "threshold": threshold,
    }
