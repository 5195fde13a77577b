"""Gate outcomes, and the exit codes of every command, for shells, builds and schedulers."""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Literal

GateOutcome = Literal["none", "pass", "fail", "undecided", "error"]
"""The outcome of a model's score, in a suite or overall; `none`: measured without a threshold."""
OUTCOMES: tuple[GateOutcome, ...] = ("none", "pass", "undecided", "fail", "error")
"""From best to worst; a run's outcome is that of its worst model."""


_CHANGES: Mapping[str, GateOutcome] = {"regressed": "fail", "held": "pass"}


def find_worst(verdicts: Iterable[str], changes: Iterable[str]) -> str:
    """Return the worst of models' verdicts and of changes against a baseline: a regression fails, held passes.

    '' if there are none.
    """
    outcomes = {*verdicts, *(_CHANGES.get(change, change) for change in changes)}
    return next((outcome for outcome in reversed(OUTCOMES) if outcome in outcomes), "")


class Exit(IntEnum):
    """How a command ended."""

    PASSED = 0
    FAILED = 1
    ERROR = 2
    UNDECIDED = 3
    STOPPED = 130


MEANINGS: Mapping[Exit, tuple[str, str]] = {
    Exit.PASSED: ("passed", "done; all gates passed, or there were none"),
    Exit.FAILED: (
        "failed or regressed",
        "a model below a threshold, a regression, or damage that `store verify` found",
    ),
    Exit.ERROR: ("error", "bad input or an internal failure; it takes precedence over a failed gate"),
    Exit.UNDECIDED: (
        "undecided",
        "no gate failed, but the data could not decide one (`undecided: pass` makes that 0)",
    ),
    Exit.STOPPED: ("stopped", "by Ctrl-C or SIGTERM; what was answered is kept"),
}
"""Name and meaning of each code (docs/commands.md)."""
EXPLAINED = f"Exit codes: {', '.join(f'{code.value} {word}' for code, (word, _) in MEANINGS.items())}."
"""Text in every `--help`."""
