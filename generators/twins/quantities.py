"""The quantities that a question states in digits, and what others may stand in their place."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, gcd

from generators.twins.base import Refused
from generators.twins.wording import DATE, Wording, following

NUMBER = re.compile(r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|(?<![0-9])\.[0-9]+")
LONGEST = 9
"""Digits of the longest number that is renewed."""
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
SMALL = 12
"""Up to here a number of a calculation may as well count what the text names: sides, people, days."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A number in a question: its value, its span, and how it is written.

    `share`: numerator or denominator of a fraction. `most`: the largest that may stand there, 0 for any. `fact`: it
    is so in the world, as a dog's 4 legs are.
    """

    value: Fraction
    start: int
    end: int
    decimals: int
    commas: bool
    percent: bool
    share: bool
    most: Fraction
    fact: bool


def mentions(text: str, words: Wording) -> list[Mention]:
    """Read the numbers of a question.

    Raises:
        Refused: a number is a date, a time, a label, a fact of the world, or written so that it cannot be renewed.
    """
    found = []
    end = 0
    for match in NUMBER.finditer(text):
        if match.start() < end:
            continue
        found.append(_mention(text, match, words))
        end = match.end()
    if any(character.isdigit() and not character.isascii() for character in text):
        raise Refused("a number in a form that is not renewed")
    return found


def _mention(text: str, match: re.Match[str], words: Wording) -> Mention:
    before, after = text[: match.start()], text[match.end() :]
    written = match[0]
    share = _fraction(before, after)
    _check_form(*((_OVER.sub("", before), _UNDER.sub("", after)) if share else (before, after)))
    value = Fraction(written.replace(",", ""))
    digits, _, decimals = written.replace(",", "").partition(".")
    percent = _PERCENT.match(after) is not None
    if len(digits) > LONGEST:
        raise Refused("a number in a form that is not renewed")
    bare = "," not in written and not decimals and before[-1:] not in _MONEY
    if bare and len(digits) == 4 and _YEARS[0] <= value <= _YEARS[1]:  # noqa: PLR2004 - a year's digits
        raise Refused(DATE)
    return Mention(
        value, match.start(), match.end(), len(decimals), "," in written, percent, share,
        words.most(text, match.end(), value), following(words.facts).match(after) is not None,
    )  # fmt: skip


def _fraction(before: str, after: str) -> bool:
    """Say whether a number is a part of a plain fraction, `3/4`."""
    over = re.match(r"/[0-9]+(?![\w/.,]*[0-9/])", after) is not None and not re.search(r"[\w./]\Z", before)
    under = re.search(r"(?<![\w./])[0-9]+/\Z", before) is not None
    return over or under


def _check_form(before: str, after: str) -> None:
    """Refuse a number that is glued to something else, negative, the end of a range, a ratio or a time."""
    ranged = _RANGE.match(after) or re.search(r"[0-9]\s?[-–−]\s?\$?\Z", before)
    clock = _TIME.match(after) or re.search(r"[0-9]:\Z", before)
    glued = _GLUED.match(after) or _GLUED.search(before[-1:]) or re.search(r"[0-9][.,:]\Z", before)
    mixed = re.match(r"\s[0-9]+/[0-9]", after) or re.search(r"[0-9]\s\Z", before)
    if clock:
        raise Refused(DATE)
    if ranged or glued or mixed or _NEGATIVE.search(before) or re.match(r"[.,:][0-9]|\s[xX×]\s", after):
        raise Refused("a number in a form that is not renewed")


@dataclass(frozen=True, slots=True)
class Quantity:
    """What all equal numbers of a question stand for: equal numbers stay equal."""

    value: Fraction
    mentions: tuple[Mention, ...]

    @property
    def fixed(self) -> bool:
        """Whether it stays: nothing; one, with which the words around it agree; a fact of the world."""
        return self.value in {0, 1} or any(one.fact for one in self.mentions)

    @property
    def percent(self) -> bool:
        """Whether it is stated as a percentage."""
        return any(one.percent for one in self.mentions)

    @property
    def scale(self) -> str:
        """What it can be compared with: other percentages, other parts of fractions, other amounts."""
        if self.percent:
            return "percent"
        return "share" if any(one.share for one in self.mentions) else ""

    def domain(self, language: str) -> list[Fraction]:
        """Return what may stand in its place: as many digits, of about its size, as round, of its kind."""
        decimals = max(one.decimals for one in self.mentions)
        unit = 10**decimals
        size = self.value * unit
        step = _step(int(size))
        most = min((one.most for one in self.mentions if one.most), default=Fraction(0))
        low, high = ceil(size / 2), floor(size * 2)
        if size <= _SINGLE and not decimals:
            low, high = 2, _SINGLE
        found = []
        for n in range(-(-low // step) * step, high + 1, step):
            value = Fraction(n, unit)
            alike = (
                len(str(int(value))) == len(str(int(self.value)))
                and (value.denominator == 1) == (self.value.denominator == 1)
                and (value < 1) == (self.value < 1)
                and (value > 1) == (self.value > 1)
                and not (most and value > most)
            )
            if alike and value != self.value and _plural(value, language) == _plural(self.value, language):
                found.append(value)
        return found


_SINGLE = 9


def _step(size: int) -> int:
    """Return by how much a number may move so that it stays as round as it is."""
    if size < 10 or size % 5:  # noqa: PLR2004 - the decimal system
        return 1
    zeros = len(str(size)) - len(str(size).rstrip("0"))
    if not zeros:
        return 25 if size % 25 == 0 and size >= 100 else 5  # noqa: PLR2004 - quarters of a hundred
    whole = int(10**zeros)
    return whole if size >= 10 * whole else whole // 2


def _plural(value: Fraction, language: str) -> int:
    """Return the form of a noun that agrees with a number."""
    if language != "ru" or value.denominator != 1:
        return 0
    number = int(value)
    if number % 10 == 1 and number % 100 != 11:  # noqa: PLR2004 - Russian counts by the last digits
        return 1
    return 2 if number % 10 in {2, 3, 4} and number % 100 not in {12, 13, 14} else 3


def quantities(found: Sequence[Mention]) -> list[Quantity]:
    """Group the numbers of a question by their value, in order."""
    by_value: dict[Fraction, list[Mention]] = {}
    for one in found:
        by_value.setdefault(one.value, []).append(one)
    return [Quantity(value, tuple(listed)) for value, listed in by_value.items()]


def lowest_terms(found: Sequence[Mention], new: Mapping[Fraction, Fraction]) -> bool:
    """Say whether no fraction of a question could be reduced."""
    parts = [new[one.value] for one in found if one.share]
    return all(gcd(int(over), int(under)) == 1 for over, under in zip(parts[::2], parts[1::2], strict=False))


def written(value: Fraction, *, decimals: int = 0, commas: bool = False) -> str:
    """Write a number down, with as many decimals as there were, and more where it has more.

    Raises:
        Refused: it has no end.
    """
    scaled, places = value, 0
    while scaled.denominator != 1:
        scaled, places = scaled * 10, places + 1
        if places > LONGEST:
            raise Refused("a result that changes its kind")
    places = max(places, decimals)
    whole = str(abs(int(value * 10**places))).zfill(places + 1)
    head, tail = (whole[:-places], whole[-places:]) if places else (whole, "")
    head = f"{int(head):,}" if commas else head
    return ("-" if value < 0 else "") + head + (f".{tail}" if tail else "")
