"""The quantities that a question states in digits, and their possible replacements."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, floor, gcd
from operator import attrgetter
from typing import Annotated

from pydantic import BaseModel, ConfigDict, PlainValidator

from basic_control.generators._texts import by_language
from basic_control.generators.twins.base import Refused

# A number: "1,250", "12.50", ".5"
NUMBER = re.compile(r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|(?<![0-9])\.[0-9]+")
LONGEST = 9  # digits of the longest number that is renewed
FORM = "a number in a form that is not renewed"
DATE = "a date or a time of day"
# Four digits, as a year has: "1999"
_YEAR = re.compile(r"[0-9]{4}")
_YEARS = (1500, 2100)
# What makes a number a part of something else: "3rd", "#7"; a unit does not: "5kg"
_GLUED = re.compile(
    r"(?!/[^\W\d_]|(?:kgs?|g|km|cm|mph|gb|mb|ml|oz|lbs?|ft|min|hrs?)\b)[\w#^°−–/\\_*=×]", re.IGNORECASE
)
# What is before a negative number: " -"
_NEGATIVE = re.compile(r"(?:^|[\s($])[-−–]\$?\Z")
# The other end of a range: "-10" of "5-10"
_RANGE = re.compile(r"[-–−]\s?\$?[0-9]")
# The minutes of a time of day: ":30"
_TIME = re.compile(r":[0-9]{2}(?![0-9])")
# A numerator before its denominator: "3/"
_OVER = re.compile(r"[0-9]+/\Z")
# A denominator after its numerator: "/4"
_UNDER = re.compile(r"/[0-9]+")
# What follows a percentage: "%", " percent"
_PERCENT = re.compile(r" ?(?:%|percent\b|процент)")
_MONEY = "$€£¥₽"
SMALL = 12  # up to here a number of a calculation may also count named things: sides, people, days


LANGUAGES = ("en", "ru")  # the languages in which numbers are renewed

Words = tuple[str, ...]
Exact = Annotated[Fraction, PlainValidator(lambda value: Fraction(str(value)))]


class Bound(BaseModel):
    """The largest number, or result, possible before some words, in texts with others; `twins.yaml` says more."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    limit: int
    before: Words
    where: Words = ()
    results: bool = False

    def applies(self, text: str) -> bool:
        """Return whether a text mentions what is bounded."""
        return not self.where or compile_words(self.where).search(text) is not None

    def bounds_number(self, text: str, end: int) -> bool:
        """Return whether it bounds the number of a text that ends there."""
        return compile_next_words(self.before).match(text, end) is not None and self.applies(text)

    def bounds_results(self, text: str) -> bool:
        """Return whether it bounds a number of a text, and all results like it."""
        # A number and the words after it: "5 years old"
        pattern = f"[0-9]{compile_next_words(self.before).pattern}"
        return self.results and self.applies(text) and re.search(pattern, text, re.IGNORECASE) is not None


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

    def list_counts(self, text: str) -> set[int]:
        """Return the values of the cardinals in a text."""
        return {value for word, value in self.cardinals.items() if compile_words((word,)).search(text)}

    def limit_number(self, text: str, end: int, value: Fraction) -> Fraction:
        """Return the largest allowed replacement of a number that ends there; 0 for any."""
        limits = [bound.limit for bound in self.bounds if bound.bounds_number(text, end)]
        if not limits:
            return Fraction(0)
        return max(value, Fraction(min(limits)))

    def limit_results(self, text: str) -> int:
        """Return the largest result that a text can have if its original has no larger one; 0 for any."""
        return min((bound.limit for bound in self.bounds if bound.bounds_results(text)), default=0)

    def refuse(self, text: str) -> None:
        """Refuse a text whose facts depend on more than its numbers.

        Raises:
            Refused: with the kind of the words.
        """
        for reason, groups in self.refused.items():
            if all(compile_words(words).search(text) for words in groups):
                raise Refused(reason)
        # A day of a month: "May 3", "3 of May".
        months = "|".join(self.months)
        if re.search(rf"\b(?:{months})\.? [0-9]|[0-9] (?:of )?(?:{months})\b", text, re.IGNORECASE):
            raise Refused(DATE)


