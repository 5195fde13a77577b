"""Choice: which of several options the reply chooses, by its letter or by its text."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import Field, field_validator

from data.options import Frozen
from data.records import Found, Metric, Sample, Score
from metrics._replies import NO_EXPECTED, NO_REPLY, WORD, expected, reply, spaced, written

_WRAP = r"[\s*_`\"'“”«»(\[{$]*"
_CLOSE = rf"(?!{WORD}|['’])"
_CUE = re.compile(
    r"\b(?:answers?|choices?|option|choose|pick|select|ответ\w*|вариант\w*|выбираю|выбор)\b|答案|选择|選擇|选|選",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[\w)*\"'”»])[.!?](?:\s|$)|[。！？]")
_DENIED = re.compile(r"[\s:*_—–-]*(?:(?:is|would be|can|could)\s+)?(?:not\b|n't|cannot\b|не\b|不)", re.IGNORECASE)
_RATHER = re.compile(r"\b(?:but|rather)\b|[,;—–]\s*(?:а|но)\s|(?:而|就)是", re.IGNORECASE)
_CONTRAST = re.compile(r",?\s+(?:not|rather than|instead of|а не|вместо)\s|，?(?:而不是|不是)", re.IGNORECASE)
_IS_RIGHT = (
    r"(?:\s+(?:is|would be)\s+(?:the\s+|clearly\s+|therefore\s+)?(?:only\s+)?(?:correct|right|best)"
    r"|\s*[—–-]?\s*(?:это\s+)?(?:верн|правильн)\w*|\s*(?:是|为)?(?:正确|对)的?)"
)
SHORT = 300
"""Characters after a cue or a box that are read."""
TRIES = 20
"""Cues that are tried, from the last one backwards."""
_BOXED = re.compile(r"\\boxed\s*\{(?:\\text\s*\{)?\s*")
_ARTICLE = re.compile(r" (?!(?:or|and|или|и)\b)[a-zа-я]")
_ALIKE = str.maketrans("АВСЕНКМОРТХ", "ABCEHKMOPTX")
"""Cyrillic capitals that look Latin."""

WINDOW = 100_000
"""Characters at the end of a reply that are read."""

_LINE_END = re.compile(r"[\s*_`.。!)\]}\"'”»$]*(?:\n|$)")


class Options(Frozen):
    """The letters, and where the options' texts stand."""

    letters: str = Field("ABCDEFGHIJ", min_length=2, description="the options' letters, in order")
    texts: str | tuple[str, ...] = Field(
        "options",
        description="the column with the options' texts: a list (also as JSON), or letters with texts; or a column "
        "for each option",
    )

    @field_validator("letters")
    @classmethod
    def _distinct(cls, value: str) -> str:
        if len(set(value.upper())) < len(value):
            raise ValueError("a letter stands twice")
        return value.upper()


