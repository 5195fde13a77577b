# ruff: noqa: PLR2004, SIM905 - place values are not magic here, and word lists read best as running text
"""Numbers written in words, in English, Russian and Chinese; and all the numbers that a question gives."""

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from operator import attrgetter
from typing import NamedTuple

from basic_control.data.beside import read_beside
from basic_control.data.numerals import Number, find_negative_word, find_numbers, narrow_digits, parse_number
from basic_control.data.patterns import pattern

F = Fraction
_HALF = F(1, 2)


class Word(NamedTuple):
    """A cardinal in a text: its value and its span."""

    value: Fraction
    start: int
    end: int


def _index_words(words_by_value: Mapping[int, str]) -> dict[str, int]:
    """Return the value of each word, from texts of the words that have a value."""
    return {word: value for value, words in words_by_value.items() for word in words.split()}


_WORDS = read_beside(__file__)
_CARDINALS = _index_words(_WORDS["cardinals"])
_PARTS = _index_words(_WORDS["parts"])
_SENSES: dict[str, tuple[Fraction, ...]] = {}
for _sense in _WORDS["senses"]:
    _SENSES |= dict.fromkeys(_sense["words"].split(), tuple(map(F, _sense["given"])))
_PREFIX: Mapping[str, int] = _WORDS["prefixes"]
_KNOWN = frozenset((*_CARDINALS, *_SENSES, *_PARTS))
# A number inside a Russian word: двухлетний, трёхкилограммовый.
_COMPOUND = pattern(
    rf"\b({'|'.join(_PREFIX)})(?:летн|дневн|часов|недельн|месячн|минутн|секундн|этажн|местн|процентн|комнатн|литров|"
    r"метров|грамм|килограмм|рублев|доллар|центов|страничн|кратн|звенн|угольн|ярусн|колесн|ряд)"
)
_WORD = pattern(r"[a-z]+|[а-я]+")  # in lower case, without ё
# Between the words of one cardinal: twenty-five, двадцать пять.
_JOIN = pattern(r"[ \u00a0\n]*[-‐‑–]?[ \u00a0\n]*")
_JOIN_AND = pattern(r"[ \u00a0\n]*\band\b[ \u00a0\n]*")


def find_words(text: str) -> list[Word]:
    """Find the English and Russian cardinals of a text, compound ones as one: `twenty-five`, `двадцати пяти`.

    Source: ours.
    """
    lowered = text.lower().replace("ё", "е")
    return _group_words(lowered, [match for match in _WORD.finditer(lowered) if match[0] in _CARDINALS])


def _group_words(lowered: str, cardinals: Sequence[re.Match[str]]) -> list[Word]:
    out: list[Word] = []
    group: list[re.Match[str]] = []
    for match in cardinals:
        if group and not _continues(lowered, group, match):
            out.append(_join_words(group))
            group = []
        group.append(match)
    if group:
        out.append(_join_words(group))
    return out


def _continues(text: str, group: Sequence[re.Match[str]], match: re.Match[str]) -> bool:
    """Return whether the next word continues a cardinal."""
    last, value = _CARDINALS[group[-1][0]], _CARDINALS[match[0]]
    gap = text[group[-1].end() : match.start()]
    if _JOIN_AND.fullmatch(gap):
        return last >= 100 and value < 100 and last != value
    if not _JOIN.fullmatch(gap) or len(group) > 12:
        return False
    # `two hundred thousand`, `hundred and five`, `twenty five`: what may follow what.
    if value >= 1000 or value == 100:
        return last not in {value, 0}
    if last >= 100:
        return last >= 1000 or value < 100
    return last >= 20 and last % 10 == 0 and 0 < value < 10


