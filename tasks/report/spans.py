"""Which sentences of a reply its claims came from: those that nothing supports are marked in the sample's text.

A judge words claims anew, so that a claim is looked for by its words: those of few sentences count for more.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from basic_control.data.sentences import split_sentences
from basic_control.metrics.analysis.score_remarks import SUPPORTED, read_details, read_mapping

# A run of letters or of digits, or one character of a script without spaces: Ulm, 1879, 北
_WORD = re.compile(r"[\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff]|\d+(?:[.,]\d+)*|[^\W\d_]+")
_STEM = 5
"""Letters by which words are compared: their endings change."""
_ENOUGH, _TOGETHER = 0.5, 0.7
"""The least share of a claim's words, by their weight, that one sentence has, or two."""
_GAIN = 0.3
"""What a second sentence must add."""
_SUBJECT = 3
"""The part of a claim, one in so many words, that says what it is about."""
_LONGEST = 20_000
"""Characters of a reply in which claims are looked for."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class MarkedReply:
    """What of a reply is not supported: marked spans with their claims, and claims that stand in none.

    Offsets are the page's UTF-16 units.
    """

    spans: Mapping[Span, list[str]] = field(default_factory=dict)
    elsewhere: Sequence[str] = ()

    def as_json(self) -> str:
        """Return it as the page's script reads it."""
        marks = [[*span, claims] for span, claims in sorted(self.spans.items())]
        return json.dumps({"spans": marks, "elsewhere": [*self.elsewhere]}, ensure_ascii=False)


def list_stems(text: str) -> list[str]:
    """Return the words of a text in order, each once, without their endings."""
    return [*dict.fromkeys(word[:_STEM] for word in _WORD.findall(text.casefold()))]


def find_claim(claim: str, sentences: Mapping[Span, set[str]]) -> list[Span]:
    """Return the sentences that a claim came from, by the stems of each; none if it cannot be told."""
    order = list_stems(claim)
    stems = set(order)
    occurrences = Counter[str]()
    for words in sentences.values():
        occurrences.update(words & stems)
    # A word that stands in each sentence says little; one that stands in none speaks against all.
    weights = {stem: 1 / max(1, occurrences[stem]) for stem in stems}
    # A claim begins with what it is about, where the sentence often has a pronoun.
    for stem in order[: round(len(order) / _SUBJECT)]:
        weights[stem] /= 2
    total = sum(weights.values())
    if not total:
        return []

    def weigh(words: set[str]) -> float:
        return sum(weights[stem] for stem in words & stems) / total

    ranked = sorted(sentences, key=lambda span: -weigh(sentences[span]))
    if not ranked:
        return []
    best = sentences[ranked[0]]
    share = weigh(best)
    # Sentences of the same words cannot be told apart: all of them are meant.
    equal = [span for span in ranked if sentences[span] & stems == best & stems]
    for second in ranked[len(equal) :]:
        joint_share = weigh(best | sentences[second])
        if joint_share - share >= _GAIN and joint_share >= _TOGETHER:
            return sorted([*equal, second])
    return sorted(equal) if share >= _ENOUGH else []


def mark_reply(text: str, claims: Sequence[tuple[str, str]]) -> MarkedReply:
    """Return what to mark in a reply, given its unsupported claims, each with the words to show."""
    text = text[:_LONGEST]
    sentences: dict[Span, set[str]] = {}
    for start, end in split_sentences(text):
        sentences[start, end] = {*list_stems(text[start:end])}
    spans: dict[Span, list[str]] = {}
    elsewhere: list[str] = []
    for claim, words in claims:
        places = find_claim(claim, sentences)
        if not places:
            elsewhere.append(words)
        for start, end in places:
            units = _count_units(text[:start]), _count_units(text[:end])
            spans.setdefault(units, []).append(words)
    return MarkedReply(spans, elsewhere)


def _count_units(text: str) -> int:
    """Return the length of a text in the page's UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def list_unsupported(details: str, key: str) -> Iterator[tuple[str, str]]:
    """Yield the claims that a judge did not find supported, each with its verdict and reason and whose it is."""
    document = read_details(details)
    left_out = read_mapping(document.get("left_out"))
    for judge, result in read_mapping(document.get("judges")).items():
        # What a judge says who does not count stands below its name, with the reason.
        if judge in left_out:
            continue
        for claim in _list_claims(result, key):
            if claim.get("verdict") != SUPPORTED:
                finding = [judge, str(claim.get("verdict", "")).lower(), str(claim.get("reason", ""))]
                text = str(claim.get("text", ""))
                yield text, f"{text} ({': '.join(filter(None, finding))})"


def _list_claims(result: Any, key: str) -> list[Mapping[str, Any]]:
    """Return the claims in what a judge said, whatever else stands there."""
    for part in ("details", key):
        result = result.get(part) if isinstance(result, Mapping) else None
    if not isinstance(result, list):
        return []
    return [claim for claim in result if isinstance(claim, Mapping)]


def mark_replies(rows: pl.DataFrame, scores: pl.DataFrame, keys: Mapping[str, str]) -> pl.Series:
    """Return a column `marks` for samples; `scores` have each the `row` of theirs, `keys` the claims' by metric."""
    claims: dict[int, list[tuple[str, str]]] = {}
    for metric, row, details in scores.select("metric", "row", "details").iter_rows():
        if metric in keys:
            claims.setdefault(row, []).extend(list_unsupported(details, keys[metric]))
    texts, marks = rows["text"], list[str | None]([None] * rows.height)
    for row, unsupported in claims.items():
        # A reply that a call did not bring has no text, and no claims either.
        if texts[row] and unsupported:
            marks[row] = mark_reply(texts[row], unsupported).as_json()
    return pl.Series("marks", marks, dtype=pl.String)
