"""Choice metric: which of several options the reply chooses, by letter or by text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from pydantic import Field, field_validator

from data.options import Frozen
from data.patterns import pattern
from data.records import Found, Metric, Sample, Score
from data.withheld import REFUSED, WITHHELD
from metrics._choices import completes, expects, offer_of, right_options
from metrics._replies import (
    NO_EXPECTED,
    NO_REPLY,
    NUMBER_BEGINS,
    NUMBER_ENDS,
    WORD,
    alike,
    bounded,
    reply,
    unemphasised,
    was_cut,
)

_WRAP = r"[\s*_`\"'“”«»(\[{$]*"
_CLOSE = rf"(?!{WORD}|(?<!'.)'){NUMBER_ENDS}"
_CUE = pattern(
    r"(?<!to )(?<!can )\b(?:answers?|choose|chose|pick|select|ответ(?:ом|а|ы)?|выбираю|выбор|"
    r"(?:correct|right|best|final|my|chosen|верный|правильный|мой) (?:choice|option|вариант|выбор)|go with)\b"
    r"|答案|(?:正确|最佳)的?选项|(?:选择|選擇|选|選)(?!项|項)",
    re.IGNORECASE,
)
_PREDICATE = pattern(
    r"(?:\b(?:is|was|be|are|['’]s|это)|[—–-])\s(?:(?:the|my|our|a)\s)?(?:\w{1,12}\s)?$|是(?:正确)?$", re.IGNORECASE
)
"""Text before a cue that refers to an option before it: `B is the correct answer`."""
_LEFT = pattern(
    r"(?<![^\W_])(?:(?:that|which|this|it) leaves|leaving|left with|remaining|остаётся|остается)(?![^\W_])|剩下?",
    re.IGNORECASE,
)
_SENTENCE = pattern(r"(?<=[\w)*\"'”»])[.!?](?:\s|$)|[。！？]")
_WRAPPED = r"[\s*_`\"'“”«»()\[\]{}$.:]{0,6}"
_INSIDE = pattern(WORD)
_JOINED = pattern(rf"{_WRAPPED}[,—–-]?{_WRAPPED}")
_NEAR = 40
"""Characters before an option searched for a denial."""
_NOT = pattern(
    r"(?:(?<![^\W_])(?:not|cannot|neither|nor|rather than|instead of|over|не|ни|вместо)|n['’]t"
    r"|不是|不選|不选|并非|而非|不)"
    r"(?:\s{0,3}(?<![^\W_])(?:be|choose|pick|select|the|an?|option|choice|answer|вариант|ответ)(?![^\W_])"
    r"|选项|答案|选)*[ \t\u00a0*_`\"'“”«»()\[\]{}$:]{0,6}$",  # of the same sentence
    re.IGNORECASE,
)
_IS_NOT = pattern(
    r"[)*_`\"'”»\]]{0,6} ?[—–:-]? ?"
    r"(?:(?:is|are|was|would be|seems|looks|это)\s)?(?:(?:also|clearly|therefore|simply)\s)?"
    r"(?:(?:wrong|incorrect|false|not(?! only)|cannot|does not|do not|(?:is|does|ca|could)n['’]t"
    r"|can be (?:ruled out|excluded)|невер\w+|неправ\w+|ошибоч\w+"
    r"|не (?:подход|явля|верн|правил|отвеч|соответ)\w*)(?![^\W_])"
    r"|(?:选?项)?(?:是|为)?(?:错|不))",
    re.IGNORECASE,
)
_OF_THE_NEXT = pattern(r"[ *_`\"'“”$]{0,6}(?:(?:the|option|choice) ){0,2}[*_`\"'“”$]{0,6}", re.IGNORECASE)
"""Between a `not` and the option that it denies: `B — not C`."""
_ITEM = pattern(
    r"[*_`]{0,3}[):][*_`]{0,3} ?(?!(?:is|are|was|would|seems|looks|does|do|can|could|isn|doesn|don|couldn|это"
    r"|не)\b)(?=[^\W_])"
)
"""Between an option's letter and its text: `B) False`."""
_SET = r"[\s*_`\"'“”«»()\[\]{}$]{0,6}"
_RULED_OUT = pattern(
    r"(?:(?<!not )(?<!n't )(?<!n’t )(?<![^\W_])(?:eliminat(?:e|es|ed|ing)|rul(?:e|es|ed|ing) out"
    r"|exclud(?:e|es|ed|ing)|(?<!не )(?:исключ(?:аем|им|ить|ив|аю|ая)|отбрасывае[мя]|отбросим|отбросив))"
    r"(?![^\W_])|排除(?:了|掉)?)"
    rf"(?:{_SET}(?:both|all of|the|options?|choices?|answers?|вариант\w*|ответ\w*|选项))*{_SET}$",
    re.IGNORECASE,
)
_AND = pattern(rf"{_SET}(?:[,、，]\s?(?:and |or |и )?|(?:and|or|и|или)(?![^\W_])|[和与或]){_SET}", re.IGNORECASE)
_REASON = pattern(r"(?<![^\W_])(?:because|since|потому что|так как|поскольку)(?![^\W_])|因为|由于", re.IGNORECASE)
_IS_RIGHT = pattern(
    r"[)*_`\"'”»\]]*(?:\W{1,6}(?:this|it|that))?"
    r"(?:\s+(?:is|would be|must be)\s+(?:the\s+|my\s+|clearly\s+|therefore\s+)?(?:only\s+)?"
    r"(?:correct|right|best|answer)"
    r"|\s*[—–-]?\s*(?:это\s+)?(?:вер(?:ен|н)|правил(?:ен|ьн))\w*|\s*(?:是|为)?(?:正确|对)的?)",
    re.IGNORECASE,
)
SHORT = 300
"""Characters read after a cue or a box."""
_PAIR = 2
TRIES = 20
"""Maximum number of cues tried, from the last one backwards."""
_BOXED = pattern(r"\\boxed\s*\{(?:\\text\s*\{)?\s*")
_ARTICLE = {  # lower-case words that may follow an article, or a pronoun
    "A": pattern(
        r" (?!(?:or|and|is|are|was|were|be|because|since|but|not|as|fits?|matches|seems|must|would|can|could|"
        r"should|has|does|which|who|with|to|in|for|at|on|by|from|if|than|here|that|also|only|then|so)\b)[a-z]"
    ),
    "I": pattern(r" (?!(?:or|and|is|because|since|as|fits?|seems|must)\b)[a-z]"),
}
_DETERMINER = {  # words that are no answer before a noun: `there is no evidence`
    "no": r"(?!(?<=(?-i:no)) (?!(?:because|since|as|but|if|it|this|that|the|he|she|we|you|they|there|way)\b)[a-z])",
    "нет": r"(?!(?<=(?-i:нет)) (?!(?:так|потому|поскольку|но|если|это|он|она|оно|они|я|мы)\b)[а-я])",
}
_ALIKE = str.maketrans("АВСЕНКМОРТХ", "ABCEHKMOPTX")
"""Cyrillic capitals that look Latin."""

