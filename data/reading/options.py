"""Options as answers: a label (A, b, ii, 12), or the text of an option."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from data.reading.clauses import (
    LONGEST_WHOLE,
    Mention,
    Prepared,
    Values,
    affirmed_in,
    first_affirmed,
    is_only,
    is_refuted,
    is_remark,
    lines,
    set_aside,
    united,
)
from data.reading.texts import spaced, unify
from data.reading.words import MARKUP, pattern
from data.sentences import split_sentences

_PAIR = 2

_LETTER = r"[^\W_\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
"""A letter or digit of a script that puts spaces between words."""
_LABEL = re.compile(
    rf"(?<!{_LETTER})(?<![°%^\\])(?<![^\W_]_)(?<![)}}\]]_)(?<!{_LETTER}')(?<![-.,](?=[0-9]))([A-Za-zΑ-Ωα-ωА-Яа-яЁё]{{1,2}}|[0-9]{{1,2}}|[ivxlIVXL]{{3,5}}|[\u0621-\u064a\u0905-\u0939\u0985-\u09b9])"
    rf"(?!{_LETTER}|'{_LETTER}{{1,2}}\b(?<!'d[a-zıü]r)|[.,][0-9]|_[^\W_])"
)
_EDGE = re.compile(_LETTER)
_NOTHING = re.compile(
    rf"(?:{MARKUP}|[()\[\]{{}}.:：,，。！!、;；/&【】（）…-]|\\(?:text\w*|math\w+|[a-z]{{2}}(?![a-z])|[()])|<[^<>]{{0,20}}>|[\u2190-\u21ff\u2300-\u2bff\ufe0f\U0001f000-\U0001faff])*"
)
_TEXT_FOLLOWS = re.compile(r"[*_`\]})]{0,4}(?:[).:]|\s[-–—]|[)\].:]*[*_]{1,3})[*_`]{0,3}\s+\S")
_LOOKALIKES = str.maketrans("АВСЕНКМОРТХІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABCEHKMOPTXIJSABEZHIKMNOPTYX")
"""Cyrillic and Greek capitals that look Latin."""
_ARTICLE = {  # what follows where a label is an article or a pronoun
    "A": re.compile(
        r" (?!(?:or|and|is|are|was|were|be|because|since|but|not|as|fits?|matches|seems|must|would|can|could|"
        r"should|has|does|which|who|with|to|in|for|at|on|by|from|if|than|here|that|also|only|then|so)\b)[a-z]"
    ),
    "I": re.compile(r" (?!(?:or|and|is|because|since|as|fits?|seems|must)\b)[a-z]|'"),
}
_NOUN_FOLLOWS = re.compile(
    r" (?!(?:because|since|as|but|if|it|this|that|the|he|she|we|you|they|there|way|так|потому|поскольку|но|если|"
    r"это|он|она|оно|они|я|мы)\b)[a-zа-я]"
)
_DETERMINERS = frozenset({"no", "нет"})
"""Texts that are no answer before a noun: `there is no evidence`."""
_BEFORE_SMALL = re.compile(
    r"(?:(?:option|choice|letter|answer|pick|choose|select|is|вариант|ответ|选项|选|[:：])[\s*_\"'(]*|\()$"
)
_AFTER_SMALL = re.compile(r"[*_\"')\]]*(?:[).:,;!]|\s*$|\n| [-–—])")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a question: label -> its text, '' where only labels are known; both unified.

    `labels`: each label by its capitals; `wordings`: each text in lower case, the longest first, with its labels.
    """

    texts: Mapping[str, str]
    labels: Mapping[str, str]
    wordings: tuple[tuple[str, Values], ...]
    is_chosen: bool = True

    def mentions(self, reply: Prepared, begin: int, end: int) -> list[Mention]:
        """Return where a stretch names options, by whole texts, and by labels on their own."""
        found, covered = list[Mention](), bytearray(end - begin)
        for wording, values in self.wordings:
            for start in _occurrences(reply, wording, begin, end):
                stop = start + len(wording)
                if not any(covered[start - begin : stop - begin]):
                    covered[start - begin : stop - begin] = b"\1" * (stop - start)
                    found.append(Mention(values, start, stop))
        for match in _LABEL.finditer(reply.text, begin, end):
            label = self._label(reply.text, match)
            if label and not covered[match.start() - begin]:
                found.append(Mention(frozenset({label}), *match.span()))
        return sorted(found, key=lambda mention: (mention.start, mention.end))

    def _label(self, text: str, match: re.Match[str]) -> str:
        """Return the label that a token is; '' if it is none, an article, or a small letter in a sentence."""
        token = match[0]
        label = next((form for form in (token, token.translate(_LOOKALIKES)) if form in self.texts), "")
        if label:
            article = _ARTICLE.get(label)
            return "" if article and article.match(text, match.end()) else label
        label = self.labels.get(token.upper(), "")
        if not label or token.isupper():
            return label
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        leads = not line.strip(" \t*_`>\"'(-") or _BEFORE_SMALL.search(line[-20:].lower())
        return label if leads and _AFTER_SMALL.match(text, match.end()) else ""

    def whole(self, content: str) -> Values | None:
        """Return the options that are all that a text says; None if it says anything else."""
        content = content.strip()
        if len(content) > LONGEST_WHOLE:
            return None
        mentions = self.mentions(Prepared.of(content), 0, len(content))
        if not mentions:
            return self._bare(content)
        if is_only(content, mentions, _NOTHING):
            return united(mentions).values
        first = mentions[0]
        is_first = is_only(content[: first.start], (), _NOTHING)
        is_followed = is_first and len(mentions) == 1 and _TEXT_FOLLOWS.match(content, first.end)
        is_refused = is_followed and re.search("[-–—]", is_followed[0]) and is_refuted(content, first.end)
        return first.values if is_followed and "\n" not in content and not is_refused else None

    def _bare(self, content: str) -> Values | None:
        """Return the labels of a text that is only letters: a small one, `DE`, or (none) one that is no option."""
        bare = _NOTHING.sub("", pattern("fillers", content).sub(" ", content)).upper()
        if not (bare.isalpha() and bare.isascii() and len(bare) <= len(self.labels)):
            return None
        if bare in self.labels:
            return frozenset({self.labels[bare]})
        is_several = set(bare) <= self.labels.keys()
        return (
            frozenset(map(self.labels.__getitem__, bare)) if is_several else None if len(bare) > 1 else frozenset()
        )

    def stated(self, reply: Prepared, begin: int, end: int) -> Mention | None:
        """Return the options that a clause after a cue states."""
        stated = first_affirmed(reply, begin, end, self.mentions(reply, begin, end))
        is_list = stated is not None and len(stated.values) == len(self.texts) > _PAIR
        return None if is_list else stated

    def inferred(self, reply: Prepared, begin: int) -> Mention | None:
        """Return the option that is the last or first line, else that of the last sentence with exactly one."""
        spans = [span for span in lines(reply.text, begin) if not is_remark(reply.text, *span)]
        whole_lines = [Mention(self.whole(reply.text[slice(*span)]) or frozenset(), *span) for span in spans]
        whole_lines = [
            line for line in whole_lines if line.values and not self._is_refuted(reply, line, len(spans))
        ]
        for line in (*whole_lines[-1:], *whole_lines[:1]):
            others = [other.values for other in whole_lines if other.start != line.start]
            is_edge = line[1:] in {spans[0], spans[-1]}
            if is_edge and (line.values in others or not set(others) - {line.values}):
                return line
        if whole_lines and whole_lines[-1][1:] == spans[-1]:
            return united(whole_lines)
        several: Mention | None = None
        for start, end in reversed([*split_sentences(reply.text[begin:])]):
            span = begin + start, begin + end
            named = united(set_aside(reply.text, *span, affirmed_in(reply, *span, self.mentions(reply, *span))))
            if len(named.values) == 1:
                return named
            several = several or (named if named.values else None)
        return several

    def _is_refuted(self, reply: Prepared, line: Mention, lines_in_all: int) -> bool:
        """Return whether a line of several only says that an option is wrong: `A) Incorrect`."""
        mentions = self.mentions(reply, line.start, line.end) if lines_in_all > 1 else []
        return any(is_refuted(reply.text[: line.end], mention.end) for mention in mentions)


