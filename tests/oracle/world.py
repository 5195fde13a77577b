"""What is drawn: a small world of suites and questions, of what models replied, and what judges and people said."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LETTERS = "abcdefghijkl"
"""Answers and replies are beginnings of it, so that similarity is a matter of counting."""
JUDGED = "response_groundedness"
CONTEXT = "What is one of its contexts needs no judge."
EXAMS: Mapping[str, tuple[tuple[int, int, int], ...]] = {
    "perfect": ((20, 0, 0), (0, 20, 0), (0, 0, 20)),
    "fair": ((18, 0, 2), (0, 20, 0), (4, 0, 16)),
    "lenient": ((20, 0, 0), (0, 20, 0), (9, 0, 11)),
    "always": ((20, 0, 0), (20, 0, 0), (20, 0, 0)),
    "coin": ((11, 0, 9), (0, 20, 0), (10, 0, 10)),
    "weak": ((12, 0, 8), (0, 20, 0), (7, 0, 13)),
}
"""Judges' answers of 2, 1, 0 by truth 2, 1, 0. `weak` may be a coin: it answered too few; `new` took no exam."""
LEFT_OUT = ("always", "coin", "weak")


@dataclass(frozen=True)
class Reply:
    """How a call ended: a text, perhaps cut at its token limit, or no reply.

    `state`: why it has no value by the metric `of`, by default by any; `cause`: the kind of error of a failed call.
    Each judge rated it 2 or 0, or was unreadable; `label` is what people say of it.
    """

    text: str = ""
    cut: bool = False
    failed: bool = False
    state: str = ""
    of: str = ""
    cause: str = "server"
    ratings: tuple[int | None, ...] = ()
    label: int = 0

    @property
    def needs_no_judge(self) -> bool:
        return self.text in {"", CONTEXT}


@dataclass(frozen=True)
class Question:
    """A row of a suite's file; `answer` is its expected answer."""

    text: str
    answer: str
    columns: Mapping[str, Any] = field(default_factory=dict)


Place = tuple[str, int, int]
"""A model, a row and a repeat."""


@dataclass(frozen=True)
class Suite:
    """A suite: the options of each metric, its `score` as it is declared, its replies, and who judges them."""

    name: str
    metrics: Mapping[str, Mapping[str, Any]]
    questions: tuple[Question, ...]
    replies: Mapping[Place, Reply]
    threshold: float | None
    weight: float | None
    options: Mapping[str, Any] = field(default_factory=dict)
    score: Any = None
    judges: tuple[str, ...] = ()

    @property
    def gate_on(self) -> str:
        """What makes a question's value of its repeats."""
        return str(self.options.get("gate_on", "mean"))


@dataclass(frozen=True)
class Run:
    """A configuration, and what its models replied; people label `n_labels` replies of a judged suite.

    They leave every tenth label empty, but where these are complete; or they labelled those of another run.
    """

    models: tuple[str, ...]
    suites: tuple[Suite, ...]
    threshold: float | None
    gate: str
    undecided: str = "undecided"
    repeats: int = 1
    n_labels: int = 0
    is_complete: bool = True
    is_labelled_elsewhere: bool = False


@dataclass(frozen=True)
class Sequel:
    """A run, and one after it that is compared with it; whether a rule differs, and whether that is allowed."""

    before: Run
    after: Run
    max_drop: float
    fails_on: str = "regression"
    is_changed: bool = False
    is_allowed: bool = False
