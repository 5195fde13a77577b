"""The command line that all flows share: arguments, messages, the progress bar, exit codes.

Prefect is imported only after the arguments and the configuration have been found good.
"""

import argparse
import gc
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data.errors import InputError
from data.exits import EXPLAINED, Exit
from tasks.runtime.logs import FORMS, VARIABLE, begin, event, structured

if TYPE_CHECKING:
    from config.settings import Rerun, Settings
    from data.records import Cell
    from flows.runs import Outcome
    from tasks.models.scheduler import Tally

STAGES = ("generate", "query", "verify", "judge", "score", "aggregate", "report")
STOPPING = (signal.SIGINT, signal.SIGTERM)


def arguments(flow: str) -> argparse.ArgumentParser:
    """Return the parser of a flow's command line."""
    folder = Path(__file__).parents[1] / "config"
    shipped = ", ".join(sorted(f"config/{path.name}" for path in folder.glob("*.yaml")))
    parser = argparse.ArgumentParser(
        prog=f"python -m flows.{flow}",
        description="Evaluate language models: generate, query, verify, score, aggregate, report.",
        epilog=f"{EXPLAINED} Replies are cached: what was answered once is never asked or paid again.",
    )
    parser.add_argument("--config", metavar="FILE", help=f"a YAML file (shipped: {shipped})")
    parser.add_argument(
        "--set",
        metavar="PATH=VALUE",
        action="append",
        default=[],
        help="set one key, such as basic_control.n_items=100 or models.0.temperature=0.3; may be repeated",
    )
    again = parser.add_argument_group("doing an earlier run again; everything else comes from the caches")
    again.add_argument("--run", metavar="RUN", help="take the configuration of this run (a folder of store.runs)")
    again.add_argument(
        "--rerun", metavar="STAGE", choices=STAGES, help=f"run anew {', '.join(STAGES)}, and what follows"
    )
    again.add_argument("--suite", default="", help="with --rerun: only this suite's stages")
    again.add_argument("--model", default="", help="with --rerun: only this model's stages")
    again.add_argument(
        "--only-failed", action="store_true", help="with --run: ask again just the calls that failed"
    )
    again.add_argument(
        "--resume", metavar="RUN", nargs="?", const="", help="go on with this run; the last one unless given"
    )
    parser.add_argument("--fresh", action="store_true", help="ask everything anew; earlier replies are kept")
    parser.add_argument(
        "--log", choices=FORMS, default="", help=f"json: one object a line on stderr; the same as {VARIABLE}=json"
    )
    parser.add_argument("--junit", metavar="FILE", help="write the results as JUnit XML as well")
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be asked, what it may cost and take, and ask nothing"
    )
    if flow != "full_eval":
        whole = "a user's own responses are scored whole unless --set says otherwise"
        parser.add_argument("--data", metavar="FILE", help=f"the data set; {whole}")
    return parser


def _say(message: str, *, level: int = logging.INFO) -> None:
    if structured():
        event("message", level=level, message=message)
    else:
        print(message, file=sys.stderr)  # noqa: T201 - the command line's voice


def _progress() -> Any:
    """Return a progress display, fed from the asking thread."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from tasks.query import watch

    display = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn(
            "{task.fields[rate]:.1f} calls/s · cached {task.fields[cached]} · failed {task.fields[failed]} · "
            "{task.fields[tokens]} tokens"
        ),
        transient=False,
    )
    bars: dict[str, Any] = {}

    def show(cell: "Cell", tally: "Tally") -> None:
        label = str(cell)
        if label not in bars or display.tasks[bars[label]].total != tally.total:
            bars[label] = display.add_task(label, total=tally.total, rate=0.0, cached=0, failed=0, tokens=0)
        span = tally.last_s - tally.first_s
        display.update(
            bars[label],
            completed=tally.done,
            rate=tally.answered / span if span > 0 else 0.0,
            cached=tally.cached,
            failed=tally.failed,
            tokens=tally.tokens_in + tally.tokens_out,
        )

    watch(show)
    return display


def _show(outcome: "Outcome", settings: "Settings") -> None:
    """Print the table, the verdict, and where the reports lie."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from metrics.final import leads
    from metrics.summary import Cell
    from tasks.report.text import percent
    from tasks.report.titles import row_title

    console = Console()
    shown = Table(title=Text(f"Run {outcome.run}"), box=SIMPLE_HEAD, padding=0, pad_edge=False)
    for name in ("model", "what", "metric"):
        shown.add_column(name, overflow="fold")
    for name in ("mean", "95 % interval", "scored / asked"):
        shown.add_column(name, justify="right", no_wrap=True)
    for found in outcome.results["cells"]:
        cell = Cell(**found)
        if not cell.family or cell.level or cell.language or not leads(cell.metric):
            continue
        interval = "–" if cell.ci_low is None else f"{percent(cell.ci_low)} – {percent(cell.ci_high)}"
        what = row_title(settings, cell.suite, cell.family)
        counts = f"{cell.n_scored} / {cell.n_asked}"
        row = (cell.model, what, cell.metric, percent(cell.mean), interval, counts)
        shown.add_row(*map(Text, row))
    console.print(shown)
    for line in _verdict(outcome):
        console.print(Text(line), soft_wrap=True)
    for path in outcome.reports[:2]:
        console.print(Text(f"Report: {path}"), soft_wrap=True)
    if settings.report.junit:
        console.print(Text(f"JUnit: {settings.report.junit}"), soft_wrap=True)


