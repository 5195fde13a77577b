"""Verify a citation against the passages that the model was given, by rule."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rapidfuzz import fuzz

LONGEST_QUOTE = 4000
LONGEST_PASSAGE = 200_000
"""Signs compared; a longer quote is no quote."""

_ELLIPSIS = re.compile(r"[ \t]*+(?:\[[ \t]?(?:…|\.\.\.)[ \t]?\]|…|\.\.\.)[ \t]*+")
_SIGNS = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "–": "-", "—": "-",
                        "−": "-", "‑": "-", "\u00a0": " "})  # fmt: skip


def clean(text: str) -> str:
    """Return the text with one space for white space, plain quotes and dashes."""
    return " ".join(text.translate(_SIGNS).split())


def listed(sample: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the sample's passages, each with `title` and `text`, in the order of their numbers from 1."""
    found = sample.get("passages") or sample.get("contexts") or sample.get("retrieved_contexts") or ()
    passages = []
    for one in [found] if isinstance(found, str) else found:
        fields = one if isinstance(one, Mapping) else {"text": one}
        passages.append({"title": str(fields.get("title") or ""), "text": str(fields.get("text") or "")})
    return passages


def pieces(quote: str) -> list[str]:
    """Return what a quote consists of: itself, or what stands between its `…`."""
    return [piece for piece in _ELLIPSIS.split(clean(quote).strip("\"' .")) if piece.strip()]


def match(quote: str, passage: str, at_least: float) -> tuple[float, str]:
    """Return how well a quote matches a passage, 0–100, and the span of the passage that it matches.

    rapidfuzz's partial ratio, after case, white space, quotes and dashes are normalised. A quote with `…` in it
    is matched piece by piece, the worst piece counts. A quote longer than the passage is compared whole, so that
    a passage inside an invented text does not match.
    """
    text = clean(passage[:LONGEST_PASSAGE])
    folded = text.lower()
    shown = text if len(folded) == len(text) else folded
    worst, spans = 100.0, []
    parts = pieces(quote)
    for piece in (one.lower() for one in parts):
        if (at := folded.find(piece)) >= 0:
            spans.append(shown[at : at + len(piece)])
            continue
        if len(piece) > len(folded):
            worst = min(worst, fuzz.ratio(piece, folded, score_cutoff=at_least))
            continue
        found = fuzz.partial_ratio_alignment(piece, folded, score_cutoff=at_least)
        if found is None:
            return 0.0, ""
        worst = min(worst, found.score)
        spans.append(shown[found.dest_start : found.dest_end])
    return (worst, " … ".join(spans)) if parts else (0.0, "")


def verify(number: int, quote: str, passages: Sequence[Mapping[str, str]], at_least: float) -> dict[str, Any]:
    """Verify one citation: its number is in range, and its quote, if it has one, is in the passage.

    A quote that is only the passage's title is none. `span` is the text found.
    """
    if not 1 <= number <= len(passages):
        return {"verdict": "LIKELY_FABRICATED", "reason": "no such passage", "span": ""}
    passage = passages[number - 1]
    if not quote or clean(quote).lower() == clean(passage["title"]).lower():
        return {"verdict": "VERIFIED", "reason": "passage in range", "span": ""}
    if len(quote) > LONGEST_QUOTE:
        return {"verdict": "LIKELY_FABRICATED", "reason": "quote too long to be one", "span": ""}
    score, span = match(quote, f"{passage['title']}\n{passage['text']}", at_least)
    if score >= at_least:
        return {"verdict": "VERIFIED", "reason": "quote found", "span": span, "match": round(score, 1)}
    return {"verdict": "LIKELY_FABRICATED", "reason": "quote not in the passage", "span": ""}
