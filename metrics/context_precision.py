"""Context precision: whether the contexts that are useful for the expected answer were retrieved first."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from basic_control.data.decorators import metric
from basic_control.data.records import NO_CONTEXTS, Found, Question, Sample, Score, Step
from basic_control.data.typed import yes_or_no
from basic_control.metrics._contexts import contexts, list_contexts
from basic_control.metrics._replies import question
from basic_control.metrics.judging import Judgement, read_verdict

USEFUL: Mapping[str, float] = {"YES": 1.0, "NO": 0.0}


def average_precision(verdicts: Sequence[bool]) -> float:
    """Return the mean of precision@k over the ranks k of useful contexts; 0 if none is useful.

    Source: Es et al. 2023 (RAGAS); Buckley and Voorhees 2000, over the useful among the retrieved.
    """
    ranks = [rank for rank, is_useful in enumerate(verdicts, 1) if is_useful]
    total = sum(count / rank for count, rank in enumerate(ranks, 1))
    return total / max(1, len(ranks))


def _settle(sample: Sample) -> Score | None:
    """Return the score that needs no judge: none applies without a reference, or without contexts."""
    if not str(sample.get("reference") or "").strip():
        return Score(None, "not_applicable", "empty reference")
    if not contexts(sample):
        return Score(None, "not_applicable", NO_CONTEXTS)
    return None


def context_rows(sample: Sample, _replies: Found, _options: Mapping[str, Any]) -> Iterable[Question]:
    """Ask of each context whether it is useful; its key is its rank. An empty one keeps its rank unasked."""
    if _settle(sample):
        return
    shared = {
        "question": question(sample),
        "reference": str(sample["reference"]).strip(),
    }
    for rank, text in enumerate(list_contexts(sample), 1):
        if text:
            yield Question(str(rank), {**shared, "context": text})


def read_useful(_question: Question, text: str) -> Judgement:
    """Read `{"reason": …, "verdict": yes or no}`.

    Raises:
        Unparsable: the verdict is missing or another.
    """
    return read_verdict(text, USEFUL)


@metric(
    steps=(Step("useful", context_rows, "contexts/useful", read_useful, asks=yes_or_no()),),
    needs=("reference", "retrieved_contexts"),
    reads=("question",),
    temperature=0.0,
    votes=False,
    title={"en": "Context precision", "ru": "Точность контекстов"},
)
def context_precision(sample: Sample, replies: Found, _options: Mapping[str, Any]) -> Score:
    """Score one retrieval by the ranks of its useful contexts; the details have each context's verdict.

    Source: Es et al. 2023 (RAGAS, context precision with a reference).
    """
    if settled := _settle(sample):
        return settled
    judged: Mapping[str, Judgement] = replies["useful"]
    verdicts: list[bool] = []
    for rank in range(1, len(list_contexts(sample)) + 1):
        judgement = judged.get(str(rank))
        verdicts.append(judgement is not None and judgement.value > 0)
    reasons = {rank: judgement.reason for rank, judgement in judged.items()}
    return Score(average_precision(verdicts), details={"useful": verdicts, "judge_reasons": reasons})
