r"""Expressions as answers: mathematics between delimiters (`$x^2$`, `\[…\]`), or what reads as it, as text."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from basic_control.data.reading.clauses import (
    LONGEST_WHOLE,
    OTHER,
    Mention,
    Prepared,
    Values,
    find_affirmed,
    find_affirmed_run,
    group_mentions,
    is_remark,
    lines,
)
from basic_control.data.reading.words import pattern
from basic_control.data.sentences import split_sentences

_ENVIRONMENT = r"\\begin\{(?:[pbvBV]?(?:small)?matrix|cases|array)\*?\}.{1,1500}?\\end\{[a-zA-Z]+\*?\}"
_SEGMENT = re.compile(
    rf"\$\$(?P<double>[^$]{{1,2000}})\$\$"
    rf"|(?<![\\$\w])\$(?!\s?[\d.,]+\s[a-z]{{2}})(?P<single>(?:[^$\n\\]|\\.){{1,600}})\$(?![\d])"
    rf"|\\\[(?P<display>.{{1,2000}}?)\\\]"
    rf"|\\\((?P<inline>[^\n]{{1,600}}?)\\\)"
    rf"|(?P<environment>{_ENVIRONMENT})",
    re.DOTALL,
)
r"""Mathematics between its delimiters: `$x$`, `$$x$$`, `\[x\]`, `\(x\)`, a matrix; not the money of `$5 and $6`."""
_TEXT = re.compile(
    r"\\(?:text|mbox|mathrm|operatorname|textbf|mathbf|hbox)\w*\s*\{[^{}]*\}|\\(?:begin|end)\{[^{}]*\}(?:\{[^{}]*\})?|\\[a-zA-Z]+"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_FUNCTION = re.compile(
    r"(?:arc)?(?:sin|cos|tan|cot|sec|csc)h?|log|ln|exp|sqrt|gcd|lcm|max|min|mod|det|pi|and|or", re.IGNORECASE
)
_SENSE = re.compile(r"[0-9√π∞]|[-+*/^=<>≤≥]|\\[a-zA-Z]|\A[^\W\d_]\Z")
"""What makes signs an expression: a digit, an operator, a command, or a letter alone."""
_TOKEN = re.compile(r"\S+")
_WRAPPING = " \t\n*_`\"'“”«».,;:!。"
_NONE = re.compile(
    r"(?:there (?:is|are) )?no (?:real |integer )?(?:solutions?|values?|roots?)|does not exist|dne|undefined"
    r"|(?:the )?empty set|infinitely many(?: solutions)?",
    re.IGNORECASE,
)
"""What mathematics answers where there is no value: `no real solution`."""
_MAXIMUM_WORDS = 4
"""Most words of a unit, or of an answer that is a text."""
_UNIT_AFTER = re.compile(r"[0-9)}^°]\s*(?:\\?%|\\?°)?\s*[^\W\d_]")
_WINDOW = 20_000
"""Characters at a reply's end in which an answer is inferred."""


