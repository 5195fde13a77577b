"""Find in a page the sentences that say what a claim says."""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

from data.patterns import pattern
from data.sentences import split_sentences
from metrics.citation.quotes import LONGEST_SPAN

LONGEST_PAGE = 500_000
"""Signs of a page's text that are read."""

WINDOW = 3
"""Sentences that a claim's span has at most."""

_MOST_SENTENCES, _MOST_TOKENS, _STEM, _SHORTEST = 50_000, 64, 5, 3
_TOKEN = pattern(r"[\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff]++|[0-9]++(?:[.,][0-9]++)*+|[^\W\d_]++")
_CJK = pattern(r"[\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff]")
_COMMON = frozenset(
    """the and was were are for with that this these from has have had its not but which who also into than been
    что это как был была было были для при или его она они также который которая которые""".split()  # noqa: SIM905 - words read as words
)


def tokens(text: str) -> Iterator[str]:
    """Yield what a text says, word by word: words by their first five letters, numbers, pairs of ideographs."""
    for found in _TOKEN.finditer(unicodedata.normalize("NFKC", text).lower()):
        word = found[0]
        if _CJK.match(word):
            yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))
        elif word[0].isdigit():
            yield word.replace(",", "")
        elif len(word) >= _SHORTEST and word not in _COMMON:
            yield word[:_STEM]


def find_claims(claims: Sequence[str], text: str) -> list[tuple[float, str]]:
    """Return for each claim how much of it one span of the page says, 0–100, and that span: one to three sentences.

    The share of the claim's words (by their stems) and numbers that stand in the span; 0 where a number of the
    claim does not. A claim of fewer than three such words is none. Linear in the page's length.

    Source: ours.
    """
    wanted = [list(dict.fromkeys(tokens(claim)))[:_MOST_TOKENS] for claim in claims]
    places = {token: place for place, token in enumerate(dict.fromkeys(token for one in wanted for token in one))}
    page = text[:LONGEST_PAGE]
    spans: list[tuple[int, int]] = []
    masks: list[int] = []
    for start, end in split_sentences(page):
        spans.append((start, end))
        masks.append(_mask(tokens(page[start:end]), places))
        if len(spans) >= _MOST_SENTENCES:
            break
    return [_find_claim(one, places, page, spans, masks) for one in wanted]


def _find_claim(
    wanted: Sequence[str],
    places: Mapping[str, int],
    page: str,
    spans: Sequence[tuple[int, int]],
    masks: Sequence[int],
) -> tuple[float, str]:
    of_claim = _mask(wanted, places)
    mask, first, last = _best([one & of_claim for one in masks])
    if len(wanted) < _SHORTEST or not mask:
        return 0.0, ""
    span = " ".join(page[spans[first][0] : spans[last][1]].split())[:LONGEST_SPAN]
    complete = all(mask >> places[token] & 1 for token in wanted if token[0].isdigit())
    return (100 * mask.bit_count() / len(wanted) if complete else 0.0), span


def _mask(listed: Iterable[str], places: Mapping[str, int]) -> int:
    mask = 0
    for token in listed:
        if (place := places.get(token)) is not None:
            mask |= 1 << place
    return mask


def _best(masks: Sequence[int]) -> tuple[int, int, int]:
    """Return the words that the best window of sentences has, its first and its last; the shortest such window."""
    best = (0, 0, 0)
    for width in range(WINDOW):
        for first in range(len(masks) - width):
            mask = 0
            for one in masks[first : first + width + 1]:
                mask |= one
            if mask.bit_count() > best[0].bit_count():
                best = (mask, first, first + width)
    return best
