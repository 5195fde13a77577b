"""Recorded replies of other tools, in one form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded reply: `answer` is what was expected, `stated` the tool's own score for it, in [0, 1] or None.

    `finish_reason` is in our terms (`stop`, `length`, …), '' where the log does not say.
    """

    id: str
    question: str
    answer: str | list[str]
    response: str
    stated: float | None
    finish_reason: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    choices: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """Return it as a row of a suite's data; what is not known is left out."""
        row: dict[str, Any] = {
            "id": self.id,
            "question": self.question,
            "answer": self.answer,
            "response": self.response,
            "stated": self.stated,
            "finish_reason": self.finish_reason,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
        }
        if self.choices:
            row["options"] = list(self.choices)
        return row


@dataclass(frozen=True, slots=True)
class Log:
    """What one log holds: replies of one model to one task.

    `metric` names the tool's score that `stated` comes from; `remarks` say what could not be carried over.
    """

    tool: str
    task: str
    model: str
    metric: str
    rows: tuple[Recorded, ...]
    remarks: tuple[str, ...] = field(default_factory=tuple)

    @property
    def accuracy(self) -> float | None:
        """The mean of the stated scores; None where there are none."""
        stated = [row.stated for row in self.rows if row.stated is not None]
        return sum(stated) / len(stated) if stated else None


def share(value: object) -> float | None:
    """Return a score as a share in [0, 1]; None for what is none."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float) and 0 <= value <= 1:
        return float(value)
    return None


def counted(value: object) -> int | None:
    """Return a count of tokens; None for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def text_of(value: object) -> str:
    """Return a text as a log holds it: a string, or the text parts of a message's content."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = [
            part if isinstance(part, str) else part.get("text") for part in value if isinstance(part, str | Mapping)
        ]
        return "\n".join(part for part in parts if isinstance(part, str))
    return "" if value is None else str(value)