class Expressions(NamedTuple):
    """Expressions as answers."""

    is_chosen: bool = False

    def mentions(self, reply: Prepared, begin: int, end: int) -> list[Mention]:
        """Return the expressions that begin in a stretch: those between delimiters, else what reads as one."""
        return [*_find_segments(reply.text, begin, end)] or [*_find_bare(reply.text, begin, end)]

    def read_whole(self, content: str) -> Values | None:
        """Return the expression that is all that a text says; None if it says anything else."""
        content = content.strip()
        if not content or len(content) > LONGEST_WHOLE or not _is_balanced(content):
            return None
        segments = [*_find_segments(content, 0, len(content))]
        if segments:
            # Between expressions of one standing there is nothing but 'and' or a comma.
            between = _SEGMENT.sub(" ", content)
            if re.search(r"[^\W_]", pattern("joiners", between).sub(" ", between)):
                return None
            return frozenset({_list(segments)})
        value = content.strip(_WRAPPING)
        return frozenset({value}) if value and _reads_as_expression(value) else None

    def read_entry(self, content: str) -> Values | None:
        """Return the values of an entry of a list of answers."""
        return self.read_whole(content)

    def find_stated(self, reply: Prepared, begin: int, end: int) -> Mention | None:
        """Return the first expression that a clause after a cue affirms, with those joined to it."""
        mentions = self.mentions(reply, begin, end)
        stated = find_affirmed_run(reply, begin, end, mentions)
        if stated is None:
            return None
        joined = [mention for mention in mentions if stated.start <= mention.start < stated.end]
        values = frozenset[str]() if OTHER in stated.values else frozenset({_list(joined)})
        return Mention(values, stated.start, stated.end)

    def infer(self, reply: Prepared, begin: int) -> Mention | None:
        """Return the last line that is an expression, else the last expression of the last sentence with one."""
        text = reply.text
        spans = [span for span in lines(text, max(begin, len(text) - _WINDOW)) if not is_remark(text, *span)]
        for start, end in spans[-1:]:
            values = self.read_whole(text[start:end])
            if values and _find_sense(text[start:end]):
                return Mention(values, start, end)
        begin = max(begin, len(text) - _WINDOW)
        for start, end in reversed([*split_sentences(text[begin:])]):
            span = begin + start, begin + end
            affirmed = find_affirmed(reply, *span, self.mentions(reply, *span))
            if affirmed:
                last = group_mentions(text, affirmed)[-1]
                return Mention(frozenset({_list(last)}), last[0].start, last[-1].end)
        return None


def _find_segments(text: str, begin: int, end: int) -> Iterator[Mention]:
    """Yield the mathematics between delimiters that begins in a stretch, and may end beyond it."""
    position = begin
    while position < end:
        segment = _SEGMENT.search(text, position)
        if segment is None or segment.start() >= end:
            return
        content = segment[str(segment.lastgroup)].strip()
        position = segment.end()
        if content:
            yield Mention(frozenset({content}), *segment.span())


def _find_bare(text: str, begin: int, end: int) -> Iterator[Mention]:
    """Yield the longest stretches of words that read as an expression: `x = 3/4` in 'so x = 3/4 of it'."""
    first = last = -1
    for token in _TOKEN.finditer(text, begin, end):
        word = token[0].strip(_WRAPPING)
        if word and _reads_as_expression(word, maximum_words=0):
            if first < 0:
                first = token.start()
            last = token.end()
            if token[0][-1] not in ",;:":
                continue
        # A word, or a comma, ends the stretch before it.
        if first >= 0:
            yield from _trim(text, first, last)
        first = -1
    if first >= 0:
        yield from _trim(text, first, last)


def _trim(text: str, begin: int, end: int) -> Iterator[Mention]:
    """Yield a stretch as an expression without what wraps it, if it makes sense as one."""
    value = text[begin:end].strip(_WRAPPING)
    if value and _find_sense(value) and _is_balanced(value):
        yield Mention(frozenset({value}), begin, end)


def _find_sense(text: str) -> bool:
    return _SENSE.search(text) is not None


def _list(mentions: Sequence[Mention]) -> str:
    """Return expressions of one standing as a list; one stays as it is."""
    return ", ".join(str(value) for mention in mentions for value in mention.values)


def _is_balanced(text: str) -> bool:
    """Return whether every brace and environment that is opened is closed."""
    braces = text.replace("\\{", "").replace("\\}", "")
    return braces.count("{") == braces.count("}") and text.count("\\begin") == text.count("\\end")


def _reads_as_expression(text: str, *, maximum_words: int = _MAXIMUM_WORDS) -> bool:
    """Return whether a text reads as an expression: no words but functions, a unit behind it, or one alone."""
    plain = _TEXT.sub(" ", text)
    words = [word for word in _WORD.findall(plain) if not _FUNCTION.fullmatch(word)]
    if not words or (maximum_words and _NONE.fullmatch(plain.strip())):
        return True
    if len(words) > maximum_words or pattern("appraisals", text).match(text):
        return False
    is_text = len(words) == 1 and plain.strip() == words[0]
    return is_text or _UNIT_AFTER.search(plain) is not None