def _join_words(group: Sequence[re.Match[str]]) -> Word:
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
# Numerals that count nothing: the 一 of 一起, 统一; the 百分 of 百分之 is a fraction's.
_NOT_COUNTED = pattern(
    r"一(?:起|些|样|樣|共|直|下|般|定|边|邊|旦|切|致|律|度|向|再|方面|会儿|點|点)|[统同唯万单]一|十(?:足|字)|十分(?![钟鐘之])"
    r"|百(?:货|貨|分(?!之))|千(?:克|米|瓦|卡|万别)|(?<=[0-9])[十百千万萬亿億]+|[三四]明治"
)
# 三分之二, with the denominator first.
_HAN_FRACTION = pattern(
    r"([零〇一二两三四五六七八九十百千万]{1,20}|[0-9]{1,20})分之([零〇一二两三四五六七八九十百千万]{1,20}|[0-9]{1,20})"
)
_AND_A_HALF = pattern(r"([零〇一二两三四五六七八九十百千]{1,20}|[0-9]{1,20})[个個]半")


def _parse_han(run: str) -> Fraction:
    """Parse a Chinese numeral; consecutive digits are read as digits (`二〇二四`)."""
    if _DIGITS.keys() >= {*run}:
        return F(int("".join(str(_DIGITS[c]) for c in run[:20])))
    total, section, digit = 0, 0, 0
    unit = 10
    for c in run:
        if c in _DIGITS:
            digit = _DIGITS[c]
            if c in "零〇":
                unit = 10
        elif c in _UNITS:
            section += (digit or 1) * _UNITS[c]
            unit, digit = _UNITS[c], 0
        else:
            unit = _MYRIADS[c]
            # 亿 multiplies all before it, 万 only its own section.
            if unit > 10**4:
                total = (total + section + digit or 1) * unit
            else:
                total += (section + digit or 1) * unit
            section, digit = 0, 0
        if total > 10**40:
            return F(total)
    if digit and unit > 10 and run[-2] not in "零〇":  # 一百二 is 120
        digit *= unit // 10
    return F(total + section + digit)


def find_han(text: str) -> list[Word]:
    """Find the Chinese cardinals of a text: `一百二十`, `两`, `三万五`; not the `一` of `一起`.

    Source: ours.
    """
    skipped = _list_positions(map(re.Match.span, _NOT_COUNTED.finditer(text)))
    runs = [match for match in _HAN.finditer(text) if match.start() not in skipped]
    return [Word(_parse_han(match[0]), *match.span()) for match in runs if len(match[0]) <= 40]


def _list_positions(spans: Iterable[tuple[int, int]]) -> set[int]:
    """Return the positions inside these spans."""
    return {position for start, end in spans for position in range(start, end)}


_NOT_NOUNS = frozenset(
    """of is was are were who that which can could should would will has had have by more another and or at in on to
    from than as could day time thing out for with
    из в на с и или раз день что это не""".split()
)
"""Words before which `one` is a pronoun or part of a phrase."""
# What makes a following `one` a pronoun: `this `, `every-`.
_PRONOUN = pattern(r"(?<![a-zа-я])(?:no|any|every|each|some|this|that|the|another|which|ни|не)[ -]$")
# The next word, or a part behind a hyphen: ` dozen`, `-thirds`.
_NEXT = pattern(
    r"[ \u00a0]([a-zа-я]+)|-((?<=one-)third|thirds|hal(?:f|ves)|quarters?|(?:four|fif|six|eigh|ten)ths)\b"
)
_DOZENS = frozenset(("dozen", "дюжин", "дюжины", "дюжина"))
_ONES = frozenset(word for word, value in _CARDINALS.items() if value == 1)
_LONGEST = 1_000
"""Characters of a sentence searched for numbers in words."""


def find_worded(text: str) -> list[Number]:
    """Find the numbers that a sentence states in words, as `find_numbers` does for digits.

    `one` counts before a noun only: not in `one of them`. `two dozen` is 24, `two and a half` 2.5.

    Source: ours (SPEC 3).
    """
    lowered = text[:_LONGEST].lower().replace("ё", "е")
    stated = [_measure_word(lowered, word) for word in find_words(lowered) if not _is_pronoun(lowered, word)]
    if not text.isascii() and _HAN_ANY.search(lowered):
        stated += [number for number in _find_stated_han(lowered) if lowered[number.start : number.end] != "一"]
    signed = [_sign_number(lowered, number) for number in stated]
    return sorted(signed, key=attrgetter("start"))