@cache
def compile_words(words: Words) -> re.Pattern[str]:
    """Return a pattern of any of the words in either case, also with a plural s; an asterisk matches any ending."""
    longest_first = sorted({*words} - {"%"}, key=len, reverse=True)
    alternatives = "|".join(re.escape(word).replace(r"\*", r"[^\W_]*") for word in longest_first)
    pattern = rf"(?<![^\W_])(?:{alternatives})s?(?![^\W_])"
    if "%" in words:
        pattern = f"%|{pattern}"
    return re.compile(pattern, re.IGNORECASE)


@cache
def compile_next_words(words: Words) -> re.Pattern[str]:
    """Return a pattern of the words after a number, in either case."""
    escaped = [re.escape(word).replace(r"\ ", "[ -]") for word in words]
    alternatives = "|".join(sorted(escaped, key=len, reverse=True))
    return re.compile(rf"[ -]*(?:{alternatives})(?![^\W_])", re.IGNORECASE)


_load_wording = by_language(Wording, "twins")


def wording(language: str) -> Wording:
    """Return a language's words.

    Raises:
        Refused: numbers are not renewed in this language.
    """
    if language not in LANGUAGES:
        raise Refused("a language without rules for numbers")
    return _load_wording(language)


@dataclass(frozen=True, slots=True)
class TracedMention:
    """A number in a question: its value, and how it is written.

    `share`: numerator or denominator of a fraction. `limit`: the largest allowed there, 0 for any. `fact`: it is a
    fact of the world, such as a dog's 4 legs.
    """

    value: Fraction
    decimals: int
    percent: bool
    share: bool
    limit: Fraction
    fact: bool


def mentions(text: str, words: Wording) -> list[TracedMention]:
    """Read the numbers of a question.

    Raises:
        Refused: a number is a date, a time, a label, a fact of the world, or written so that it cannot be renewed.
    """
    numbers = [_mention(text, match, words) for match in NUMBER.finditer(text)]
    if any(character.isdigit() and not character.isascii() for character in text):
        raise Refused(FORM)
    return numbers


def _mention(text: str, match: re.Match[str], words: Wording) -> TracedMention:
    before, after = text[: match.start()], text[match.end() :]
    # A part of a fraction is checked without the other part: "3/4 of".
    is_numerator = re.match(r"/[0-9]+(?![\w/.,]*[0-9/])", after) and not re.search(r"[\w./]\Z", before)
    is_share = bool(is_numerator or re.search(r"(?<![\w./])[0-9]+/\Z", before))
    if is_share:
        _check_form(_OVER.sub("", before), _UNDER.sub("", after))
    else:
        _check_form(before, after)
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
        share=is_share,
        limit=words.limit_number(text, match.end(), value),
        fact=compile_next_words(words.facts).match(after) is not None,
    )


def _check_form(before: str, after: str) -> None:
    """Refuse a number that is glued to something else, negative, the end of a range, a ratio or a time."""
    in_range = _RANGE.match(after) or re.search(r"[0-9]\s?[-–−]\s?\$?\Z", before)
    in_time = _TIME.match(after) or re.search(r"[0-9]:\Z", before)
    is_glued = _GLUED.match(after) or _GLUED.search(before[-1:]) or re.search(r"[0-9][.,:]\Z", before)
    # A mixed number: "2 1/2"
    is_mixed = re.match(r"\s[0-9]+/[0-9]", after) or re.search(r"[0-9]\s\Z", before)
    if in_time:
        raise Refused(DATE)
    if in_range or is_glued or is_mixed or _NEGATIVE.search(before) or re.match(r"[.,:][0-9]|\s[xX×]\s", after):
        raise Refused(FORM)


