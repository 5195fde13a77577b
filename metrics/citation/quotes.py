"""Search of a text for a quote (exact or approximate), or for a claim, in bounded time for any input."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice

from rapidfuzz import fuzz

from basic_control.data.patterns import pattern
from basic_control.data.sentences import split_sentences
from basic_control.metrics.citation.urls import Finding

LONGEST_QUOTE = 4000
"""Maximum length of a quote in characters; longer ones are ignored."""

LONGEST_TEXT = 500_000
"""Maximum number of characters of a text that are read."""

LONGEST_SPAN = 2000

_WORK = 2**31
"""Maximum cost of one comparison (text length times the square of piece length) before candidates are used."""

_SEED, _PLACES, _INEXACT = 8, 3, 4
"""Seed length of a long piece; number of places compared for it; maximum number of inexact pieces of a quote."""

# What stands for words left out: "[…]", "..."
_ELLIPSIS = re.compile(r"[ \t]*+(?:\[[ \t]?(?:…|\.\.\.)[ \t]?\]|…|\.\.\.)[ \t]*+")
_SIGNS = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "–": "-", "—": "-",
                        "−": "-", "‑": "-", "\u00a0": " "})  # fmt: skip


def clean(text: str) -> str:
    """Return the text with white space collapsed, and with plain quotes and dashes."""
    return " ".join(text.translate(_SIGNS).split())


def pieces(quote: str) -> list[str]:
    """Return the pieces of a quote: the whole, or the parts between `…`."""
    return [piece for piece in _ELLIPSIS.split(clean(quote).strip("\"' .")) if piece.strip()]


@lru_cache(maxsize=32)  # an answer may cite one source, and so one quote, many times
def find_quote(quote: str, text: str, at_least: float) -> Finding | None:
    """Return the finding of a quote in a text, with the span and its match, 0–100; None below `at_least`.

    The match is rapidfuzz's partial ratio, with case, white space, quotes and dashes normalised. A quote with `…`
    is matched piece by piece, and the worst piece counts. A piece longer than the text is compared whole, so that a
    text inside an invented piece does not match. A long piece is compared where most of its eight-character runs
    are, to keep the time linear in the text.
    """
    page = clean(text[:LONGEST_TEXT])
    folded = page.lower()
    # A span is shown as it is written, unless its letters change their number when they are folded.
    readable = page if len(folded) == len(page) else folded
    worst, spans, inexact = 100.0, list[str](), 0
    if len(quote) > LONGEST_QUOTE:
        return None
    parts = pieces(quote)
    for piece in parts:
        score, span = _find_piece(piece.lower(), readable, folded, at_least)
        inexact += score < 100  # noqa: PLR2004 - a whole match
        if score < at_least or inexact > _INEXACT:
            return None
        worst = min(worst, score)
        spans.append(span)
    finding = Finding("VERIFIED", "quote found", " … ".join(spans)[:LONGEST_SPAN], round(worst, 1))
    return finding if parts else None


def _find_piece(piece: str, readable: str, folded: str, at_least: float) -> tuple[float, str]:
    at = folded.find(piece)
    if at >= 0:
        return 100.0, readable[at : at + len(piece)]
    if len(folded) * len(piece) ** 2 <= _WORK or len(folded) <= 2 * len(piece):
        return _compare(piece, readable, at_least)
    slack = max(2 * _SEED, len(piece) // 8)
    best = (0.0, "")
    for position in _places(piece, folded, slack):
        window = readable[max(0, position - slack) : position + len(piece) + 2 * slack]
        best = max(best, _compare(piece, window, at_least))
    return best


def _compare(piece: str, window: str, at_least: float) -> tuple[float, str]:
    folded = window.lower()
    if len(piece) > len(folded):
        return fuzz.ratio(piece, folded, score_cutoff=at_least), window
    alignment = fuzz.partial_ratio_alignment(piece, folded, score_cutoff=at_least)
    if not alignment:
        return 0.0, ""
    return alignment.score, window[alignment.dest_start : alignment.dest_end]


def _places(piece: str, folded: str, slack: int) -> list[int]:
    """Return candidate starts of a piece in the text: the positions most often implied by its seeds."""
    seeds: dict[str, int] = {}
    for at in range(len(piece) - _SEED + 1):
        seeds.setdefault(piece[at : at + _SEED], at)
    hits: Counter[int] = Counter()
    for at in range(len(folded) - _SEED + 1):
        offset = seeds.get(folded[at : at + _SEED])
        if offset is not None:
            hits[(at - offset) // slack] += 1
    return [max(0, bucket * slack) for bucket, _ in hits.most_common(_PLACES)]


WINDOW = 3
"""Maximum number of sentences in a claim's span."""