def _find_stated_han(text: str) -> list[Number]:
    """Return the Chinese numbers of a text, fractions as one: `三分之二`; a percentage (`百分之五`) is 5."""
    fractions: list[Number] = []
    for match in _HAN_FRACTION.finditer(text):
        under, over = _split_fraction(match)
        if under:
            value = over if under == 100 else over / under
            fractions.append(Number(value, *match.span()))
    inside = _list_positions((number.start, number.end) for number in fractions)
    return [*fractions, *(Number(*word) for word in find_han(text) if word.start not in inside)]


def _sign_number(text: str, number: Number) -> Number:
    start = find_negative_word(text, number.start)
    if start is None:
        return number
    return number._replace(value=-(number.value or F(0)), start=start)


def _is_pronoun(text: str, word: Word) -> bool:
    """Return whether a number in words is a `one` that counts nothing: `one of them`, `this one`."""
    after = _NEXT.match(text, word.end)
    return text[word.start : word.end] in _ONES and (
        after is None
        or after[1] in _NOT_NOUNS
        or _PRONOUN.search(text[max(0, word.start - 10) : word.start]) is not None
    )


def _measure_word(text: str, word: Word) -> Number:
    """Return a number in words with a following dozen, part or half."""
    after = _NEXT.match(text, word.end)
    if after:
        next_word = after[1] or after[2]
        if next_word in _DOZENS:
            return Number(word.value * 12, word.start, after.end())
        if next_word in _PARTS:
            return Number(word.value / _PARTS[next_word], word.start, after.end())
    half = _AND_HALF.match(text, word.end)
    if half:
        return Number(word.value + _HALF, word.start, half.end())
    return Number(*word)


def parse_spelled(text: str) -> Fraction | None:
    """Return the single number in words in a short text; None if there is none, or more than one.

    Source: ours.
    """
    lowered = text[:200].lower().replace("ё", "е")
    stated = [_measure_word(lowered, word) for word in find_words(lowered)]
    if _HAN_ANY.search(lowered):
        stated += _find_stated_han(lowered)
    values = {_sign_number(lowered, number).value for number in stated}
    return values.pop() if len(values) == 1 else None


def list_given_numbers(text: str) -> dict[int | Fraction, str]:
    """Return the numbers that a question gives, each with the words that give it; whole ones are ints.

    Digits; cardinals in words (English; Russian in every case; Chinese); twice, double, pair and couple 2; half 2
    and 1/2; thrice and triple 3; third 3 and 1/3 (and so with every part: quarter, fifth, …; `two thirds` gives
    2/3 too); dozen 12; `20%` 20, 0.2 and 100; the like in Russian (вдвое, половина, треть, четверть, полтора,
    дюжина, процентов) and Chinese (半, 倍, 三分之一, 百分之二十, 打). A fraction or a time of day gives its parts
    too: `3/4` gives 3 and 4, `3:30` 3 and 30.

    Source: SPEC 3 (seed 004).
    """
    text = narrow_digits(text)
    values: GivenNumbers = {}
    in_digits = find_numbers(text)
    for number in in_digits:
        _add_digits(text, number, values)
    lowered = text.lower().replace("ё", "е")
    # Few texts have numbers in words, and to look for words alone is faster than for their positions.
    if not _KNOWN.isdisjoint(_WORD.findall(lowered)):
        candidates = [match for match in _WORD.finditer(lowered) if match[0] in _KNOWN]
        scaled = {number.end for number in in_digits}  # the million of 1.5 million
        cardinals = _group_words(lowered, [match for match in candidates if match[0] in _CARDINALS])
        counted = [word for word in cardinals if word.end not in scaled]
        _add_words(lowered, candidates, [*in_digits, *counted], values)
    if not text.isascii():
        for match in _COMPOUND.finditer(lowered):
            _add_values(values, match[0], F(_PREFIX[match[1]]))
        if _HAN_ANY.search(text):
            _add_han(text, values)
    return values


GivenNumbers = dict[int | Fraction, str]
_PERCENT = pattern(r"[ \u00a0-]*(?:percent|per cent|процент|проц\.|个百分点)")
# A number of several parts: 3/4, 3:30, 1.5 million.
_BROKEN = pattern(r"[0-9][/⁄:.-][0-9]|[0-9][ \u00a0]?[a-zA-Zа-яА-Я万亿千百^]|frac")
_AND_HALF = pattern(r" (?:and (?:a|one)[ -]half|с половиной)\b")


