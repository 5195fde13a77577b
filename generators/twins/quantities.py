"""The quantities that a question states in digits, and their possible replacements."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, floor, gcd
from typing import Annotated

from pydantic import BaseModel, ConfigDict, PlainValidator

from basic_control.generators._texts import by_language
from basic_control.generators.twins.base import Refused

NUMBER = re.compile(r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|(?<![0-9])\.[0-9]+")
LONGEST = 9  # digits of the longest number that is renewed
FORM = "a number in a form that is not renewed"
DATE = "a date or a time of day"
_YEAR = re.compile(r"[0-9]{4}")
_YEARS = (1500, 2100)
_GLUED = re.compile(
    r"(?!/[^\W\d_]|(?:kgs?|g|km|cm|mph|gb|mb|ml|oz|lbs?|ft|min|hrs?)\b)[\w#^°−–/\\_*=×]", re.IGNORECASE
)
_NEGATIVE = re.compile(r"(?:^|[\s($])[-−–]\$?\Z")
_RANGE = re.compile(r"[-–−]\s?\$?[0-9]")
_TIME = re.compile(r":[0-9]{2}(?![0-9])")
_OVER = re.compile(r"[0-9]+/\Z")
_UNDER = re.compile(r"/[0-9]+")
_PERCENT = re.compile(r" ?(?:%|percent\b|процент)")
_MONEY = "$€£¥₽"
SMALL = 12  # up to here a number of a calculation may also count named things: sides, people, days


LANGUAGES = ("en", "ru")  # the languages in which numbers are renewed

Words = tuple[str, ...]
Exact = Annotated[Fraction, PlainValidator(lambda value: Fraction(str(value)))]


class Bound(BaseModel):
    """The largest number, or result, possible before some words, in texts with others; `twins.yaml` says more."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    most: int
    before: Words
    where: Words = ()
    results: bool = False

    def holds(self, text: str) -> bool:
        """Return whether a text mentions what is bounded."""
        return not self.where or whole(self.where).search(text) is not None