_MOST_SENTENCES, _MOST_TOKENS, _STEM, _SHORTEST = 50_000, 64, 5, 3
# A run of ideographs, a number, a word: "1,200", "ship"
_TOKEN = pattern(r"[\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff]++|[0-9]++(?:[.,][0-9]++)*+|[^\W\d_]++")
# An ideograph, or a Japanese syllable
_CJK = pattern(r"[\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff]")
_COMMON = frozenset(
    """the and was were are for with that this these from has have had its not but which who also into than been
    что это как был была было были для при или его она они также который которая которые""".split()  # noqa: SIM905 - words read as words
)


def tokens(text: str) -> Iterator[str]:
    """Yield the tokens of a text: words cut to their first five letters, numbers, pairs of ideographs."""
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text).lower()):
        word = match[0]
        if _CJK.match(word):
            yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))
        elif word[0].isdigit():
            yield word.replace(",", "")
        elif len(word) >= _SHORTEST and word not in _COMMON:
            yield word[:_STEM]


def find_claims(claims: Sequence[str], text: str) -> list[tuple[float, str]]:
    """Return for each claim how much of it one span of the page says, 0–100, and that span: one to three sentences.

    The value is the share of the claim's words (by their stems) and numbers in the span; 0 if a number of the claim
    is missing. A claim of fewer than three such words is ignored. Linear in the page's length.

    Source: ours.
    """
    claims_tokens = [list(dict.fromkeys(tokens(claim)))[:_MOST_TOKENS] for claim in claims]
    claim_words = {*chain.from_iterable(claims_tokens)}
    page = text[:LONGEST_TEXT]
    spans = list(islice(split_sentences(page), _MOST_SENTENCES))
    sentence_words = [claim_words.intersection(tokens(page[start:end])) for start, end in spans]
    return [_find_claim(claim_tokens, page, spans, sentence_words) for claim_tokens in claims_tokens]


def _find_claim(
    claim_tokens: Sequence[str], page: str, spans: Sequence[tuple[int, int]], sentence_words: Sequence[set[str]]
) -> tuple[float, str]:
    words, first, last = _find_window([words.intersection(claim_tokens) for words in sentence_words])
    if len(claim_tokens) < _SHORTEST or not words:
        return 0.0, ""
    span = " ".join(page[spans[first][0] : spans[last][1]].split())[:LONGEST_SPAN]
    # A claim whose number is not there is not said, however many of its words are.
    numbers = [claim_token for claim_token in claim_tokens if claim_token[0].isdigit()]
    if not words.issuperset(numbers):
        return 0.0, span
    return 100 * len(words) / len(claim_tokens), span


def _find_window(sentence_words: Sequence[set[str]]) -> tuple[set[str], int, int]:
    """Return the words in the best window of sentences, its first and its last; the shortest such window."""
    best = (set[str](), 0, 0)
    for width in range(WINDOW):
        for first in range(len(sentence_words) - width):
            words = set[str]().union(*sentence_words[first : first + width + 1])
            if len(words) > len(best[0]):
                best = (words, first, first + width)
    return best