def offered(sample: Sample, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the options of a row: letter -> text, '' where only letters are known."""
    columns = options["texts"]
    listed = sample.get(columns) if isinstance(columns, str) else [sample.get(one) for one in columns]
    if isinstance(listed, str):
        with suppress(ValueError, RecursionError):
            listed = json.loads(listed)
    if isinstance(listed, Mapping):
        return {str(letter).strip().upper(): spaced(str(text)) for letter, text in listed.items()}
    if isinstance(listed, Sequence) and not isinstance(listed, str):
        texts = ("" if text is None else spaced(str(text)) for text in listed)
        return dict(zip(options["letters"], texts, strict=False))
    return dict.fromkeys(options["letters"], "")


def right(sample: Sample, there: Mapping[str, str]) -> set[str]:
    """Return the letters of the expected answer, which is a letter, a text of an option, or its place from 0."""
    found = set()
    for answer in expected(sample):
        text = spaced(written(answer))
        if text.strip("().: ").upper() in there:
            found.add(text.strip("().: ").upper())
        elif isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer < len(there):
            found.add([*there][answer])
        else:
            found |= {letter for letter, own in there.items() if own and own.casefold() == text.casefold()}
    return found


def _named(text: str, there: Mapping[str, str]) -> set[str]:
    """Return the options that a short statement names: letters that stand alone, and whole texts."""
    letters = "".join(map(re.escape, there))
    # A lone capital: 'A' may also be the article, which a lower-case word follows.
    alone = re.finditer(rf"(?<!['’])(?<!{WORD})(?P<letter>[{letters}])(?P<mark>[).:]?){_CLOSE}", text)
    found = {
        one["letter"]
        for one in alone
        if not (one["letter"] in "AI" and not one["mark"] and _ARTICLE.match(text, one.end()))
    }
    folded = spaced(text).casefold()
    named = {letter: own.casefold() for letter, own in there.items() if own}
    inside = {letter: own for letter, own in named.items() if _stands(own, folded)}
    # 'New York City' names no other option that is called 'New York'.
    longest = {
        letter
        for letter, own in inside.items()
        if not any(own != other and own in other for other in inside.values())
    }
    return found | longest or _bare(text, there)


def _stands(own: str, folded: str) -> bool:
    return re.search(rf"(?<!{WORD}){re.escape(own)}(?!{WORD})", folded) is not None


def _bare(text: str, there: Mapping[str, str]) -> set[str]:
    """Return the option of a statement that is a letter and nothing else, small or Cyrillic too: `is b.`."""
    found = re.fullmatch(rf"\W*(?:(?:is|это|是|为)\b)?\W*({WORD})\W*", text[:SHORT])
    letter = found[1].upper() if found else ""
    letter = letter if letter in there else letter.translate(_ALIKE)
    return {letter} if letter in there else set()


def _called_right(text: str, there: Mapping[str, str]) -> set[str]:
    """Return the options that are called right: `B is correct`, `B is the right one`, `B — верный ответ`."""
    letters = "".join(map(re.escape, there))
    said = re.finditer(rf"(?<!{WORD})([{letters}])[)*_`\"'”»]*{_IS_RIGHT}", text)
    return {one[1] for one in said}


def chosen(text: str, there: Mapping[str, str]) -> set[str] | None:
    """Return the options that a reply chooses; None where it makes no statement.

    The cascade: the last box, else the last statement with a cue ('the answer is B', 'Ответ: B', '答案是 B'),
    else a reply whose first or last line is an option, else all that it names.

    Source: ours.
    """
    if boxes := list(_BOXED.finditer(text)):
        return _named(text[boxes[-1].end() :][:SHORT].partition("}")[0], there) or None
    for cue in reversed(list(_CUE.finditer(text))[-TRIES:]):
        if found := _named(_stated(text, cue), there):
            return found
    if found := _called_right(text, there):
        return found
    lines = [line for line in text.split("\n") if line.strip()]
    for line in (lines[-1], lines[0]):
        if (letter := _leading(line, there)) and (line == lines[-1] or _named(text, there) == {letter}):
            return {letter}
    return _named(text, there) or None


def _stated(text: str, cue: re.Match[str]) -> str:
    """Return what a statement with a cue says, without what it denies ('B, not C'); '' where it only denies."""
    rest = text[cue.end() :].split("\n", 2)
    said = rest[0] if rest[0].strip(" *_:：—-") else " ".join(rest[:2])
    statement = _SENTENCE.split(said, maxsplit=1)[0][:SHORT]
    if _DENIED.match(statement):
        instead = _RATHER.search(statement)
        return statement[instead.end() :] if instead else ""
    return _CONTRAST.split(statement, maxsplit=1)[0]


def _leading(line: str, there: Mapping[str, str]) -> str:
    """Return the letter that a line is, or begins with as a list does: `B`, `(B)`, `**B**.`, `B) Paris`."""
    letters = "".join(map(re.escape, there))
    found = re.match(rf"{_WRAP}([{letters}])(?:[).:]|(?=[\s*_`\"'”»\]}}$])|$)", line)
    if not found:
        return ""
    alone = _LINE_END.match(line, found.end())
    return found[1] if alone or found[0].rstrip()[-1] in ").:" else ""


def score(sample: Sample, found: Found, options: Mapping[str, Any]) -> Score:
    """Return 1 if exactly the right option is chosen, by letter or text, else 0; two options are none.

    Source: SPEC 14.
    """
    del found
    there = offered(sample, options)
    wanted = right(sample, there)
    if not wanted:
        return NO_EXPECTED
    if not (said := reply(sample)):
        return NO_REPLY
    named = chosen(said[-WINDOW:], there)
    if named is None:
        return Score(0.0, "no_answer", "no option is named")
    details = {"chosen": sorted(named)}
    if len(named) > 1:
        return Score(0.0, reason="more than one option is named", details=details)
    if named <= wanted:
        return Score(1.0, reason="right option", details=details)
    return Score(0.0, reason="another option", details=details)


UNIT = Metric(
    name="choice",
    version=3,
    bounds=(0.0, 1.0),
    score=score,
    options=Options,
    needs=("answer",),
    yes_no=True,
    title={"en": "Multiple choice", "ru": "Выбор ответа"},
)
