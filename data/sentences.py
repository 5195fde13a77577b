"""Sentence splitting and word counting for English, Russian and Chinese."""

import re
from collections.abc import Iterator, Mapping

from basic_control.data.beside import read_beside

# What may end a sentence: `."`, `。」`, a line's end, an emoji before a space.
_STOP = re.compile(
    r"[.!?…]++[\"'”’»)*_]{0,4}+|[。！？।؟۔]++[”’」』）]{0,4}+|\n++[ \t]*+"
    r"|[\u2705\u2728\U0001f300-\U0001faff]++(?=\s)"
)
# A word: don't, 3.14, well-known
_WORD = re.compile(r"[^\W_]++(?:[-'’.,][^\W_]++)*+")
_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff]++")
# What stands before a stop, without its opening bracket: the e.g of (e.g.
_BEFORE = re.compile(r"[^\s(\[\"'«“]*$")
# A single capital: the B of `(B)`, `**B`
_CAPITAL = re.compile(r"(?<![^\W_.])[^\W\d_a-zа-я][*_)\]\"'}$]*\Z")
_FACTORIAL = re.compile(r"[0-9a-zA-Z)}]! ?(?:[=×·+/^÷)]|\*(?= ?[0-9])|\\(?:cdot|times|div)(?![a-z]))")  # 5! = 120
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


def _find_next_character(text: str, position: int) -> str:
    """Return the next character after white space, opening quotes, markup and bracketed numbers."""
    while position < len(text) and (text[position].isspace() or text[position] in "\"'“‘«(*_"):
        position += 1
    return text[position : position + 1]


def _ends_sentence(text: str, start: int, match: re.Match[str], *, initials: bool = True) -> bool:
    """Return whether a stop ends the sentence that began at `start`; `initials`: not after a single capital."""
    end, stop = match.end(), match[0]
    if stop[0] in "。！？।؟۔":
        return True
    if end < len(text) and not text[end].isspace() and text[end] not in "[【［〔":
        return _CJK.match(text, end) is not None
    following = _find_next_character(text, end)
    if following.islower() or (stop == "!" and _FACTORIAL.match(text, max(start, match.start() - 1))):
        return False
    if stop[:2] == ".." or stop[0] != ".":
        return True
    if not initials and _CAPITAL.search(text, start, match.start()):
        return True
    return not _abbreviates(text, start, match.start(), following)


def _abbreviates(text: str, start: int, stop: int, following: str) -> bool:
    """Return whether the full stop at `stop` belongs to an abbreviation, an initial or a list entry's number."""
    if stop - start <= _ENTRY and text[start:stop].strip(" \t\n*-•_").isdigit():
        return True
    before = text[max(start, stop - 24) : stop]
    match = _BEFORE.search(before)
    word = match[0] if match else ""
    if word.lower() in _HALF_ABBREVIATIONS:
        alone = word.lower() in {"г", "п", "д", "р"} and not before[: -len(word)].rstrip()[-1:].isdigit()
        return alone or len(text[start:stop].lstrip()) < _ENOUGH
    initial = len(word) == 1 and word.isupper() and following.isalpha()
    return initial or word.lower() in _ABBREVIATIONS


def _breaks(text: str, match: re.Match[str], *, wrapped: bool) -> bool:
    """Return whether a line break ends a sentence; in running (wrapped) text it never does by itself."""
    apart = match[0].count("\n") > 1 or _BULLET.match(text, match.end())
    return not wrapped and bool(apart or not _find_next_character(text, match.end()).islower())


def split_sentences(text: str, *, wrapped: bool = False, initials: bool = True) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each sentence, without surrounding white space.

    `wrapped`: line breaks are those of running text and end nothing by themselves; else a new line ends a sentence
    unless the text continues in lower case. `initials`: no sentence ends after a single capital. Linear in the
    text's length.
    """
    start = 0
    for match in _STOP.finditer(text):
        line = text[match.start()] == "\n"
        if _breaks(text, match, wrapped=wrapped) if line else _ends_sentence(text, start, match, initials=initials):
            yield from _strip_span(text, start, match.end())
            start = match.end()
    yield from _strip_span(text, start, len(text))


_LONGEST = 2_000
"""Characters in which a sentence is looked for to end, and _BEFORE_IT those in which it is looked for to begin."""
_BEFORE_IT = 300


def find_sentence_end(text: str, begin: int) -> int:
    """Return where the sentence around a position ends: at its stop, or at the line's end; 'B.' is no initial."""
    line = text.rfind("\n", 0, begin) + 1
    limit = min(len(text), begin + _LONGEST)
    for match in _STOP.finditer(text, begin, limit):
        if text[match.start()] == "\n" or _ends_sentence(text, line, match, initials=False):
            return match.start()
    return limit


def find_sentence_begin(text: str, position: int) -> int:
    """Return where the sentence around a position begins, on its line."""
    line = max(text.rfind("\n", 0, position) + 1, position - _BEFORE_IT)
    begin = line
    for match in _STOP.finditer(text, line, position):
        if _ends_sentence(text, begin, match, initials=False):
            begin = match.end()
    return begin


def list_sentences(text: str) -> list[str]:
    """Return a text's sentences, without those that have no word."""
    sentences = [text[start:end] for start, end in split_sentences(text)]
    return [sentence for sentence in sentences if count_words(sentence)]


def _strip_span(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    body = piece.strip()
    if body:
        offset = start + len(piece) - len(piece.lstrip())
        yield offset, offset + len(body)