def _add_values(values: GivenNumbers, written: str, *extra: Fraction) -> None:
    for value in extra:
        values.setdefault(value.numerator if value.denominator == 1 else value, written)


def _add_digits(text: str, number: Number, values: GivenNumbers) -> None:
    """Add a number in digits, and its components: `1/3`, `3:30`, `-5`, `1.5 million`, `20%`."""
    written = text[number.start : number.end]
    value = number.value
    if value is not None:
        _add_values(values, written, value)
        if value.numerator < 0:
            _add_values(values, written, -value)
        if number.percent or _PERCENT.match(text, number.end):
            _add_values(values, written, value / 100, F(100))
    if not written.isdigit() and (value is None or _BROKEN.search(written)):
        for piece in re.findall(r"[0-9][0-9.,]*", written[:200]):
            part = parse_number(piece.rstrip(".,"))
            if part is not None:
                _add_values(values, written, part)


def _add_words(
    text: str, candidates: Sequence[re.Match[str]], counted: Sequence[Number | Word], values: GivenNumbers
) -> None:
    """Add the numbers in words, the multiples and the parts; `candidates` are the words that may be any."""
    ends = {count.end: count for count in counted if count.value is not None}
    for word in counted:
        if isinstance(word, Word):
            _add_values(values, text[word.start : word.end], word.value)
            if _PERCENT.match(text, word.end):
                _add_values(values, text[word.start : word.end], word.value / 100, F(100))
    # Words that are no cardinals: twice, dozen, third.
    for match in candidates:
        written = match[0]
        if written in _SENSES:
            _add_values(values, written, *_SENSES[written])
            if written == "dozen" and text.endswith(("half a ", "half "), match.start() - 7, match.start()):
                _add_values(values, "half a dozen", F(6))
        elif written in _PARTS:
            part = F(1, _PARTS[written])
            _add_values(values, written, part, 1 / part)
            count = ends.get(match.start() - 1)
            if count is not None and count.value is not None and count.value < 1000:
                _add_values(values, text[count.start : match.end()], count.value * part)
    if "half" in text or "половин" in text:
        _add_halves(text, ends, values)


def _add_halves(text: str, ends: Mapping[int, Number | Word], values: GivenNumbers) -> None:
    """Add `two and a half`, `an hour and a half`, `две с половиной`."""
    for match in _AND_HALF.finditer(text):
        count = ends.get(match.start())
        if count is not None and count.value is not None:
            _add_values(values, text[count.start : match.end()], count.value + _HALF)
        elif re.search(r"\ban? [a-z]+$", text[max(0, match.start() - 20) : match.start()]):
            _add_values(values, match[0].strip(), F(3, 2))


def _split_fraction(fraction: re.Match[str]) -> tuple[Fraction, Fraction]:
    """Return the denominator and the numerator of a Chinese fraction."""
    return _parse_digits(fraction[1]), _parse_digits(fraction[2])


def _parse_digits(run: str) -> Fraction:
    """Parse digits of either kind."""
    if run[0].isdigit():
        return F(int(run[:20]))
    return _parse_han(run[:40])


def _add_han(text: str, values: GivenNumbers) -> None:
    for match in _HAN_FRACTION.finditer(text):
        under, over = _split_fraction(match)
        _add_values(values, match[0], under, over)
        if under:
            _add_values(values, match[0], over / under)
    for match in _AND_A_HALF.finditer(text):
        _add_values(values, match[0], _parse_digits(match[1]) + _HALF)
    for word in find_han(text):
        _add_values(values, text[word.start : word.end], word.value)
    # Half, double, a dozen, half a dozen.
    for form, multiples in (
        (r"半", (F(2), _HALF)), (r"双|雙|翻[了]?[一]?[番倍]|加倍|翻倍|一[对對]", (F(2),)),
        (r"(?<=[一二两三四五六七八九十几0-9 半])打", (F(12),)), (r"半打", (F(6),)),
    ):  # fmt: skip
        match = re.search(form, text)
        if match:
            _add_values(values, match[0], *multiples)