class Wording(BaseModel):
    """A language's words that decide whether numbers may be renewed; `twins.yaml` documents each list."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    constants: Mapping[Exact, Words]
    cardinals: Mapping[str, int]
    ordinals: Mapping[str, int]
    again: Mapping[int, Words]
    bounds: tuple[Bound, ...]
    facts: Words
    refused: Mapping[str, tuple[Words, ...]]
    months: Words

    def counted(self, text: str) -> set[int]:
        """Return the values of the cardinals in a text."""
        return {value for word, value in self.cardinals.items() if whole((word,)).search(text)}

    def most(self, text: str, start: int, value: Fraction) -> Fraction:
        """Return the largest allowed replacement of a number that ends at `start`; 0 for any."""
        found = [one for one in self.bounds if following(one.before).match(text, start) and one.holds(text)]
        return max(value, Fraction(min(one.most for one in found))) if found else Fraction(0)

    def highest(self, text: str) -> int:
        """Return the largest result that a text can have if its original has no larger one; 0 for any."""
        found = [one for one in self.bounds if one.results and one.holds(text)]
        said = [
            one.most for one in found if re.search(f"[0-9]{following(one.before).pattern}", text, re.IGNORECASE)
        ]
        return min(said, default=0)

    def refuse(self, text: str) -> None:
        """Refuse a text whose facts depend on more than its numbers.

        Raises:
            Refused: with the kind of the words.
        """
        for reason, groups in self.refused.items():
            if all(whole(words).search(text) for words in groups):
                raise Refused(reason)
        months = "|".join(self.months)
        if re.search(rf"\b(?:{months})\.? [0-9]|[0-9] (?:of )?(?:{months})\b", text, re.IGNORECASE):
            raise Refused(DATE)


@cache
def whole(words: Words) -> re.Pattern[str]:
    """Match any of the words in either case, with or without a plural s; an asterisk matches any ending."""
    given = {*words}
    listed = "|".join(
        re.escape(word).replace(r"\*", r"[^\W_]*") for word in sorted(given - {"%"}, key=len, reverse=True)
    )
    sign = "%|" if "%" in given else ""
    return re.compile(rf"{sign}(?<![^\W_])(?:{listed})s?(?![^\W_])", re.IGNORECASE)


@cache
def following(words: Words) -> re.Pattern[str]:
    """Match the words after a number, in either case."""
    listed = "|".join(sorted((re.escape(word).replace(r"\ ", "[ -]") for word in words), key=len, reverse=True))
    return re.compile(rf"[ -]*(?:{listed})(?![^\W_])", re.IGNORECASE)


_wording = by_language(Wording, "twins")


def wording(language: str) -> Wording:
    """Return a language's words.

    Raises:
        Refused: numbers are not renewed in this language.
    """
    if language not in LANGUAGES:
        raise Refused("a language without rules for numbers")
    return _wording(language)


@dataclass(frozen=True, slots=True)
class TracedMention:
    """A number in a question: its value, and how it is written.

    `share`: numerator or denominator of a fraction. `most`: the largest allowed there, 0 for any. `fact`: it is a
    fact of the world, such as a dog's 4 legs.
    """

    value: Fraction
    decimals: int
    percent: bool
    share: bool
    most: Fraction
    fact: bool


def mentions(text: str, words: Wording) -> list[TracedMention]:
    """Read the numbers of a question.

    Raises:
        Refused: a number is a date, a time, a label, a fact of the world, or written so that it cannot be renewed.
    """
    found = [_mention(text, match, words) for match in NUMBER.finditer(text)]
    if any(one.isdigit() and not one.isascii() for one in text):
        raise Refused(FORM)
    return found


def _mention(text: str, match: re.Match[str], words: Wording) -> TracedMention:
    before, after = text[: match.start()], text[match.end() :]
    over = re.match(r"/[0-9]+(?![\w/.,]*[0-9/])", after) and not re.search(r"[\w./]\Z", before)
    share = bool(over or re.search(r"(?<![\w./])[0-9]+/\Z", before))
    _check_form(*((_OVER.sub("", before), _UNDER.sub("", after)) if share else (before, after)))
    value = number(match[0])
    digits, _, decimals = match[0].replace(",", "").partition(".")
    if len(digits) > LONGEST:
        raise Refused(FORM)
    if _YEAR.fullmatch(match[0]) and _YEARS[0] <= value <= _YEARS[1] and before[-1:] not in _MONEY:
        raise Refused(DATE)
    return TracedMention(
        value,
        len(decimals),
        percent=_PERCENT.match(after) is not None,
        share=share,
        most=words.most(text, match.end(), value),
        fact=following(words.facts).match(after) is not None,
    )


def _check_form(before: str, after: str) -> None:
    """Refuse a number that is glued to something else, negative, the end of a range, a ratio or a time."""
    ranged = _RANGE.match(after) or re.search(r"[0-9]\s?[-–−]\s?\$?\Z", before)
    clock = _TIME.match(after) or re.search(r"[0-9]:\Z", before)
    glued = _GLUED.match(after) or _GLUED.search(before[-1:]) or re.search(r"[0-9][.,:]\Z", before)
    mixed = re.match(r"\s[0-9]+/[0-9]", after) or re.search(r"[0-9]\s\Z", before)
    if clock:
        raise Refused(DATE)
    if ranged or glued or mixed or _NEGATIVE.search(before) or re.match(r"[.,:][0-9]|\s[xX×]\s", after):
        raise Refused(FORM)


@dataclass(frozen=True, slots=True)
class Quantity:
    """All equal numbers of a question, which stay equal."""

    value: Fraction
    mentions: tuple[TracedMention, ...]

    @property
    def scale(self) -> str:
        """The class that it can be compared within: other percentages, other parts of fractions, other amounts."""
        if any(one.percent for one in self.mentions):
            return "percent"
        return "share" if any(one.share for one in self.mentions) else ""

    def domain(self, language: str) -> list[Fraction]:
        """Return possible replacements: as many digits, about the same size, as round, of the same kind."""
        unit = 10 ** max(one.decimals for one in self.mentions)
        size = self.value * unit
        step = _step(int(size))
        most = min((one.most for one in self.mentions if one.most), default=Fraction(0))
        low, high = (2, _SINGLE) if size <= _SINGLE and unit == 1 else (ceil(size / 2), floor(size * 2))
        drawn = (Fraction(n, unit) for n in range(-(-low // step) * step, high + 1, step))
        own = kind(self.value), _plural(self.value, language)
        alike = [one for one in drawn if (kind(one), _plural(one, language)) == own and not 0 < most < one]
        return [one for one in alike if one not in {1, self.value}]


_SINGLE = 9


def _step(size: int) -> int:
    """Return the step by which a number may change so that it stays as round as it is."""
    if size < 10 or size % 5:  # noqa: PLR2004 - the decimal system
        return 1
    zeros = len(str(size)) - len(str(size).rstrip("0"))
    if not zeros:
        return 25 if size % 25 == 0 and size >= 100 else 5  # noqa: PLR2004 - quarters of a hundred
    whole = int(10**zeros)
    return whole if size >= 10 * whole else whole // 2


def _plural(value: Fraction, language: str) -> int:
    """Return the index of the noun form that agrees with a number."""
    if language != "ru" or value.denominator != 1:
        return 0
    if value % 10 == 1 and value % 100 != 11:  # noqa: PLR2004 - Russian counts by the last digits
        return 1
    return 2 if value % 10 in {2, 3, 4} and value % 100 not in {12, 13, 14} else 3


def quantities(found: Sequence[TracedMention]) -> tuple[Quantity, ...]:
    """Group the numbers of a question by their value, in order."""
    values = dict.fromkeys(one.value for one in found)
    return tuple(Quantity(value, tuple(one for one in found if one.value == value)) for value in values)


def lowest_terms(found: Sequence[TracedMention], new: Mapping[Fraction, Fraction]) -> bool:
    """Return whether every fraction of a question is in lowest terms."""
    parts = [new[one.value] for one in found if one.share]
    return all(gcd(int(over), int(under)) == 1 for over, under in zip(parts[::2], parts[1::2], strict=False))


def number(text: str) -> Fraction:
    """Convert a number matched by `NUMBER`."""
    return Fraction(text.replace(",", ""))


def kind(value: Fraction) -> tuple[object, ...]:
    """Return what a number and its replacement share: sign, whole or not, below one or not, digits."""
    return value > 0, value < 0, -1 < value < 1, value.denominator == 1, len(str(int(abs(value))))


def places(value: Fraction) -> int:
    """Return a number's count of decimals if it is at most `LONGEST`; else one more than that."""
    return next((n for n in range(LONGEST + 1) if (value * 10**n).denominator == 1), LONGEST + 1)


def written(value: Fraction, like: str = "") -> str:
    """Write a number like the one that it replaces: its commas, and its decimals, or more if needed.

    Raises:
        Refused: its decimal expansion is infinite.
    """
    if places(value) > LONGEST:
        raise Refused("a result that changes its kind")
    decimals = max(places(value), len(like.partition(".")[2]))
    whole, part = divmod(int(abs(value) * 10**decimals), 10**decimals)
    head = f"{whole:,}" if "," in like else str(whole)
    return ("-" if value < 0 else "") + head + (f".{part:0{decimals}}" if decimals else "")
