"""Explainability: chain-of-thought and citation scores joined in one result, in its published form."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from basic_control.metrics.analysis.headlines import Headline, ModelResult
from basic_control.metrics.analysis.policy import reaches
from basic_control.metrics.analysis.scores import THRESHOLD
from basic_control.metrics.analysis.summary import rounded

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

    cot_model: str
    citation_model: str
    published: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The file name: the model's name, or both names."""
        same = self.cot_model == self.citation_model
        return self.cot_model if same else f"{self.cot_model}_{self.citation_model}"


def read_published(published: Mapping[str, Any]) -> ExplainabilityResult:
    """Return the result of a published form."""
    return ExplainabilityResult(published["cot"]["model"], published["citation"]["response_model"], published)


def explained(models: Sequence[ModelResult], terms: Terms) -> tuple[ExplainabilityResult, ...]:
    """Return a result for each model that took part in both suites.

    If no model did, return one for each pair of a model from the first suite and a model from the second.
    """
    # The first headline is the suite's own score.
    cot, citation = (
        {
            model.model: next(headline for headline in model.headlines if headline.suite == name)
            for model in models
            if any(headline.suite == name for headline in model.headlines)
        }
        for name in EXPLAINED
    )
    pairs = [(model, model) for model in cot if model in citation] or [*product(cot, citation)]
    return tuple(
        ExplainabilityResult(a, b, explainability(cot[a], citation[b], terms, cot_model=a, citation_model=b))
        for a, b in pairs
    )


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
    # The seed's own formula uses the judges' verdicts, even where human labels have corrected them.
    measured = cot.measured, citation.measured
    scores = [one.score.mean if one.as_judged is None else one.as_judged for one in measured]
    known = [score for score in scores if score is not None]
    overall = math.fsum(map(math.prod, zip(weights, known, strict=True))) if len(known) == len(scores) else None

    def published(headline: Headline, score: float | None, threshold: float) -> dict[str, Any]:
        return {
            "avg_score": None if score is None else rounded(score, 4),
            "count": headline.measured.n_scored,
            "pass": None if score is None else reaches(score, threshold),
            "threshold": threshold,
        }

    return {
        "XAI_overall_score": None if overall is None else rounded(overall, 3),
        "overall_pass": None if overall is None else reaches(overall, terms.threshold),
        "overall_threshold": terms.threshold,
        "cot": {"model": cot_model, **published(cot, scores[0], terms.threshold_cot)},
        "citation": {
            "response_model": citation_model,
            "judge_model": terms.judge_model,
            **published(citation, scores[1], terms.threshold_citation),
        },
        "weights": {"weight_cot": rounded(weights[0], 6), "weight_citation": rounded(weights[1], 6)},
    }
