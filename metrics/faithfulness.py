"""Faithfulness: the share of the response's claims that the retrieved contexts support."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from basic_control.data.decorators import metric
from basic_control.data.records import Found, Question, Sample, Score
from basic_control.data.shown import read_shown
from basic_control.metrics._contexts import (
    ContextOptions,
    ask_support,
    contexts,
    measure_support,
    score_support,
    score_without_contexts,
)
from basic_control.metrics._replies import row_question
from basic_control.metrics.factual_correctness import ENTAIL, NO_RATES, SPLIT, ClaimOptions, list_claims

SIDE = "response"


def _response(sample: Sample) -> str:
    return str(sample.get(SIDE) or "").strip()


def _settle(sample: Sample, options: Mapping[str, Any]) -> Score | None:
    """Return the score that needs no judge."""
    if not contexts(sample):
        return replace(score_without_contexts(options), parts=NO_RATES)
    if not _response(sample):
        return Score(0.0, "scored", "empty response", parts=NO_RATES)
    return None


def sides(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Iterable[Question]:
    """Ask to split the response into claims, unless the score is settled."""
    if _settle(sample, options) is None:
        yield Question(SIDE, {"text": _response(sample), "question": row_question(sample)})


def claim_rows(sample: Sample, replies: Found, options: Mapping[str, Any]) -> Iterable[Question]:
    """Ask which claims the contexts support; no question without claims."""
    claims = list_claims(sample, replies, SIDE, options)
    if claims and _settle(sample, options) is None:
        yield from ask_support(SIDE, claims, sample)


class Options(ContextOptions, ClaimOptions):
    """The score of a reply that was given without contexts, and what a claim is."""


@metric(
    steps=(replace(SPLIT, rows=sides), replace(ENTAIL, rows=claim_rows)),
    options=Options,
    needs=("retrieved_contexts",),
    temperature=0.0,
    votes=False,
    measured=(measure_support(SIDE),),
    title={"en": "Faithfulness", "ru": "Верность контекстам"},
    shown=read_shown(Path(__file__).with_name("faithfulness.yaml")),
)
def faithfulness(sample: Sample, replies: Found, options: Mapping[str, Any]) -> Score:
    """Score one response: supported claims / claims; 0 without any.

    Source: Es et al. 2023 (RAGAS); SPEC 6 for ids, failures and responses without claims.
    """
    if settled := _settle(sample, options):
        return settled
    claims = list_claims(sample, replies, SIDE, options)
    if not claims:
        return Score(0.0, "scored", "no claims in the response", parts=NO_RATES)
    return score_support(SIDE, claims, replies)
