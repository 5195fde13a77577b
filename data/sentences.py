"""Sentence splitting and word counting for English, Russian and Chinese."""

import re
from collections.abc import Iterator, Mapping

from data.beside import read_beside

_STOP = re.compile(r"[.!?…]++[\"'”’»)*_]{0,4}+|[。！？]++[”’」』）]{0,4}+|\n++[ \t]*+")
_WORD = re.compile(r"[^\W_]++(?:[-'’.,][^\W_]++)*+")
_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff]++")
_BEFORE = re.compile(r"[^\s(\[\"'«“]*$")
_BULLET = re.compile(r"(?:[-*•–—]|\d{1,3}[.)]|#{1,6})\s")

_WORDS: Mapping[str, str] = read_beside(__file__)
_ABBREVIATIONS, _HALF_ABBREVIATIONS = frozenset(_WORDS["always"].split()), frozenset(_WORDS["half"].split())
_ENTRY = 8
"""Maximum length of a list entry's number."""
_ENOUGH = 16
"""Minimum length of a sentence ended by an abbreviation's stop ('В 1912 г. Титаник …' continues)."""


def count_words(text: str) -> int:
    """Count words: letter or digit runs; two Chinese characters count as one word.

    Source: ours (Chinese words are about two characters long).
    """
    ideographs = sum(map(len, _CJK.findall(text)))
    return len(_WORD.findall(_CJK.sub(" ", text))) + (ideographs + 1) // 2


def _following(text: str, position: int) -> str:
    """Return the next character after white space, opening quotes, markup and bracketed numbers."""
    while position < len(text) and (text[position].isspace() or text[position] in "\"'“‘«(*_"):
        position += 1
    return text[position : position + 1]


def _ends(text: str, start: int, match: re.Match[str]) -> bool:
    """Return whether a stop ends the sentence that began at `start`."""
    end, stop = match.end(), match[0]
    if stop[0] in "。！？":
        return True
    if end < len(text) and not text[end].isspace() and text[end] not in "[【［〔":
        return _CJK.match(text, end) is not None
    following = _following(text, end)
    if following.islower():
        return False
    return stop[:2] == ".." or stop[0] != "." or not _abbreviates(text, start, match.start(), following)


def _abbreviates(text: str, start: int, stop: int, following: str) -> bool:
    """Return whether the full stop at `stop` belongs to an abbreviation, an initial or a list entry's number."""
    if stop - start <= _ENTRY and text[start:stop].strip(" \t\n*-•_").isdigit():
        return True
    before = text[max(start, stop - 24) : stop]
    found = _BEFORE.search(before)
    word = found[0] if found else ""
    if word.lower() in _HALF_ABBREVIATIONS:
        alone = word.lower() in {"г", "п", "д", "р"} and not before[: -len(word)].rstrip()[-1:].isdigit()
        return alone or len(text[start:stop].lstrip()) < _ENOUGH
    initial = len(word) == 1 and word.isupper() and following.isalpha()
    return initial or word.lower() in _ABBREVIATIONS


def _breaks(text: str, match: re.Match[str], *, wrapped: bool) -> bool:
    """Return whether a line break ends a sentence; in running (wrapped) text it never does by itself."""
    apart = match[0].count("\n") > 1 or _BULLET.match(text, match.end())
    return not wrapped and bool(apart or not _following(text, match.end()).islower())


def split_sentences(text: str, *, wrapped: bool = False) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each sentence, without surrounding white space.

    `wrapped`: line breaks are those of running text and end nothing by themselves; else a new line ends a sentence
    unless the text continues in lower case. Linear in the text's length.
    """
    start = 0
    for match in _STOP.finditer(text):
        line = text[match.start()] == "\n"
        if _breaks(text, match, wrapped=wrapped) if line else _ends(text, start, match):
            yield from _trimmed(text, start, match.end())
            start = match.end()
    yield from _trimmed(text, start, len(text))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    body = piece.strip()
    if body:
        offset = start + len(piece) - len(piece.lstrip())
        yield offset, offset + len(body)