WINDOW = 100_000
"""Characters read at the end of a reply."""

_SO = pattern(
    r"[\s*_]*(?:(?:therefore|so|thus|hence|итак|поэтому|значит|следовательно)(?![^\W_])|所以|因此)[,，:：]?"
    r"(?:\s*(?:it is|it['’]s|it must be|это)(?![^\W_]))?",
    re.IGNORECASE,
)
"""The beginning of a concluding last line."""
_CLAUSE = pattern(r"[.!?;,](?=\s)|[。！？；，\n]")
_OPENING = pattern(r"[\s*_:：=—–-]*(?:(?:is|are|was|это|是|为)\s?)?[\s*_:：—–-]*", re.IGNORECASE)
_COPULA = pattern(r"\A[\s:：]*(?:是|为)[\s:：]*")
_NONE = pattern(r"(?:none|both|all|nothing|нет|ни один|оба|обе|все|无|都)(?![^\W_])", re.IGNORECASE)
_LINE_END = pattern(r"[\s*_`.。!)\]}\"'”»$]*(?:\n|$)")


TEXTS = "options"
"""The default column of the options' texts."""


class Options(Frozen):
    """The letters, the column of the options' texts, and how indices count."""

    letters: str = Field("", description="the options' letters, in order; default: A to Z, or A to J without texts")
    texts: str | tuple[str, ...] = Field(
        TEXTS,
        description="the column with the options' texts: a list (also as JSON), or labels with texts; or a column "
        "for each option",
    )
    index: Literal[0, 1] | None = Field(
        None,
        description="the first option's index, where answers are indices; default: as the column's values show",
    )

    @field_validator("letters")
    @classmethod
    def _distinct(cls, value: str) -> str:
        if len(value) == 1:
            raise ValueError("expected at least two letters")
        if len(set(value.upper())) < len(value):
            raise ValueError("expected each letter once")
        return value.upper()


