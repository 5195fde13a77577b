"""Context recall: the share of the expected answer's sentences that the retrieved contexts support."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from basic_control.data.decorators import metric
from basic_control.data.records import NO_CONTEXTS, Found, Question, Sample, Score
from basic_control.data.sentences import list_sentences
from basic_control.data.shown import read_shown
from basic_control.metrics._contexts import ask_support, contexts, measure_support, score_support
from basic_control.metrics.factual_correctness import ENTAIL, NO_RATES

SIDE = "reference"


def _settle(sample: Sample) -> Score | None:
    """Return the score that needs no judge: none applies without a reference, or without contexts."""
    if not list_sentences(str(sample.get(SIDE) or "")):
        return Score(None, "not_applicable", "empty reference", parts=NO_RATES)
    if not contexts(sample):
        return Score(None, "not_applicable", NO_CONTEXTS, parts=NO_RATES)
    return None


def sentence_rows(sample: Sample, _replies: Found, _options: Mapping[str, Any]) -> Iterable[Question]:
    """Ask which sentences of the expected answer the contexts support, unless the score is settled."""
    if _settle(sample) is None:
        yield from ask_support(SIDE, list_sentences(str(sample[SIDE])), sample)


@metric(
    steps=(replace(ENTAIL, rows=sentence_rows),),
    needs=("reference", "retrieved_contexts"),
    temperature=0.0,
    votes=False,
    measured=(measure_support(SIDE),),
    title={"en": "Context recall", "ru": "Полнота контекстов"},
    shown=read_shown(Path(__file__).with_name("context_recall.yaml")),
)
def context_recall(sample: Sample, replies: Found, _options: Mapping[str, Any]) -> Score:
    """Score one retrieval: supported sentences / sentences of the expected answer.

    Source: Es et al. 2023 (RAGAS, context recall with a reference).
    """
    if settled := _settle(sample):
        return settled
    return score_support(SIDE, list_sentences(str(sample[SIDE])), replies)