@dataclass(frozen=True, slots=True)
class Quantity:
    """All equal numbers of a question, which stay equal."""

    value: Fraction
    mentions: tuple[TracedMention, ...]

    @property
    def scale(self) -> str:
        """The class that it can be compared within: other percentages, other parts of fractions, other amounts."""
        if any(map(attrgetter("percent"), self.mentions)):
            return "percent"
        if any(map(attrgetter("share"), self.mentions)):
            return "share"
        return ""

    def domain(self, language: str) -> list[Fraction]:
        """Return possible replacements: as many digits, about the same size, as round, of the same kind."""
        unit = 10 ** max(map(attrgetter("decimals"), self.mentions))
        size = self.value * unit
        step = _step(int(size))
        low, high = ceil(size / 2), floor(size * 2)
        if size <= _SINGLE and unit == 1:
            low, high = 2, _SINGLE
        limit = min(filter(None, map(attrgetter("limit"), self.mentions)), default=Fraction(0))
        form = kind(self.value), _plural(self.value, language)
        domain = []
        for n in range(-(-low // step) * step, high + 1, step):
            value = Fraction(n, unit)
            if (
                value not in {1, self.value}
                and (kind(value), _plural(value, language)) == form
                and not 0 < limit < value
            ):
                domain.append(value)
        return domain


_SINGLE = 9


def _step(size: int) -> int:
    """Return the step by which a number may change so that it stays as round as it is."""
    if size < 10 or size % 5:  # noqa: PLR2004 - the decimal system
        return 1
    zeros = len(str(size)) - len(str(size).rstrip("0"))
    if not zeros and size % 25 == 0 and size >= 100:  # noqa: PLR2004 - quarters of a hundred
        return 25
    if not zeros:
        return 5
    power = int(10**zeros)
    return power if size >= 10 * power else power // 2


def _plural(value: Fraction, language: str) -> int:
    """Return the index of the noun form that agrees with a number."""
    if language != "ru" or value.denominator != 1:
        return 0
    if value % 10 == 1 and value % 100 != 11:  # noqa: PLR2004 - Russian counts by the last digits
        return 1
    return 2 if value % 10 in {2, 3, 4} and value % 100 not in {12, 13, 14} else 3


def quantities(numbers: Sequence[TracedMention]) -> tuple[Quantity, ...]:
    """Group the numbers of a question by their value, in order."""
    by_value: dict[Fraction, list[TracedMention]] = {}
    for mention in numbers:
        by_value.setdefault(mention.value, []).append(mention)
    return tuple(Quantity(value, tuple(group)) for value, group in by_value.items())


def in_lowest_terms(numbers: Sequence[TracedMention], replacements: Mapping[Fraction, Fraction]) -> bool:
    """Return whether every fraction of a question is in lowest terms."""
    parts = [replacements[mention.value] for mention in numbers if mention.share]
    return all(gcd(int(over), int(under)) == 1 for over, under in zip(parts[::2], parts[1::2], strict=False))


def number(text: str) -> Fraction:
    """Convert a number matched by `NUMBER`."""
    return Fraction(text.replace(",", ""))


def kind(value: Fraction) -> tuple[object, ...]:
    """Return what a number and its replacement share: sign, whole or not, below one or not, digits."""
    return value > 0, value < 0, -1 < value < 1, value.denominator == 1, len(str(int(abs(value))))


def places(value: Fraction) -> int:
    """Return a number's count of decimals if it is at most `LONGEST`; else one more than that."""
    for count in range(LONGEST + 1):
        if (value * 10**count).denominator == 1:
            return count
    return LONGEST + 1


def write_number(value: Fraction, like: str = "") -> str:
    """Write a number like the one that it replaces: its commas, and its decimals, or more if needed.

    Raises:
        Refused: its decimal expansion is infinite.
    """
    if places(value) > LONGEST:
        raise Refused("a result that changes its kind")
    decimals = max(places(value), len(like.partition(".")[2]))
    integer, part = divmod(int(abs(value) * 10**decimals), 10**decimals)
    text = str(integer)
    if "," in like:
        text = f"{integer:,}"
    if decimals:
        text += f".{part:0{decimals}}"
    return f"-{text}" if value < 0 else text
