"""Shared by all kinds of twins: a renewed item, and the reason why an item has none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Refused(ValueError):  # noqa: N818 - what is said of an item, no failure
    """Raised if no twin of an item is certain to be right; the text is the reason, by which items are counted."""


@dataclass(frozen=True, slots=True)
class Renewed:
    """A twin: its expected answer, and the facts that differ from its original's.

    `prompt` is the family's own if the original has one, '' if the suite's prompt is filled.
    """

    answer: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    prompt: str = ""
