"""Rule-based check of citations against the passages given to the model."""

from collections.abc import Mapping, Sequence
from typing import Any

from basic_control.metrics.citation.quotes import LONGEST_QUOTE, clean, find_quote
from basic_control.metrics.citation.urls import Finding


def count(sample: Mapping[str, Any]) -> int:
    """Return the sample's number of passages."""
    return len(_read_passages(sample))


def list_passages(sample: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the sample's passages, each with `title` and `text`, in the order of their numbers from 1."""
    passages = []
    for passage in _read_passages(sample):
        fields = passage if isinstance(passage, Mapping) else {"text": passage}
        passages.append({"title": str(fields.get("title") or ""), "text": str(fields.get("text") or "")})
    return passages


def _read_passages(sample: Mapping[str, Any]) -> Sequence[Any]:
    passages = sample.get("passages") or sample.get("contexts") or sample.get("retrieved_contexts") or ()
    if isinstance(passages, str):
        return [passages]
    return passages


def verify(number: int, quote: str, passages: Sequence[Mapping[str, str]], at_least: float) -> Finding:
    """Verify one citation: its number is in range, and its quote, if any, is in the passage.

    A quote of only the passage's title is ignored. `span` is the text found.
    """
    if not 1 <= number <= len(passages):
        return Finding("LIKELY_FABRICATED", "no such passage")
    passage = passages[number - 1]
    if not quote or clean(quote).lower() == clean(passage["title"]).lower():
        return Finding("VERIFIED", "passage in range")
    if len(quote) > LONGEST_QUOTE:
        return Finding("LIKELY_FABRICATED", "quote too long to be one")
    finding = find_quote(quote, f"{passage['title']}\n{passage['text']}", at_least)
    return finding or Finding("LIKELY_FABRICATED", "quote not in the passage")
