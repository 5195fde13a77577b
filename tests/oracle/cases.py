"""What is drawn: runs of suites, their questions, and what models replied."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

LETTERS = "abcdefghijkl"
"""Answers and replies are beginnings of it, so that similarity is a matter of counting."""


@dataclass(frozen=True)
class Reply:
    """How a call ended: a text, perhaps cut at its token limit, or no reply.

    `state`: why it has no value by the metric `of`, by default by any; `cause`: the kind of error of a failed call.
    """

    text: str = ""
    cut: bool = False
    failed: bool = False
    state: str = ""
    of: str = ""
    cause: str = "server"


@dataclass(frozen=True)
class Question:
    """A row of a suite's file; `answer` is its expected answer."""

    text: str
    answer: str
    columns: Mapping[str, str] = field(default_factory=dict)


Place = tuple[str, int, int]
"""A model, a row and a repeat."""


@dataclass(frozen=True)
class Suite:
    """A suite: the options of each metric, its `score` as it is declared, its replies."""

    name: str
    metrics: Mapping[str, Mapping[str, Any]]
    questions: tuple[Question, ...]
    replies: Mapping[Place, Reply]
    threshold: float | None
    weight: float | None
    options: Mapping[str, Any] = field(default_factory=dict)
    score: Any = None

    @property
    def gate_on(self) -> str:
        """What makes a question's value of its repeats."""
        return str(self.options.get("gate_on", "mean"))


@dataclass(frozen=True)
class Run:
    """A configuration, and what its models replied."""

    models: tuple[str, ...]
    suites: tuple[Suite, ...]
    threshold: float | None
    gate: str
    undecided: str = "undecided"
    repeats: int = 1


@dataclass(frozen=True)
class Sequel:
    """A run, and one after it that is compared with it; `changed` is a rule that differs, if any."""

    before: Run
    after: Run
    max_drop: float
    fails_on: str = "regression"
    changed: str = ""
    is_allowed: bool = False


def select(suite: Suite, rows: Sequence[int]) -> Suite:
    """Return a suite as if it had these rows only."""
    places = {row: place for place, row in enumerate(rows)}
    replies = {
        (model, places[row], repeat): reply
        for (model, row, repeat), reply in suite.replies.items()
        if row in places
    }
    return replace(suite, questions=tuple(suite.questions[row] for row in rows), replies=replies)
