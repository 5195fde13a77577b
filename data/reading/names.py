"""Names as answers: one of a few people, in any inflected form."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from data.reading.clauses import (
    LONGEST_WHOLE,
    OTHER,
    Mention,
    Prepared,
    Values,
    affirmed_in,
    first_affirmed,
    is_idle,
    is_only,
    is_vague,
    united,
)
from data.reading.words import MARKUP, pattern
from data.sentences import split_sentences

_WORD = re.compile(r"[^\W_]+")
_STEM = 5
_BOLD = re.compile(r"\*\*|__|^\s*#{1,6}\s")
_NOTHING = re.compile(
    rf"(?:{MARKUP}|[()\[\]{{}}.:：,，。!！;；•-]|\\\w+|<[^<>]{{0,20}}>|[\u2190-\u21ff\u2300-\u2bff\ufe0f\U0001f000-\U0001faff])*"
)


@dataclass(frozen=True, slots=True)
class Names:
    """The people of a question: form of a name in lower case -> the name; and the question's words."""

    forms: Mapping[str, str]
    question: str = ""
    is_chosen: bool = True

    def mentions(self, reply: Prepared, begin: int, end: int) -> list[Mention]:
        """Return where a stretch names people."""
        return [
            Mention(frozenset({self.forms[match[0]]}), *match.span())
            for match in _WORD.finditer(reply.folded, begin, end)
            if match[0] in self.forms
        ]

    def whole(self, content: str) -> Values | None:
        """Return the people that are all that a text names; None if it says anything else."""
        if len(content) > LONGEST_WHOLE:
            return None
        mentions = self.mentions(Prepared.of(content), 0, len(content))
        return united(mentions).values if mentions and is_only(content, mentions, _NOTHING) else None

    def stated(self, reply: Prepared, begin: int, end: int) -> Mention | None:
        """Return the people that a clause after a cue names."""
        return first_affirmed(reply, begin, end, self.mentions(reply, begin, end))

    def inferred(self, reply: Prepared, begin: int) -> Mention | None:
        """Return the one name of a bold last line, else the only one that the reply names and does not deny."""
        sentences = [(begin + start, begin + end) for start, end in split_sentences(reply.text[begin:])]
        stating = [span for span in sentences if not is_idle(reply.text, *span)]
        concluded = self._concluded(reply, *stating[-1]) if stating else None
        if concluded:
            return concluded
        mentions = self.mentions(reply, begin, len(reply.text))
        if not mentions:
            return None
        named = united([m for span in sentences for m in affirmed_in(reply, *span, self.mentions(reply, *span))])
        is_open = any(is_vague(reply.text, begin, mention, len(reply.text)) for mention in mentions)
        return named._replace(values=named.values | {OTHER}) if is_open else named

    def _concluded(self, reply: Prepared, begin: int, end: int) -> Mention | None:
        """Return the only name in bold, or after a word of conclusion, of a sentence: `so it must be Vera`.

        After 'so' alone, the rest of the sentence must be in the question's words: `so Vera is the tallest`.
        """
        text = reply.text
        points = {word.end(): False for word in pattern("consequences", text).finditer(text, begin, end)}
        points |= {word.end(): True for word in pattern("conclusions", text).finditer(text, begin, end)}
        if _BOLD.search(text, begin, end):
            points = {begin: True}
        start = max(points, default=end)
        lead = text[begin:start]
        mentions = self.mentions(reply, start, end)
        named = united(affirmed_in(reply, begin, end, mentions))
        if len(named.values) != 1 or named.values != united(mentions).values:
            return None
        is_open = pattern("suppositions", lead).search(lead) or pattern("alternatives", lead).search(lead)
        clause = set(map(_stem, _WORD.findall(reply.folded[start:end]))) - set(map(_stem, self.forms))
        is_worded = points[start] or clause <= {
            *map(_stem, _WORD.findall(self.question.lower())),
            *map(_stem, _VERBS),
        }
        return named if is_worded and not is_open else None


_VERBS = ("is", "the", "it", "must", "be", "at", "in", "это", "окажется", "на")


def _stem(word: str) -> str:
    """Return the letters that the forms of a word share."""
    return word if word.isascii() else word[:_STEM]