def needs(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that a row must have: that of the texts, unless letters alone may do."""
    columns = options["texts"]
    return ("answer", *([] if columns == TEXTS else [columns] if isinstance(columns, str) else columns))


class _Mention(NamedTuple):
    """The place where a text names an option, or several with the same text."""

    start: int
    end: int
    letters: set[str]


@lru_cache(maxsize=256)  # the options of a row are searched for in each of its statements
def _looks(
    options: tuple[tuple[str, str], ...],
) -> tuple[list[tuple[re.Pattern[str], set[str], bool]], re.Pattern[str]]:
    """Return the pattern of each text, with its letters and whether it is longer than one; and of a lone letter."""
    texts = []
    for own in sorted({own.casefold() for _, own in options if own}, key=lambda one: (-len(one), one)):
        look = re.compile(bounded(own) + _DETERMINER.get(own, ""), re.IGNORECASE)
        texts.append((look, {letter for letter, same in options if same.casefold() == own}, len(own) > 1))
    letters = "".join(re.escape(letter) for letter, _ in options)
    begins = NUMBER_BEGINS if all(letter.isdigit() for letter, _ in options) else ""
    return texts, re.compile(rf"(?<!{WORD}')(?<!{WORD}){begins}([{letters}])([).:]?){_CLOSE}")


def _mentions(text: str, there: Mapping[str, str]) -> list[_Mention]:
    """Return where a text names options: by their whole texts, and by letters on their own.

    A letter within a text does not count ('Both A and B'), nor does a text within a longer one ('York' in 'New
    York').
    """
    texts, letter = _looks(tuple(there.items()))
    taken, found = bytearray(len(text)), list[_Mention]()
    for own, letters, several in texts:
        for one in own.finditer(text):
            start, end = one.span()
            if not any(taken[start:end]):
                taken[start:end] = bytes([several]) * (end - start)
                found.append(_Mention(start, end, letters))
    # 'A' may also be the article, if a lower-case word follows.
    for one in letter.finditer(text):
        article = not one[2] and one[1] in _ARTICLE and _ARTICLE[one[1]].match(text, one.end())
        if not taken[one.start()] and not article:
            found.append(_Mention(*one.span(1), {one[1]}))
    return sorted(found, key=lambda one: (one.start, one.end))


def _named(text: str, there: Mapping[str, str]) -> set[str]:
    return set().union(*(one.letters for one in _mentions(text, there))) or _bare(text, there)


def _joined(text: str, there: Mapping[str, str]) -> list[_Mention]:
    """Return where a text names options, merging a letter and its text: `B) London`."""
    joined: list[_Mention] = []
    for one in _mentions(text, there):
        if joined and joined[-1].letters == one.letters and _JOINED.fullmatch(text, joined[-1].end, one.start):
            joined[-1] = joined[-1]._replace(end=one.end)
        else:
            joined.append(one)
    return joined


def _affirmed(text: str, there: Mapping[str, str]) -> str:
    """Return a reply without the options that it denies.

    'B, not C', 'C is wrong', 'не C', 'C不对', and all of a list: 'eliminate A, C and D', 'not A, B or D', 'A and B
    are wrong'.
    """
    kept, place = [], 0
    joined = _joined(text, there)
    runs, alone = [*_runs(text, joined)], len(joined) == 1 and not any(there.values())
    for run, after in zip(runs, [*(one[0].start for one in runs[1:]), 0], strict=False):
        before = text[max(place, run[0].start - _NEAR) : run[0].start]
        listed = bool(_RULED_OUT.search(before)) or (len(run) > 1 and bool(_NOT.search(before)))
        listed = listed or (
            _is_denied(text, run[-1].end, after) and not _is_text(text, run[-1], after, alone=alone)
        )
        for one in run:
            if listed or _NOT.search(text[max(place, one.start - _NEAR) : one.start]):
                kept.append(text[place : one.start])
                place = one.end
    return " ".join([*kept, text[place:]])


def _is_denied(text: str, end: int, after: int) -> bool:
    """Return whether what follows an option that ends there denies it, and not the next option at `after`."""
    denied = _IS_NOT.match(text, end)
    if denied is None:
        return False
    bare = denied[0].lower().strip(" )*_`\"'”»]—–:-") == "not"
    return not (bare and _OF_THE_NEXT.fullmatch(text, denied.end(), after))


def _is_text(text: str, one: _Mention, after: int, *, alone: bool) -> bool:
    """Return whether an option's text follows its letter, in a statement or as the whole reply: `B) False`."""
    if not _ITEM.match(text, one.end):
        return False
    lead = text[text.rfind("\n", 0, one.start) + 1 : one.start].rstrip(' *_`(["“«')[-SHORT:]
    if cues := [*_CUE.finditer(lead)]:
        gap = lead[cues[-1].end() :]
        beside = after > one.end and "\n" not in text[one.end : after] and _ITEM.match(text, after + 1)
        return bool(gap.strip(" *_")) and not beside and _OPENING.fullmatch(gap) is not None
    return alone and not lead and "\n" not in text.strip()


def _runs(text: str, joined: Sequence[_Mention]) -> Iterator[list[_Mention]]:
    """Yield options that are listed one after another: `A, B and D`."""
    run: list[_Mention] = []
    for one in joined:
        if run and not _AND.fullmatch(text, run[-1].end, one.start):
            yield run
            run = []
        run.append(one)
    if run:
        yield run


def _bare(text: str, there: Mapping[str, str]) -> set[str]:
    """Return the option of a statement that is only a letter, including lower-case or Cyrillic: `is b.`."""
    found = re.fullmatch(
        rf"\W*(?:(?:is|это|是|为)\b)?\W*(?:(?i:option|choice|вариант)\s)?\W*(?<![-–](?=[0-9]))({WORD})\W*",
        text[:SHORT],
    )
    letter = found[1].upper() if found else ""
    letter = letter if letter in there else letter.translate(_ALIKE)
    return {letter} if letter in there else set()


def chosen(text: str, there: Mapping[str, str], *, cut: bool = False) -> set[str] | None:
    """Return the options that a reply chooses; None if it makes no statement.

    The cascade, ignoring denied options: the last box with an option, else a concluding last line ('So B.'), else
    the last statement with a cue ('the answer is B', '答案是 B', 'Ответ: B'), else the remaining one ('that
    leaves B'), else those called right, else an option that is the last line or the first, unless lines are a list,
    else all that it names. A statement that there is no answer ends the search. In a truncated reply (`cut`) only
    statements count, and a first line that is only an option.

    Source: ours.
    """
    text = alike(text)
    if not any("_" in own for own in there.values()):
        text = unemphasised(text)
    text = _affirmed(text, there)
    for rule in (_boxed, *(() if cut else (_concluded,)), _cued, _left_over, _called_right):
        if (found := rule(text, there)) is not None:
            return found or None
    if cut:
        return _first(text, there) or None
    return _lined(text, there) or _unstated(text, there) or None


def _boxed(text: str, there: Mapping[str, str]) -> set[str] | None:
    """Return the content of the last box with an option; boxes without one are ignored."""
    boxes = reversed([*_BOXED.finditer(text)][-TRIES:])
    found = (_named(text[box.end() :][:SHORT].partition("}")[0], there) for box in boxes)
    return next(filter(None, found), None)


def _cued(text: str, there: Mapping[str, str]) -> set[str] | None:
    """Return the options that the last statement with a cue names; nothing if it says that there is no answer."""
    for cue in reversed([*_CUE.finditer(text)][-TRIES:]):
        if _PREDICATE.search(text, max(0, cue.start() - _NEAR), cue.start()):
            clause = _CLAUSE.split(text[max(0, cue.start() - SHORT) : cue.start()])[-1]
            if len(found := _named(_REASON.split(clause)[-1], there)) == 1:
                return found
            continue
        said = _stated(text, cue)
        rest = _COPULA.sub("", said)  # the first 是 of 答案是否 is no option
        said = rest if (mentions := _mentions(rest, there)) else said
        mentions = mentions or _mentions(said, there)
        if mentions and not any(there.values()) and _ITEM.match(said, mentions[0].end):
            first, *more = mentions  # letters within the option's text, `B) Vitamin C`, are none
            listed = (o for o in more if _ITEM.match(said, o.end) or _AND.fullmatch(said, first.end, o.start))
            mentions = [first, *listed]
        if _refuses(said, mentions[0].start if mentions else len(said)):
            return set()
        found = set().union(*(one.letters for one in mentions)) or _bare(said, there)
        if found and (len(found) < len(there) or len(there) == _PAIR):  # all of them: the list of options
            return found
    return None


def _left_over(text: str, there: Mapping[str, str]) -> set[str] | None:
    """Return the remaining option: `that leaves B`."""
    left = [_named(_stated(text, cue), there) for cue in [*_LEFT.finditer(text)][-TRIES:]]
    return left[-1] if left and len(left[-1]) == 1 else None


def _called_right(text: str, there: Mapping[str, str]) -> set[str] | None:
    """Return the options that are called right: `B is correct`, `(B) copper is the right one`, `B — верный`."""
    said, beside = set[str](), set[str]()
    joined = _joined(text, there)
    for at, one in enumerate(joined):
        follows = at and _AND.fullmatch(text, joined[at - 1].end, one.start)
        beside = beside | one.letters if follows else one.letters
        if _IS_RIGHT.match(text, one.end):
            said |= beside
    return said or None


def _unstated(text: str, there: Mapping[str, str]) -> set[str]:
    """Return all options named in a reply without a statement; none if it lists them all, or refuses."""
    said = text.casefold()
    whole = len(there) > _PAIR and all(own and own.casefold() in said for own in there.values())
    return set() if whole or WITHHELD.search(text) else _named(text, there)


def _refuses(said: str, first: int) -> bool:
    """Return whether a statement says, before it first names an option, that there is no answer."""
    opening = _OPENING.match(said)
    begin = opening.end() if opening else 0
    if first <= begin:
        return False
    return bool(REFUSED.match(said, begin) or _NONE.match(said, begin) or WITHHELD.search(said, 0, first))


def _concluded(text: str, there: Mapping[str, str]) -> set[str] | None:
    """Return the option that is all a last line concludes: `So B.`, `Therefore, it is **B**`."""
    line = text.rstrip().rpartition("\n")[2]
    so = _SO.match(line)
    found = so and re.match(rf"{_WRAP}([{''.join(map(re.escape, there))}])", line[so.end() :])
    return {found[1]} if so and found and _LINE_END.fullmatch(line, so.end() + found.end()) else None


def _lined(text: str, there: Mapping[str, str]) -> set[str]:
    """Return the option that is the last line or the first; none if lines are a list of options."""
    led = [_leading(line, there) for line in text.split("\n") if line.strip()] or [""]
    before, after = set(led[:-1]) - {"", led[-1]}, set(led[1:]) - {"", led[0]}
    if led[-1] and (not before or led[-1] in led[:-1]):
        return {led[-1]}
    return {led[0]} if led[0] and not after else set()


def _stated(text: str, cue: re.Match[str]) -> str:
    """Return a statement with a cue, without its reasons."""
    rest = text[cue.end() :].split("\n", 2)
    said = rest[0] if rest[0].strip(" *_:：—-") else " ".join(rest[:2])
    return _REASON.split(_SENTENCE.split(said, maxsplit=1)[0][:SHORT], maxsplit=1)[0]


def _first(text: str, there: Mapping[str, str]) -> set[str]:
    """Return the option that is the whole first of several lines, by its letter, its text or both."""
    line, more, _ = text.strip().partition("\n")
    named = _joined(line, there) if more else []
    alone = len(named) == 1 and not _INSIDE.search(line[: named[0].start] + line[named[0].end :])
    return (more and _bare(line, there)) or (named[0].letters if alone else set())


def _leading(line: str, there: Mapping[str, str]) -> str:
    """Return the letter that a line consists of, or begins with as in a list: `B`, `(B)`, `**B**.`, `B) Paris`.

    '' if the line has another one in the same style: `A) B) C)`.
    """
    letters = "".join(map(re.escape, there))
    found = re.match(rf"{_WRAP}([{letters}])(?:[):]|\.(?![0-9])|(?=[\s*_`\"'”»\]}}$])|$)", line)
    if not found or re.search(rf"(?<!{WORD})(?!{found[1]})[{letters}][).:]", line[:SHORT]):
        return ""
    alone = _LINE_END.match(line, found.end())
    return found[1] if alone or found[0].rstrip()[-1] in ").:" else ""


def score(sample: Sample, found: Found, options: Mapping[str, Any]) -> Score:
    """Return 1 if exactly the right option is chosen, by letter or text, else 0; two options do not count.

    Source: SPEC 14.
    """
    offer = offer_of(sample, options)
    wanted = right_options(sample, offer, options).labels
    if not wanted:
        return NO_EXPECTED
    there = offer.texts
    if not (said := reply(sample)):
        return NO_REPLY
    named = chosen(said[-WINDOW:], there, cut=was_cut(sample))
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
    version=10,
    bounds=(0.0, 1.0),
    score=score,
    options=Options,
    needs=needs,
    expects=expects,
    completes=completes,
    yes_no=True,
    title={"en": "Multiple choice", "ru": "Выбор ответа"},
)
