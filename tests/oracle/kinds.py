"""The kinds of draws: how they are drawn, what drives the product, and what holds it against the rules."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from basic_control.data.tables import ITEMS
from basic_control.metrics.analysis.stopping import cut_into_rounds
from basic_control.tasks.compare.baseline import pin
from basic_control.tasks.generate import items_of
from basic_control.tasks.store import manifest as manifests
from basic_control.tasks.store.baselines import write_baseline
from basic_control.tasks.store.runs import find_run
from tests.oracle import draws
from tests.oracle.check import check, check_sequel, compare
from tests.oracle.product import command, configure, drive, measure_run
from tests.oracle.world import Run, Sequel

BEFORE = "20261104_140233"


def hold_run(run: Run, folder: Path) -> None:
    output = drive(run, folder)
    assert output is not None
    check(output, run)


def hold_sequel(sequel: Sequel, folder: Path) -> None:
    """Pin the earlier run, and compare the later one with it."""
    stores = {"root": str(folder / "store"), "runs": str(folder / "runs")}
    before = measure_run(sequel.before, configure(sequel.before, folder / "before", store=stores))
    manifests.write(folder / "runs" / BEFORE, before.manifest(BEFORE))
    path = write_baseline(pin("main", find_run(BEFORE, folder / "runs")), folder / "main.json")
    keys = {"baseline": str(path), "max_drop": sequel.max_drop, "fail_on": sequel.fails_on, "store": stores}
    output = drive(sequel.after, folder / "after", allow_different=sequel.is_allowed, **keys)
    check_sequel(output, sequel)


def hold_commands(run: Run, folder: Path) -> None:
    """Run the command, and again in its store by other rules, and with other replies: no score of before stands."""
    for again in (run, draws.turn_options(run), draws.edit_first(run)):
        check(command(again, folder), again)


def hold_stopping(run: Run, folder: Path) -> None:
    """Ask in rounds, whose order no recorded reply changes."""
    orders = []
    for again in (run, draws.edit_first(run)):
        suites = configure(again, folder, is_recorded=True).suites
        rounds = [
            cut_into_rounds(ITEMS.frame(items_of(suite)), suite, suite.stop) for suite in suites if suite.stop
        ]
        orders.append(tuple(batch["index"].to_list() for of_suite in rounds for batch in of_suite))
    compare(orders[0], orders[1], "the order of questions")
    hold_run(run, folder)


class Kind(NamedTuple):
    """A kind of draws, and how many of them the quick tests take, and the slow ones."""

    draw: Callable[[Random], Any]
    hold: Callable[[Any, Path], None]
    n_quick: int
    n_slow: int


KINDS = {
    "runs": Kind(draws.draw_run, hold_run, 10, 200),
    "baselines": Kind(draws.draw_sequel, hold_sequel, 4, 80),
    "judges": Kind(draws.draw_panel, hold_run, 8, 80),
    "labels": Kind(partial(draws.draw_panel, is_labelled=True), hold_run, 6, 40),
    "stopping": Kind(draws.draw_stopping, hold_stopping, 4, 40),
    "commands": Kind(partial(draws.draw_run, is_recorded=True), hold_commands, 0, 70),
}
