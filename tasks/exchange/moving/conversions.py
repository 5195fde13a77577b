"""What a conversion results in: models, judges, suites with their rows, and an account of every part."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["taken", "changed", "left out"]
OUTCOMES: tuple[Outcome, ...] = ("taken", "changed", "left out")

STAND_IN: dict[str, Any] = {"name": "smollm2-135m", "provider": "embedded"}
"""The model where none is named or could be taken over."""
REPLIED: dict[str, Any] = {"regex": {"pattern": r"\S", "threshold": None}}
"""What is measured where nothing is checked: whether there is a reply."""


@dataclass(frozen=True, slots=True, order=True)
class PartNote:
    """What became of a part of the foreign file, and why."""

    subject: str
    outcome: Outcome
    reason: str = ""


@dataclass(slots=True)
class Account:
    """The notes of a conversion, each with how often it applies; its assertions, and those that are taken over.

    `losses` are the tests that lost an assertion, by its kind, of `n_tests`.
    """

    notes: Counter[PartNote] = field(default_factory=Counter)
    n_assertions: int = 0
    n_taken: int = 0
    n_tests: int = 0
    losses: dict[str, list[str]] = field(default_factory=dict)

    def add(self, subject: str, outcome: Outcome, reason: str = "") -> None:
        """Count one more part of this kind."""
        self.notes[PartNote(subject[:80], outcome, reason[:200])] += 1

    def count(self, outcome: Outcome) -> int:
        """Return how many parts ended so."""
        return sum(number for note, number in self.notes.items() if note.outcome == outcome)

    def count_losers(self) -> int:
        """Return how many tests lost an assertion."""
        return len(set().union(*self.losses.values()))

    def list_notes(self) -> list[tuple[PartNote, int]]:
        """Return the notes with their counts: what was taken first, what was left out last."""
        return sorted(self.notes.items(), key=lambda entry: (OUTCOMES.index(entry[0].outcome), entry[0]))


@dataclass(frozen=True, slots=True)
class ConvertedCheck:
    """An assertion in our terms: a check of a row, or else a judge's criterion with the judge that it names.

    `change` says what is other than there, '' if nothing.
    """

    check: dict[str, Any] = field(default_factory=dict)
    criterion: str = ""
    judge: Any = None
    weight: float = 1.0
    change: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A test: its variables, its assertions as the file has them, and its keys by promptfoo's names.

    `keys` holds those of `description`, `threshold` (of the mean of its assertions), `provider` (its judge),
    `prompts` and `providers` (those that it is for), `prefix`, `suffix` and `metadata` that it has.
    """

    variables: dict[str, Any]
    assertions: list[dict[str, Any]]
    keys: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Conversion:
    """A converted configuration: keys of ours, and the rows and the examples before them by their suite's name.

    `texts` are files that it names, by their paths below its folder; `remarks` are lines for its head.
    """

    tool: str
    models: list[dict[str, Any]] = field(default_factory=list)
    judges: list[dict[str, Any]] = field(default_factory=list)
    suites: list[dict[str, Any]] = field(default_factory=list)
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    examples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    account: Account = field(default_factory=Account)
