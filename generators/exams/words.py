"""The words of the exam's worlds in each language: buildings, their values, what is said and asked of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from generators._texts import read

RELATIONS = ("founded", "city", "height", "visitors", "architect", "holiday", "material", "rooms", "cause")
NAMED = RELATIONS[:7]
"""The relations whose value can be recognised in a sentence by itself."""


@dataclass(frozen=True, slots=True)
class BuildingWords:
    """A language's words; its file says what stands for what.

    `kinds` are nominative, genitive, pronoun and possessive of each kind of building; `heights` those of n metres,
    as they are, in centimetres, and in a wrong unit; `sayings`, by relation, and `rooms`, by how many are heated,
    have three wordings each, of which the last is about a building just named; `forms` make claims of statements;
    `common` is what is true and stands in no text; `answers` are what is put around an answer, or in its place;
    `criterion` is that of ratings, `preferred` that of comparisons in which nothing but facts may count.
    """

    kinds: Mapping[str, tuple[str, str, str, str]]
    syllables: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]
    heights: tuple[str, str, str]
    questions: Mapping[str, str]
    sayings: Mapping[str, tuple[str, str, str]]
    rooms: Mapping[str, tuple[str, str, str]]
    forms: Mapping[str, str]
    common: tuple[str, ...]
    answers: Mapping[str, str]
    criterion: str
    preferred: str


@cache
def words(language: str) -> BuildingWords:
    """Return a language's words."""
    return read(BuildingWords, "exam", language)
