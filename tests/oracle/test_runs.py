"""Random runs: what the product says of them is what the rules say."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings

from tests.oracle.baselines import check_sequel, drive_sequel, sequels
from tests.oracle.draws import Question, Reply, Run, Suite, edited, runs
from tests.oracle.held_against import check
from tests.oracle.judges import Panel, check_panel, drive_panel, panels
from tests.oracle.pairs import Sequel
from tests.oracle.product import command, drive
from tests.oracle.stopping import check_stopped, drive_stopped, stopped_runs

DRAWS = int(os.environ.get("ORACLE_DRAWS", "30"))
"""How many draws: the same each time, so that no change fails for an older fault; with the variable, new ones."""
IS_REPEATED = "ORACLE_DRAWS" not in os.environ

QUESTIONS = (Question("q", "a"), Question("q", "b"), Question("r", "a"))
REPLIES = {("m0", row, 0): Reply("a", cut=row < 2) for row in range(3)}
TWO_LABELS = Suite("s0", {"exact_match": {}}, QUESTIONS, REPLIES, 0.8, 1.0)
"""A cut reply that is right for one of its question's labels: 75 %, and 100 % if the reply had gone on."""


@settings(max_examples=DRAWS, derandomize=IS_REPEATED)
@example(Run(("m0",), (TWO_LABELS,), None, "point"))
@given(runs())
def test_a_run_is_what_the_rules_say(run: Run) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check(drive(run, Path(folder)), run)


@settings(max_examples=max(DRAWS // 4, 1), derandomize=IS_REPEATED)
@given(sequels())
def test_a_comparison_with_a_baseline_is_what_the_rules_say(sequel: Sequel) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_sequel(drive_sequel(sequel, Path(folder)), sequel)


@settings(max_examples=DRAWS, derandomize=IS_REPEATED)
@given(panels())
def test_a_judged_metric_beside_another_is_what_the_rules_say(panel: Panel) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_panel(drive_panel(panel, Path(folder)), panel)


@settings(max_examples=max(DRAWS // 3, 1), derandomize=IS_REPEATED)
@given(stopped_runs())
def test_a_run_that_stops_early_asks_and_decides_as_the_rules_say(run: Run) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_stopped(drive_stopped(run, Path(folder)), run)


@pytest.mark.slow
@settings(max_examples=max(DRAWS, 100), derandomize=IS_REPEATED)
@given(runs(is_recorded=True))
def test_a_command_on_recorded_replies_says_and_ends_as_the_rules_say(run: Run) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for again in (run, edited(run)):  # in one store: no score of before stands
            check(command(again, Path(folder)), again)
