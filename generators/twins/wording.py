"""Words by which a word problem's numbers may or may not be renewed, by language (texts/<language>/twins.yaml)."""

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Annotated

from pydantic import BaseModel, ConfigDict, PlainValidator

from generators._texts import read
from generators.twins.base import Refused

LANGUAGES = ("en", "ru")
"""The languages in which numbers are renewed."""

Words = tuple[str, ...]
Exact = Annotated[Fraction, PlainValidator(lambda value: Fraction(str(value)))]


class Bound(BaseModel):
    """What a number can be, or a result too, before some words, in texts with others; `twins.yaml` says more."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    most: int
    before: Words
    where: Words = ()
    results: bool = False

    def holds(self, text: str) -> bool:
        """Say whether a text speaks of what is bounded."""
        return not self.where or whole(self.where).search(text) is not None


class Wording(BaseModel):
    """A language's words; `twins.yaml` says of each list what it is for."""

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
        """Return the values of the cardinals that a text has."""
        return {value for word, value in self.cardinals.items() if whole((word,)).search(text)}

    def most(self, text: str, start: int, value: Fraction) -> Fraction:
        """Return the largest that may stand in the place of a number, which ends at `start`; 0 for any."""
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
        """Refuse a text whose facts hang on more than its numbers.

        Raises:
            Refused: with the kind of the words.
        """
        for reason, groups in self.refused.items():
            if all(whole(words).search(text) for words in groups):
                raise Refused(reason)
        months = "|".join(self.months)
        if re.search(rf"\b(?:{months})\.? [0-9]|[0-9] (?:of )?(?:{months})\b", text, re.IGNORECASE):
            raise Refused(DATE)


DATE = "a date or a time of day"


@cache
def whole(words: Words) -> re.Pattern[str]:
    """Match any of some words in either case, with or without a plural's s; an asterisk stands for any ending."""
    given = {*words}
    listed = "|".join(
        re.escape(word).replace(r"\*", r"[^\W_]*") for word in sorted(given - {"%"}, key=len, reverse=True)
    )
    sign = "%|" if "%" in given else ""
    return re.compile(rf"{sign}(?<![^\W_])(?:{listed})s?(?![^\W_])", re.IGNORECASE)


@cache
def following(words: Words) -> re.Pattern[str]:
    """Match some words behind a number, in either case."""
    listed = "|".join(sorted((re.escape(word).replace(r"\ ", "[ -]") for word in words), key=len, reverse=True))
    return re.compile(rf"[ -]*(?:{listed})(?![^\W_])", re.IGNORECASE)


@cache
def wording(language: str) -> Wording:
    """Return a language's words.

    Raises:
        Refused: numbers are not renewed in this language.
    """
    if language not in LANGUAGES:
        raise Refused("a language without rules for numbers")
    return read(Wording, "twins", language)
