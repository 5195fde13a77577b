"""The kinds of draws: how they are drawn, what drives the product, and what holds it against the rules."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.oracle.baselines import check_sequel, drive_sequel, sequels
from tests.oracle.cases import Run
from tests.oracle.draws import edited, reread, runs
from tests.oracle.held_against import check
from tests.oracle.judges import check_panel, drive_panel, panels
from tests.oracle.product import Output, command, drive
from tests.oracle.stopping import check_stopped, drive_stopped, stopped_runs


@dataclass(frozen=True)
class Kind:
    """A kind of draws, and how many of them the quick tests take, and the slow ones."""

    draws: st.SearchStrategy[Any]
    drive: Callable[[Any, Path], Any]
    check: Callable[[Any, Any], None]
    n_quick: int
    n_slow: int


def _command_twice(run: Run, folder: Path) -> list[Output]:
    """Run the command, and again in its store by other rules, and with other replies: no score of before stands."""
    return [command(again, folder) for again in _again(run)]


def _again(run: Run) -> list[Run]:
    return [run, reread(run), edited(run)]


def _check_twice(outputs: list[Output], run: Run) -> None:
    for output, again in zip(outputs, _again(run), strict=True):
        check(output, again)


KINDS = {
    "runs": Kind(runs(), drive, check, 10, 200),
    "baselines": Kind(sequels(), drive_sequel, check_sequel, 4, 80),
    "judges": Kind(panels(), drive_panel, check_panel, 8, 80),
    "labels": Kind(panels(is_labelled=True), drive_panel, check_panel, 6, 40),
    "stopping": Kind(stopped_runs(), drive_stopped, check_stopped, 4, 40),
    "commands": Kind(runs(is_recorded=True), _command_twice, _check_twice, 0, 70),
}
