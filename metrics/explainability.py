"""Explainability: chains of thought and cited answers joined in one result, in its published form."""

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from metrics.corrected import CorrectedMean
from metrics.summary import rounded
from metrics.verdicts import THRESHOLD, SuiteResult, reaches

EXPLAINED = ("cot", "citation")
"""The suites that the explainability result joins: its keys (SPEC 5)."""


def explainability(
    cot: SuiteResult,
    citation: SuiteResult,
    *,
    model: str,
    judge_model: str,
    weight_cot: float = 0.5,
    weight_citation: float = 0.5,
    threshold: float = THRESHOLD,
    judged: Sequence[CorrectedMean] = (),
) -> dict[str, Any]:
    """Make one model's explainability result in its published form, key by key and in that order.

    Overall to 3 decimals, averages to 4, halves upwards; passing compares unrounded values; `count` is the
    number of scored items. Where a suite has no score, its average and pass are null, and so are the overall ones.
    A suite that is undecided or an error does not say whether it passes (null), nor does the whole where it hangs
    on such a suite. The weights are renormalised, and written so. Beside the published keys stands `judge_worth`:
    `judged`, what the citations' judges said and what their exam makes of it; none, and the key is not there.

    Source: seed 004.
    """
    whole = math.fsum((weight_cot, weight_citation))
    weights = weight_cot / whole, weight_citation / whole
    # The seed's own formula: what judges said, also where people's labels have put it right.
    cot, citation = (one if one.as_judged is None else replace(one, score=one.as_judged) for one in (cot, citation))
    return {
        "XAI_overall_score": None
        if (overall := _joined(weights, cot.score, citation.score)) is None
        else rounded(overall, 3),
        "overall_pass": _passes(weights, cot, citation, threshold),
        "overall_threshold": threshold,
        "cot": {"model": model, **_explained(cot)},
        "citation": {"response_model": model, "judge_model": judge_model, **_explained(citation)},
        "weights": {"weight_cot": rounded(weights[0], 6), "weight_citation": rounded(weights[1], 6)},
        **({"judge_worth": [asdict(one) for one in judged]} if judged else {}),
    }


def _joined(weights: Sequence[float], *scores: float | None) -> float | None:
    known = [score for score in scores if score is not None]
    return math.fsum(map(math.prod, zip(weights, known, strict=True))) if len(known) == len(scores) else None


def _passes(weights: Sequence[float], cot: SuiteResult, citation: SuiteResult, threshold: float) -> bool | None:
    """Say whether the whole passes; None where it cannot be said, or depends on what is undecided."""
    if "error" in {cot.outcome, citation.outcome}:
        return None
    found = set()
    for supposed in (0.0, 1.0):
        scores = [supposed if one.outcome == "undecided" else one.score for one in (cot, citation)]
        overall = _joined(weights, *scores)
        found.add(None if overall is None else reaches(overall, threshold))
    return found.pop() if len(found) == 1 else None


def _explained(result: SuiteResult) -> dict[str, Any]:
    score, unsettled = result.score, result.outcome in {"undecided", "error"}
    return {
        "avg_score": None if score is None else rounded(score, 4),
        "count": result.n_scored,
        "pass": None if score is None or unsettled else reaches(score, result.threshold),
        "threshold": result.threshold,
    }
