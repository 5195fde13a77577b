"""What a topic of the summarization family is made of."""

from typing import NamedTuple


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
