"""Run an evaluation from the command line, with progress and signal handling.

Prefect takes seconds to import, so it is imported only after arguments and configuration have been checked.
"""

import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from basic_control.data.errors import Stopped, plural
from basic_control.data.exits import Exit
from basic_control.flows.cli.console import room, say, show_screen
from basic_control.interrupts import interrupt_again, leave_at_once
from basic_control.tasks.runtime.logs import is_structured

if TYPE_CHECKING:
    from rich.console import RenderableType

    from basic_control.config.settings import Rerun, Settings
    from basic_control.flows.runs import RunResult
    from basic_control.tasks.plan import Plan

STOPPING = (signal.SIGINT, signal.SIGTERM)
WORST_ROWS = 3
"""The failing rows that a run's screen shows; `basic-control show` has them all."""
SAME = "run the same command again to continue."
"""What to do after a stop, unless the same command would do something else."""


def evaluate(settings: "Settings", again: "Rerun", *, only_failed: bool) -> "tuple[RunResult, Plan]":
    """Run the evaluation; return its result and plan. `only_failed` first restores an earlier run's answers.

    Raises:
        InputError: it would fail, which is reported before Prefect is imported; or as the flow itself.
        KeyboardInterrupt: it was stopped; the message says how to continue.
    """

    def advise_continuing() -> str:
        from basic_control.flows.earlier import find_interrupted, is_time_label

        if not is_time_label(settings.fresh) or again.resume:
            return SAME
        name = find_interrupted(settings.store.runs, settings.fresh)
        if name:
            return f"continue with --resume {name} instead of --fresh, which would ask everything again."
        return "nothing has been asked yet."

    with _prepare(settings, again, advise_continuing) as plan:
        from basic_control.flows import evaluation
        from basic_control.flows.earlier import settings_of
        from basic_control.flows.runners import run_part
        from basic_control.flows.runs import restore

        if only_failed:
            restore(plan.store, settings_of(plan.store.runs, again.of)[1])
        work: Callable[[], RunResult] = partial(evaluation.evaluate, plan, again)
        return run_part(work, "full_eval", run=settings.title), plan


@contextmanager
def _prepare(settings: "Settings", again: "Rerun", advise_continuing: Callable[[], str]) -> "Iterator[Plan]":
    """Make all the slow imports and yield the plan of a configuration; show the progress.

    `advise_continuing` returns what to do after a stop.

    Raises:
        InputError: as `evaluate`.
        KeyboardInterrupt: as `evaluate`.
    """
    from basic_control.flows.environment import import_prefect, prepare_environment, results_of
    from basic_control.flows.preflight import (
        check_run,
        list_english_judging,
        list_unasked,
        too_few_connections,
        unread_responses,
    )

    leave_at_once()
    try:
        plan = check_run(settings, again)
        from basic_control.flows.cli.progress import progress

        warnings = [*unread_responses(plan), *list_english_judging(plan), too_few_connections(plan)]
        # With an earlier run's replies nobody expects a model to be asked.
        if not again.replies:
            warnings += list_unasked(settings.models, plan)
        for warning in filter(None, warnings):
            say(warning, level=logging.WARNING)
        prepare_environment(results_of(plan.store))
        with ExitStack() as stack:
            display = None
            if not is_structured():
                display = stack.enter_context(progress(plan.report.language))
            # Importing Prefect creates hundreds of thousands of permanent objects: collecting them is useless.
            gc.disable()
            notice = import_prefect()
            if notice:
                say(notice, level=logging.WARNING)
            from basic_control.flows import ephemeral, evaluation  # noqa: F401 - what a run needs, all of it
            from basic_control.tasks.query import watch

            _handle_signals(advise_continuing)
            gc.freeze()
            gc.enable()
            opened = ephemeral.server_for(plan.means.runner.name)
            if opened:
                if opened is ephemeral.start_temporary_server:
                    say("Starting a temporary Prefect server (set PREFECT_API_URL to use a running one) …")
                stack.enter_context(opened())
            if display:
                watch(display.note)
            yield plan
    except (KeyboardInterrupt, Stopped):
        raise KeyboardInterrupt(advise_continuing()) from None
    finally:
        interrupt_again()


def _end_at_once(advise_continuing: Callable[[], str]) -> None:
    """End the run at once, from any thread: waiting for the rest would take long."""
    from rich.console import Console

    say(f"Stopped at once. Everything answered so far is kept; {advise_continuing()}")
    Console(stderr=True).show_cursor()  # hidden by the progress display
    sys.stdout.flush()
    os._exit(Exit.STOPPED)


