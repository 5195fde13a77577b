"""Names as answers: one of a few people, in any inflected form."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from basic_control.data.reading.clauses import (
    LONGEST_WHOLE,
    Mention,
    Prepared,
    Values,
    find_affirmed,
    find_affirmed_run,
    is_idle,
    is_only,
    open_values,
    unite,
)
from basic_control.data.reading.words import MARKUP, pattern
from basic_control.data.sentences import split_sentences

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
        words = _WORD.finditer(reply.folded, begin, end)
        return [Mention(frozenset({self.forms[word[0]]}), *word.span()) for word in words if word[0] in self.forms]

    def read_whole(self, content: str) -> Values | None:
        """Return the people that are all that a text names; None if it says anything else."""
        if len(content) > LONGEST_WHOLE:
            return None
        mentions = self.mentions(Prepared.of(content), 0, len(content))
        if not mentions or not is_only(content, mentions, _NOTHING):
            return None
        return unite(mentions).values

    def read_entry(self, content: str) -> Values | None:
        """Return the values of an entry of a list of answers."""
        return self.read_whole(content)

    def find_stated(self, reply: Prepared, begin: int, end: int) -> Mention | None:
        """Return the people that a clause after a cue names."""
        return find_affirmed_run(reply, begin, end, self.mentions(reply, begin, end))

    def infer(self, reply: Prepared, begin: int) -> Mention | None:
        """Return the one name of a bold last line, else the only one that the reply names and does not deny."""
        spans = [(begin + start, begin + end) for start, end in split_sentences(reply.text[begin:])]
        mentions = self.mentions(reply, begin, len(reply.text))
        if not mentions:
            return None
        for start, end in reversed(spans):
            if not is_idle(reply.text, start, end):
                concluded = self._find_conclusion(reply, start, end)
                if concluded:
                    return concluded
                break
        affirmed = list[Mention]()
        for start, end in spans:
            affirmed += find_affirmed(reply, start, end, self.mentions(reply, start, end))
        people = unite(affirmed)
        # 'Either Vera or …' anywhere leaves it open.
        for mention in mentions:
            people = people._replace(
                values=people.values | open_values(reply.text, begin, mention, len(reply.text))
            )
        return people

    def _find_conclusion(self, reply: Prepared, begin: int, end: int) -> Mention | None:
        """Return the only name in bold, or after a word of conclusion, of a sentence: `so it must be Vera`.

        After 'so' alone, the rest of the sentence must be in the question's words: `so Vera is the tallest`.
        """
        text = reply.text
        consequences = _find_ends("consequences", text, begin, end)
        conclusions = _find_ends("conclusions", text, begin, end)
        if _BOLD.search(text, begin, end):
            consequences, conclusions = [], [begin]
        start = max([*consequences, *conclusions], default=end)
        people = self.mentions(reply, start, end)
        person = unite(find_affirmed(reply, begin, end, people))
        lead = text[begin:start]
        is_open = pattern("suppositions", lead).search(lead) or pattern("alternatives", lead).search(lead)
        if is_open or len(person.values) != 1 or person.values != unite(people).values:
            return None
        words = set(map(_stem, _WORD.findall(reply.folded[start:end]))) - set(map(_stem, self.forms))
        asked_words = set(map(_stem, [*_WORD.findall(self.question.lower()), *_VERBS]))
        if start in conclusions or words <= asked_words:
            return person
        return None


def _find_ends(section: str, text: str, begin: int, end: int) -> list[int]:
    """Return where words of a section end."""
    return [word.end() for word in pattern(section, text).finditer(text, begin, end)]


_VERBS = ("is", "the", "it", "must", "be", "at", "in", "это", "окажется", "на")


def _stem(word: str) -> str:
    """Return the letters that the forms of a word share."""
    return word if word.isascii() else word[:_STEM]
