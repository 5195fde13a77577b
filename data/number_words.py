# ruff: noqa: PLR2004, SIM905 - place values are not magic here, and word lists read best as running text
"""Numbers written in words, in English, Russian and Chinese; and all the numbers that a question gives."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from basic_control.data.beside import read_beside
from basic_control.data.numerals import Number, exact, narrow, numbers, said_negative
from basic_control.data.patterns import pattern

F = Fraction
_HALF = F(1, 2)


class Word(NamedTuple):
    """A cardinal in a text: its value and its span."""

    value: Fraction
    start: int
    end: int


_WORDS = read_beside(__file__)
_CARDINALS: Mapping[str, int] = {
    word: value for value, forms in _WORDS["cardinals"].items() for word in forms.split()
}
_SENSES: Mapping[str, tuple[Fraction, ...]] = {
    word: tuple(map(F, sense["given"])) for sense in _WORDS["senses"] for word in sense["words"].split()
}
_PARTS: Mapping[str, int] = {word: value for value, forms in _WORDS["parts"].items() for word in forms.split()}
_PREFIX: Mapping[str, int] = _WORDS["prefixes"]
_KNOWN = frozenset((*_CARDINALS, *_SENSES, *_PARTS))
_COMPOUND = pattern(
    rf"\b({'|'.join(_PREFIX)})(?:летн|дневн|часов|недельн|месячн|минутн|секундн|этажн|местн|процентн|комнатн|литров|"
    r"метров|грамм|килограмм|рублев|доллар|центов|страничн|кратн|звенн|угольн|ярусн|колесн|ряд)"
)
_WORD = pattern(r"[a-z]+|[а-я]+")  # in lower case, without ё
_JOIN = pattern(r"[ \u00a0\n]*[-‐‑–]?[ \u00a0\n]*")
_JOIN_AND = pattern(r"[ \u00a0\n]*\band\b[ \u00a0\n]*")


def words(text: str) -> list[Word]:
    """Find the English and Russian cardinals of a text, compound ones as one: `twenty-five`, `двадцати пяти`.

    Source: ours.
    """
    lowered = text.lower().replace("ё", "е")
    return _grouped(lowered, [match for match in _WORD.finditer(lowered) if match[0] in _CARDINALS])


def _grouped(lowered: str, cardinals: Sequence[re.Match[str]]) -> list[Word]:
    out: list[Word] = []
    group: list[re.Match[str]] = []
    for match in cardinals:
        if group and not _continues(lowered, group, match):
            out.append(_word(group))
            group = []
        group.append(match)
    return [*out, _word(group)] if group else out


def _continues(text: str, group: Sequence[re.Match[str]], match: re.Match[str]) -> bool:
    """Return whether the next word continues a cardinal."""
    last, value = _CARDINALS[group[-1][0]], _CARDINALS[match[0]]
    gap = text[group[-1].end() : match.start()]
    if _JOIN_AND.fullmatch(gap):
        return last >= 100 and value < 100 and last != value
    if not _JOIN.fullmatch(gap) or len(group) > 12:
        return False
    if value >= 1000 or value == 100:
        return last not in {value, 0}
    if last >= 100:
        return last >= 1000 or value < 100
    return last >= 20 and last % 10 == 0 and 0 < value < 10


def _word(group: Sequence[re.Match[str]]) -> Word:
    total, current = 0, 0
    for match in group:
        value = _CARDINALS[match[0]]
        if value >= 1000:
            total, current = total + max(current, 1) * value, 0
        elif value == 100:
            current = max(current, 1) * 100
        else:
            current += value
    return Word(F(total + current), group[0].start(), group[-1].end())


_DIGITS = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_UNITS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_HAN = pattern(r"[零〇一二两兩三四五六七八九十百千万萬亿億]+")
_HAN_ANY = pattern(r"[零〇一二两兩三四五六七八九十百千万萬亿億半倍双雙翻打对對]")
_NOT_COUNTED = pattern(
    r"一(?:起|些|样|樣|共|直|下|般|定|边|邊|旦|切|致|律|度|向|再|方面|会儿|點|点)|[统同唯万单]一|十(?:足|字)|十分(?![钟鐘之])"
    r"|百(?:货|貨|分(?!之))|千(?:克|米|瓦|卡|万别)|(?<=[0-9])[十百千万萬亿億]+|[三四]明治"
)
_HAN_FRACTION = pattern(
    r"([零〇一二两三四五六七八九十百千万]{1,20}|[0-9]{1,20})分之([零〇一二两三四五六七八九十百千万]{1,20}|[0-9]{1,20})"
)
_AND_A_HALF = pattern(r"([零〇一二两三四五六七八九十百千]{1,20}|[0-9]{1,20})[个個]半")


def _han_value(run: str) -> Fraction:
    """Parse a Chinese numeral; consecutive digits are read as digits (`二〇二四`)."""
    if all(c in _DIGITS for c in run):
        return F(int("".join(str(_DIGITS[c]) for c in run[:20])))
    total, section, digit = 0, 0, 0
    unit = 10
    for c in run:
        if c in _DIGITS:
            digit = _DIGITS[c]
            unit = 10 if c in "零〇" else unit
        elif c in _UNITS:
            section += (digit or 1) * _UNITS[c]
            unit, digit = _UNITS[c], 0
        else:
            unit = _MYRIADS[c]
            larger = unit > 10**4
            total = (total + section + digit or 1) * unit if larger else total + (section + digit or 1) * unit
            section, digit = 0, 0
        if total > 10**40:
            return F(total)
    short = digit and unit > 10 and run[-2] not in "零〇"  # 一百二 is 120
    return F(total + section + (digit * unit // 10 if short else digit))


def han(text: str) -> list[Word]:
    """Find the Chinese cardinals of a text: `一百二十`, `两`, `三万五`; not the `一` of `一起`.

    Source: ours.
    """
    skipped = {at for m in _NOT_COUNTED.finditer(text) for at in range(m.start(), m.end())}
    runs = (m for m in _HAN.finditer(text) if m.start() not in skipped and len(m[0]) <= 40)
    return [Word(_han_value(m[0]), *m.span()) for m in runs]


_NOT_NOUNS = frozenset(
    """of is was are were who that which can could should would will has had have by more another and or at in on to
    from than as could day time thing out for with
    из в на с и или раз день что это не""".split()
)
"""Words before which `one` is a pronoun or part of a phrase."""
_PRONOUN = pattern(r"(?<![a-zа-я])(?:no|any|every|each|some|this|that|the|another|which|ни|не)[ -]$")
_NEXT = pattern(
    r"[ \u00a0]([a-zа-я]+)|-((?<=one-)third|thirds|hal(?:f|ves)|quarters?|(?:four|fif|six|eigh|ten)ths)\b"
)
_ONES = frozenset(word for word, value in _CARDINALS.items() if value == 1)
_TOLD = 1_000
"""Characters of a sentence searched for numbers in words."""


def worded(text: str) -> list[Number]:
    """Find the numbers that a sentence states in words, as `numbers` does for digits.

    `one` counts before a noun only: not in `one of them`. `two dozen` is 24, `two and a half` 2.5.

    Source: ours (SPEC 3).
    """
    lowered = text[:_TOLD].lower().replace("ё", "е")
    found = [_measured(lowered, word) for word in words(lowered) if not _is_pronoun(lowered, word)]
    if not text.isascii() and _HAN_ANY.search(lowered):
        found += [one for one in _stated_han(lowered) if lowered[one.start : one.end] != "一"]
    return sorted((_signed(lowered, number) for number in found), key=lambda number: number.start)


def _stated_han(text: str) -> list[Number]:
    """Return the Chinese numbers of a text, fractions as one: `三分之二`; a percentage (`百分之五`) is 5."""
    parts = [(match, *_divided(match)) for match in _HAN_FRACTION.finditer(text)]
    found = [Number(over if under == 100 else over / under, *match.span()) for match, under, over in parts if under]
    inside = {at for one in found for at in range(one.start, one.end)}
    return [*found, *(Number(*word) for word in han(text) if word.start not in inside)]


def _signed(text: str, number: Number) -> Number:
    start = said_negative(text, number.start)
    return number if start is None else number._replace(value=-(number.value or F(0)), start=start)


def _is_pronoun(text: str, word: Word) -> bool:
    """Return whether a number in words is a `one` that counts nothing: `one of them`, `this one`."""
    after = _NEXT.match(text, word.end)
    return text[word.start : word.end] in _ONES and (
        after is None
        or after[1] in _NOT_NOUNS
        or _PRONOUN.search(text[max(0, word.start - 10) : word.start]) is not None
    )


def _measured(text: str, word: Word) -> Number:
    """Return a number in words with a following dozen, part or half."""
    after = _NEXT.match(text, word.end)
    follows = after[1] or after[2] if after else ""
    if after and follows in {"dozen", "дюжин", "дюжины", "дюжина"}:
        return Number(word.value * 12, word.start, after.end())
    if after and follows in _PARTS:
        return Number(word.value / _PARTS[follows], word.start, after.end())
    half = _AND_HALF.match(text, word.end)
    return Number(word.value + _HALF, word.start, half.end()) if half else Number(*word)


def spelled(text: str) -> Fraction | None:
    """Return the single number in words in a short text; None if there is none, or more than one.

    Source: ours.
    """
    lowered = text[:200].lower().replace("ё", "е")
    found = [_measured(lowered, word) for word in words(lowered)]
    found += _stated_han(lowered) if _HAN_ANY.search(lowered) else []
    values = {_signed(lowered, number).value for number in found}
    return values.pop() if len(values) == 1 else None


def given_numbers(text: str) -> dict[int | Fraction, str]:
    """Return the numbers that a question gives, each with the words that give it; whole ones are ints.

    Digits; cardinals in words (English; Russian in every case; Chinese); twice, double, pair and couple 2; half 2
    and 1/2; thrice and triple 3; third 3 and 1/3 (and so with every part: quarter, fifth, …; `two thirds` gives
    2/3 too); dozen 12; `20%` 20, 0.2 and 100; the like in Russian (вдвое, половина, треть, четверть, полтора,
    дюжина, процентов) and Chinese (半, 倍, 三分之一, 百分之二十, 打). A fraction or a time of day gives its parts
    too: `3/4` gives 3 and 4, `3:30` 3 and 30.

    Source: SPEC 3 (seed 004).
    """
    text = narrow(text)
    given: Given = {}
    found = numbers(text)
    for number in found:
        _give_digits(text, number, given)
    lowered = text.lower().replace("ё", "е")
    if not _KNOWN.isdisjoint(_WORD.findall(lowered)):
        known = [match for match in _WORD.finditer(lowered) if match[0] in _KNOWN]
        scaled = {number.end for number in found}  # the million of 1.5 million
        cardinals = _grouped(lowered, [match for match in known if match[0] in _CARDINALS])
        counted: list[Number | Word] = [*found, *(word for word in cardinals if word.end not in scaled)]
        _give_words(lowered, known, counted, given)
    if not text.isascii():
        for match in _COMPOUND.finditer(lowered):
            _give(given, match[0], F(_PREFIX[match[1]]))
        if _HAN_ANY.search(text):
            _give_han(text, given)
    return given


Given = dict[int | Fraction, str]
_PERCENT = pattern(r"[ \u00a0-]*(?:percent|per cent|процент|проц\.|个百分点)")
_BROKEN = pattern(r"[0-9][/⁄:.-][0-9]|[0-9][ \u00a0]?[a-zA-Zа-яА-Я万亿千百^]|frac")
_AND_HALF = pattern(r" (?:and (?:a|one)[ -]half|с половиной)\b")


def _give(given: Given, written: str, *values: Fraction) -> None:
    for value in values:
        given.setdefault(value.numerator if value.denominator == 1 else value, written)


def _give_digits(text: str, number: Number, given: Given) -> None:
    """Add a number in digits, and its components: `1/3`, `3:30`, `-5`, `1.5 million`, `20%`."""
    written = text[number.start : number.end]
    value = number.value
    if value is not None:
        _give(given, written, value)
        if value.numerator < 0:
            _give(given, written, -value)
        if number.percent or _PERCENT.match(text, number.end):
            _give(given, written, value / 100, F(100))
    if not written.isdigit() and (value is None or _BROKEN.search(written)):
        pieces = (exact(piece.rstrip(".,")) for piece in re.findall(r"[0-9][0-9.,]*", written[:200]))
        _give(given, written, *(piece for piece in pieces if piece is not None))


def _give_words(text: str, known: Sequence[re.Match[str]], counted: Sequence[Number | Word], given: Given) -> None:
    """Add the numbers in words, the multiples and the parts; `known` are the candidate words."""
    ends = {count.end: count for count in counted if count.value is not None}
    for word in counted:
        if isinstance(word, Word):
            _give(given, text[word.start : word.end], word.value)
            if _PERCENT.match(text, word.end):
                _give(given, text[word.start : word.end], word.value / 100, F(100))
    for match in known:
        written = match[0]
        if written in _SENSES:
            _give(given, written, *_SENSES[written])
            if written == "dozen" and text.endswith(("half a ", "half "), match.start() - 7, match.start()):
                _give(given, "half a dozen", F(6))
        elif written in _PARTS:
            part = F(1, _PARTS[written])
            _give(given, written, part, 1 / part)
            count = ends.get(match.start() - 1)
            if count is not None and count.value is not None and count.value < 1000:
                _give(given, text[count.start : match.end()], count.value * part)
    if "half" in text or "половин" in text:
        _give_halves(text, ends, given)


def _give_halves(text: str, ends: Mapping[int, Number | Word], given: Given) -> None:
    """Add `two and a half`, `an hour and a half`, `две с половиной`."""
    for match in _AND_HALF.finditer(text):
        count = ends.get(match.start())
        if count is not None and count.value is not None:
            _give(given, text[count.start : match.end()], count.value + _HALF)
        elif re.search(r"\ban? [a-z]+$", text[max(0, match.start() - 20) : match.start()]):
            _give(given, match[0].strip(), F(3, 2))


def _divided(fraction: re.Match[str]) -> tuple[Fraction, Fraction]:
    """Return the denominator and the numerator of a Chinese fraction."""
    under, over = (F(int(g[:20])) if g[0].isdigit() else _han_value(g[:40]) for g in fraction.groups())
    return under, over


def _give_han(text: str, given: Given) -> None:
    for match in _HAN_FRACTION.finditer(text):
        under, over = _divided(match)
        _give(given, match[0], under, over)
        if under:
            _give(given, match[0], over / under)
    for match in _AND_A_HALF.finditer(text):
        count = F(int(match[1][:20])) if match[1][0].isdigit() else _han_value(match[1][:40])
        _give(given, match[0], count + _HALF)
    for word in han(text):
        _give(given, text[word.start : word.end], word.value)
    for word_form, values in (
        (r"半", (F(2), _HALF)), (r"双|雙|翻[了]?[一]?[番倍]|加倍|翻倍|一[对對]", (F(2),)),
        (r"(?<=[一二两三四五六七八九十几0-9 半])打", (F(12),)), (r"半打", (F(6),)),
    ):  # fmt: skip
        if sign := re.search(word_form, text):
            _give(given, sign[0], *values)
