"""What the summarization family's paragraphs are made of."""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from generators._texts import read


class Topic(NamedTuple):
    """Sentences that stand on their own in any order: only `key` says what the whole paragraph comes to.

    `details` fill in how, when, where and for how much; `example` tells of one case; `aside` leads away from the
    matter; `loud` ones sound weighty, but about something small.
    """

    name: str
    key: str
    details: tuple[str, str, str]
    example: str
    aside: str
    loud: tuple[str, str]


class TopicTexts(NamedTuple):
    """A language's topics, and what fills their sentences: towns and months, in the cases that the language has."""

    towns: tuple[Mapping[str, str], ...]
    months: tuple[Mapping[str, str], ...]
    topics: tuple[Topic, ...]


@cache
def texts(language: str) -> TopicTexts:
    """Return a language's texts."""
    return read(TopicTexts, "summarization", language)