def _verdict(outcome: "Outcome") -> list[str]:
    """Return what a run came to, in lines: TOTAL, suites and overall of each model, and what was asked."""
    from tasks.report.phrases import phrase, why
    from tasks.report.text import percent, total_percent

    lines = []
    final = outcome.results["final"]
    for model in final["models"]:
        total = outcome.results["totals"].get(model["model"])
        if total and total["percent"] is not None:
            left = f" (left out: {', '.join(total['left_out'])})" if total["left_out"] else ""
            lines.append(f"TOTAL {model['model']}: {total_percent(total['percent'])}{left}")
        for part in [*model["suites"], {**model, "suite": "overall"}]:
            told = why(part, "en")
            reason = f": {told}" if told else ""
            beside = "".join(f"; {name} {percent(mean)}" for name, mean in part.get("beside", {}).items())
            lines.append(
                f"  {part['suite']}: {percent(part['score'])}, threshold {percent(part['threshold'])} – "
                f"{part['outcome']}{reason}{beside}"
            )
    if any("cot.sound" in suite.get("beside", {}) for model in final["models"] for suite in model["suites"]):
        lines.append(f"cot: {phrase('cot_worth', 'en')}")
    if final["gate"] == "off":
        lines.append("The gate is off: the exit code is 0 whatever the verdict (gate: point or interval).")
    counts = outcome.requests
    if counts["asked"] and counts["cached"] == counts["asked"]:
        lines.append(f"No model call was made: all {counts['asked']} replies came from the cache.")
    else:
        lines.append(
            f"{counts['asked']} requests: {counts['cached']} from the cache, {counts['answered']} asked now, "
            f"{counts['failed']} failed."
        )
    return lines


_WHY = {
    "query": "always: asks what the reply cache does not hold",
    "judge": "always: asks what the reply cache does not hold",
    "gate": "always: writes this run's files",
    "report": "always: writes this run's files",
}
"""Why a stage that nothing else explains was run."""


def _show_stages(outcome: "Outcome") -> None:
    """Say of every stage whether it was cached or run, and why."""
    from rich.console import Console
    from rich.text import Text

    console = Console()
    for row in outcome.stages:
        done = "from the cache" if row["cached"] else "run"
        why = f" ({row['note'] or _WHY.get(row['stage'], 'not in the cache: its input or the rules changed')})"
        why = "" if row["cached"] else why
        console.print(Text(f"  {row['stage']} {row['label']}: {done}{why}"), soft_wrap=True)


def _interruptible() -> None:
    """Have Ctrl-C and a polite kill stop the asking first, from whatever thread waits for it."""
    from tasks.models.scheduler import stop

    def interrupt(_signal: int, _frame: Any) -> None:
        stop()
        raise KeyboardInterrupt

    for each in STOPPING:
        signal.signal(each, interrupt)
    # While a flow runs, Prefect's own handler stands in for ours at SIGTERM: it unwinds the flow, which waits for
    # the tasks, which would ask on. The wake-up tells of a signal whoever handles it.
    told, wakes = socket.socketpair()
    wakes.settimeout(0)
    signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)

    def heed() -> None:
        with wakes:
            while heard := told.recv(1):
                if heard[0] in STOPPING:
                    stop()

    threading.Thread(target=heed, name="signals", daemon=True).start()