def _handle_signals(advise_continuing: Callable[[], str]) -> None:
    """Make Ctrl-C and SIGTERM stop the asking first, whichever thread waits for it; a second Ctrl-C ends all."""
    from basic_control.tasks.models.scheduler import GRACE_S, stop

    def interrupt(_signal: int, _frame: Any) -> None:
        raise KeyboardInterrupt

    for number in STOPPING:
        signal.signal(number, interrupt)
    # While a flow runs, Prefect's SIGTERM handler replaces ours: it unwinds the flow, which waits for the tasks,
    # which would keep asking. The wake-up socket reports a signal whoever handles it.
    receiver, sender = socket.socketpair()
    sender.settimeout(0)
    signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)

    def heed() -> None:
        n_stops = 0
        with sender:
            while received := receiver.recv(1):
                number = received[0]
                if number not in STOPPING:
                    continue
                # Prefect sends SIGTERM to itself once more, so a second one means nothing.
                if n_stops and number == signal.SIGINT:
                    _end_at_once(advise_continuing)
                n_stops += 1
                n_calls = stop()
                if n_calls and n_stops == 1:
                    say(
                        f"Stopping: {plural(n_calls, 'call')} in flight, already paid for, may finish within "
                        f"{GRACE_S:g} s. Ctrl-C again stops at once."
                    )

    threading.Thread(target=heed, name="signals", daemon=True).start()


def show_outcome(outcome: "RunResult", plan: "Plan", *, verbose: bool = False, again: bool = False) -> None:
    """Print a run's screen, after every figure and stage if `verbose`; `again` counts the stages that ran."""
    from basic_control.tasks.report.language import use_language

    with use_language(plan.report.language):
        show_screen(*_list_parts(outcome, plan, verbose=verbose, again=again))


def _list_parts(outcome: "RunResult", plan: "Plan", *, verbose: bool, again: bool) -> "Iterator[RenderableType]":
    from basic_control.tasks.report.language import say
    from basic_control.tasks.report.regressions import lines
    from basic_control.tasks.report.screen import screen

    if verbose:
        (report,) = (Path(path) for path in outcome.reports if path.endswith(".md"))
        yield report.read_text(encoding="utf-8")
        yield from lines(outcome.results.baseline)
        yield from (f"  {_stage(row)}" for row in outcome.stages)
    width, narrow = room()
    files = (outcome.reports[0], Path(outcome.folder) / "results.json")
    results, verdict, requests = outcome.results, outcome.verdict, outcome.requests
    # The screen is the same for a terminal, a merge request and Prefect's pages.
    end = screen(
        results,
        verdict,
        plan,
        requests,
        wall_s=outcome.wall_s,
        files=files,
        examples=_list_worst_rows(outcome, plan, width),
        changed=[*_list_changes(outcome, plan)],
    )
    yield from end.terminal(width, whole=not narrow)
    if again:
        fresh = Counter(row["stage"] for row in outcome.stages if not row["cached"])
        counts = [f"{name} {count}".removesuffix(" 1") for name, count in fresh.items()]
        n = fresh.total()
        yield say("screen.stages", cached=len(outcome.stages) - n, n=n, names=", ".join(counts))


def _list_worst_rows(outcome: "RunResult", plan: "Plan", width: int) -> list[str]:
    """Return the run's first failing rows, each as one line."""
    from basic_control.tasks.compare.rows import list_worst_first
    from basic_control.tasks.compare.sides import load_side
    from basic_control.tasks.report.rows import choose_examples, lines_of
    from basic_control.tasks.store.runs import find_run

    side = load_side(find_run(outcome.folder, Path(outcome.folder).parent), plan.store.root)
    rows = choose_examples(list_worst_first(side), outcome.verdict.models)
    return [*lines_of(rows, WORST_ROWS, width)]


def _list_changes(outcome: "RunResult", plan: "Plan") -> "Iterator[str]":
    """Yield how many rows came out otherwise than in the run before of the same task, if any."""
    from basic_control.data.commands import format_command
    from basic_control.tasks.compare.changed import count_changed
    from basic_control.tasks.report.language import say
    from basic_control.tasks.store.runs import find_run

    run = find_run(outcome.folder, Path(outcome.folder).parent)
    before, n_changed = count_changed(run, plan.store.root)
    if n_changed:
        yield say("screen.changed", n=n_changed, run=before, command=format_command(f"compare {before} {run.name}"))


def _stage(stage: Mapping[str, Any]) -> str:
    """Say whether a stage came from the cache or was run, and why."""
    from basic_control.tasks.report.language import say

    if stage["cached"]:
        return f"{stage['stage']} {stage['label']}: {say('screen.cached')}"
    name = stage["stage"] if stage["stage"] in {"query", "judge", "results", "gate", "report"} else "other"
    why = stage["note"] or say(f"screen.why_{name}")
    return f"{stage['stage']} {stage['label']}: {say('screen.done')} ({why})"
