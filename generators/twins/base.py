"""What the kinds of twins share: a renewed item, and why an item has none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Refused(ValueError):  # noqa: N818 - what is said of an item, no failure
    """An item that cannot be renewed so that its twin is surely right; the text is the reason, which is counted."""


@dataclass(frozen=True, slots=True)
class Renewed:
    """A twin: what is expected of it, and the facts that differ from its original's.

    `prompt` is the family's own where the original has one, '' where the suite's prompt is filled.
    """

    answer: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    prompt: str = ""