def _agree(given: argparse.Namespace) -> None:
    """Refuse options about an earlier run that do not go together.

    Raises:
        InputError: two contradict each other, or one lacks the other that it needs.
    """
    if given.run == "":
        raise InputError("--run: found no name, expected a run (a folder of store.runs).")
    if given.run and given.resume and given.run != given.resume:
        raise InputError(f"--resume {given.resume} and --run {given.run}: found two runs, expected one.")
    if given.only_failed and not given.run:
        raise InputError("--only-failed: expected --run RUN beside it, the run whose failed calls are asked again.")
    if given.only_failed and given.fresh:
        raise InputError("--only-failed and --fresh: expected one of them; --fresh asks everything anew.")
    if (given.suite or given.model) and not given.rerun:
        raise InputError("--suite and --model: expected --rerun STAGE beside them.")


def _chosen(flow: str, given: argparse.Namespace) -> tuple["Settings", "Rerun", bool]:
    """Return the configuration, what is done again, and whether a run's failed calls are asked again."""
    from config.reading import read
    from config.settings import Rerun

    sets = [*given.set]
    if data := getattr(given, "data", None):
        from config.declared import takes_all

        # A user's own answers are scored as a whole; the problems of a public set are sampled as configured.
        whole = [f"{flow}.items.sample.method=all", f"{flow}.items.language=''"] if takes_all(flow) else []
        sets = [*whole, *sets, f"{flow}.data={data}"]
    if given.fresh:
        sets.append(f"fresh='{time.strftime('%Y%m%d_%H%M%S')}'")
    if given.junit:
        sets.append(f"report.junit={json.dumps(given.junit)}")
    only = "" if flow == "full_eval" else flow
    settings = read(given.config, sets, only)
    if settings.report.junit and not os.access(folder := Path(settings.report.junit).parent, os.W_OK):
        raise InputError(
            f"--junit {settings.report.junit}: {folder} is no folder that can be written; name another."
        )
    _agree(given)
    resume = ""
    if given.resume is not None or given.run:
        from flows.earlier import latest, settings_of

        runs = settings.store.runs
        run = given.run or given.resume or latest(Path(runs))
        settings, _ = settings_of(runs, run, sets, only)
        resume = run if given.resume is not None else ""
    if given.suite and given.suite not in settings.named:
        there = ", ".join(settings.named)
        raise InputError(f"--suite {given.suite}: the run has none of that name, expected one of {there}.")
    again = Rerun(rerun=given.rerun or "", of=given.run or "", suite=given.suite, model=given.model, resume=resume)
    return settings, again, given.only_failed


def _run(settings: "Settings", again: "Rerun", *, only_failed: bool) -> int:
    from flows.environment import prepare, results_of

    prepare(results_of(settings))
    with ExitStack() as stack:
        # Importing Prefect makes hundreds of thousands of objects that stay: nothing to collect among them.
        gc.disable()
        server = None
        from flows import ephemeral

        if ephemeral.wanted():
            _say("Starting a temporary Prefect server (set PREFECT_API_URL to use a running one) …")
            server = stack.enter_context(ephemeral.serving())
        from flows.full_eval import full_eval

        gc.freeze()
        gc.enable()
        if only_failed:
            from flows.earlier import settings_of
            from flows.runs import restore

            restore(settings, settings_of(settings.store.runs, again.of)[1])
        _interruptible()
        if server:
            server.wait()
        with nullcontext() if structured() else _progress():
            outcome = full_eval(settings, again)
        _show(outcome, settings)
        if again.rerun or again.resume or again.of:
            _show_stages(outcome)
        return outcome.exit_code


def main(flow: str = "full_eval", argv: Sequence[str] | None = None) -> int:
    """Run a flow from the command line and return the exit code."""
    given = arguments(flow).parse_args(argv)
    begin(given.log)
    try:
        settings, again, only_failed = _chosen(flow, given)
        if given.dry_run:
            from flows.dry_run import dry_run

            return dry_run(settings)
        return _run(settings, again, only_failed=only_failed)
    except InputError as error:
        _say(f"error: {error}", level=logging.ERROR)
        return Exit.ERROR
    except Exception as error:
        if os.environ.get("BASIC_CONTROL_DEBUG"):
            raise
        from flows.environment import unreached

        if said := unreached(error):
            _say(f"error: {said} Everything answered so far is kept.", level=logging.ERROR)
            return Exit.ERROR
        _say(
            f"error: {type(error).__name__}: {error}\nThis is a defect of the program, or of a plugin "
            "of it. Everything answered so far is kept. BASIC_CONTROL_DEBUG=1 shows where it happened.",
            level=logging.ERROR,
        )
        return Exit.ERROR
    except KeyboardInterrupt:
        _say("Stopped. Everything answered so far is kept; run the same command again to go on.")
        return Exit.STOPPED
