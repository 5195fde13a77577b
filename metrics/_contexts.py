"""Helpers shared by the metrics of retrieval: a sample's contexts, and claims that these are to support."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from basic_control.data.options import Frozen
from basic_control.data.records import NO_CONTEXTS, Found, Measured, Question, Sample, Score
from basic_control.data.usual_columns import CONTEXTS, parse_contexts
from basic_control.metrics.factual_correctness import WORTH, join_verdicts, measure_shares, number_claims


class ContextOptions(Frozen):
    """The score of a reply that was given without contexts."""

    empty_contexts: Literal["not_applicable", "zero"] = Field(
        "not_applicable", description="a reply without contexts is left out, or scores 0"
    )


def list_contexts(sample: Sample) -> list[str]:
    """Return the sample's contexts in order, '' for an empty one; each is a text or has `text` (and `title`)."""
    return [*map(_read_text, parse_contexts(sample.get(CONTEXTS)))]


def _read_text(context: Any) -> str:
    if isinstance(context, Mapping):
        context = context.get("text")
    text = str(context or "")
    return text if text.strip() else ""


def contexts(sample: Sample) -> list[str]:
    """Return the sample's non-empty contexts."""
    return [*filter(None, list_contexts(sample))]


def score_without_contexts(options: Mapping[str, Any]) -> Score:
    """Score a reply that was given without contexts: not applicable, or 0 by choice."""
    if options.get("empty_contexts") == "zero":
        return Score(0.0, "scored", NO_CONTEXTS)
    return Score(None, "not_applicable", NO_CONTEXTS)


def ask_support(side: str, claims: Sequence[str], sample: Sample) -> Iterable[Question]:
    """Ask which of a side's claims the contexts support, taken together."""
    yield Question(side, {"claims": number_claims(claims), "source": "\n\n".join(contexts(sample))})


def score_support(side: str, claims: Sequence[str], replies: Found) -> Score:
    """Return the share of a side's claims that are supported; what is not, is contradicted or neutral."""
    judged = join_verdicts(replies, side, claims)
    shares = measure_shares(judged)
    return Score(
        shares["SUPPORTED"],
        details={f"{side}_claims": judged},
        parts={"contradiction_rate": shares["CONTRADICTED"], "neutral_rate": shares["NEUTRAL"]},
    )


def measure_support(side: str) -> Measured:
    """Declare the verdicts on a side's claims, whose mean the exam of `entails` corrects."""

    def list_verdicts(details: Mapping[str, Any]) -> Iterable[str]:
        return [claim["verdict"] for claim in details.get(f"{side}_claims", ())]

    return Measured("", "entails", WORTH, list_verdicts)