def _occurrences(reply: Prepared, wording: str, begin: int, end: int) -> Iterator[int]:
    """Yield where a folded text occurs at the boundaries of words."""
    start = reply.folded.find(wording, begin, end)
    while start >= 0:
        stop = start + len(wording)
        if (
            not (_EDGE.match(wording[0]) and start and _EDGE.match(reply.text[start - 1]))
            and not (_EDGE.match(wording[-1]) and _EDGE.match(reply.text, stop))
            and not (wording[0].isdigit() and _goes_before(reply.text, start))
            and not (wording[-1].isdigit() and re.match(r"[.,][0-9]", reply.text[stop : stop + 2]))
            and not (wording in _DETERMINERS and _NOUN_FOLLOWS.match(reply.text, stop))
        ):
            yield start
        start = reply.folded.find(wording, start + 1, end)


def _goes_before(text: str, start: int) -> bool:
    """Return whether a number goes on before a position: a minus sign, a decimal point, a thousands' comma."""
    before = text[max(0, start - 2) : start]
    return re.search(r"[0-9][.,]$|(?:^|[^\w)\]%])[-.]$", before) is not None


@lru_cache(maxsize=256)  # each of a row's options is looked for in the replies of all models
def options_of(listed: tuple[tuple[str, str], ...]) -> Options:
    """Return the options of (label, text) pairs."""
    texts = {label: spaced(unify(text)) for label, text in listed}
    by_wording: dict[str, set[str]] = {}
    for label, text in texts.items():
        if text:
            by_wording.setdefault(text.lower(), set()).add(label)
    longest_first = sorted(by_wording.items(), key=lambda pair: (-len(pair[0]), pair[0]))
    return Options(
        texts,
        {label.upper(): label for label in texts},
        tuple((wording, frozenset(labels)) for wording, labels in longest_first),
    )
