"""`rejudge`: what another judge says of a run's replies."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from basic_control.data.errors import InputError
from basic_control.data.exits import Exit
from basic_control.flows.cli.console import prose, show, show_written
from basic_control.flows.cli.evaluating import evaluate
from basic_control.flows.cli.named_models import build_entries
from basic_control.flows.cli.options import RUN, File, Name, Sets, find_runs_folder
from basic_control.tasks.runtime.logs import begin

if TYPE_CHECKING:
    from basic_control.config.settings import Judge, Settings


def rejudge(
    run: Annotated[str, RUN],
    /,
    *,
    judge: Name,
    suite: Name = "",
    config: Annotated[File, Parameter(name=("--config", "-c"))] = "",
    html: File = "",
    sets: Sets = (),
) -> int:
    """Have another judge judge a run's replies, and compare it with the judge of the run: for one that retires.

    The replies are the run's own: only the new judge is asked. Shown are how far both agree, how often each is
    wrong by people's labels of these replies, the paired difference of the score, and whether the verdicts hold
    (exit code 0; 1 if not). It is a run of its own, which later runs can be compared with.

    Args:
        run: a run's id, or last
        judge: a judge of its configuration or of --config by its name, or PROVIDER/NAME
        suite: only this suite (default: all that judges score)
        config: a configuration whose judges can be named
        html: write the comparison to this HTML page (default: rejudged.html in the new run's folder)
        sets: change a key of the run's configuration; may be repeated
    """
    begin("")
    from basic_control.config.settings import Rerun
    from basic_control.flows.earlier import settings_of
    from basic_control.tasks.store.runs import resolve_last

    runs = find_runs_folder("", sets)
    run = resolve_last(run, runs)
    settings, _ = settings_of(str(runs), Path(run).name, sets)
    settings = replace_judges(settings, find_judges(settings, judge, config), suite)
    again = Rerun(of=run, replies=run)
    outcome, _ = evaluate(settings, again, only_failed=False)
    return show_comparison(settings, run, outcome.run, judge, html)


def find_judges(settings: "Settings", name: str, config: str) -> "list[Judge]":
    """Return the judge of that name, with those that it asks if it is a cascade: the last is the one meant.

    Raises:
        InputError: nobody has that name, and it is no PROVIDER/NAME.
    """
    from pydantic import ValidationError

    from basic_control.config.exam import SUITE
    from basic_control.config.reading import read
    from basic_control.config.settings import Judge
    from basic_control.data.plugins import discover
    from basic_control.data.records import Provider

    configured = [*settings.judges]
    if config:
        # A file of judges alone is enough: the exam's suite asks no model.
        configured += read(config, (), SUITE).judges
    # Of two of a name, the file's.
    judges = {entry.name: entry for entry in configured}
    if name in judges:
        return [*(judges[member] for member in judges[name].members), judges[name]]
    if "/" not in name and name not in discover(Provider):
        names = ", ".join(judges) or "none"
        raise InputError(
            f"--judge {name}: found no judge of that name; expected one of {names}, one of a file (--config), or "
            "PROVIDER/NAME."
        )
    (entry,) = build_entries("judges", [name])
    try:
        return [Judge.model_validate(entry)]
    except ValidationError as error:
        reason = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise InputError(
            f"--judge {name}: {reason}. Write its entry to a file, and name that by --config."
        ) from error


def replace_judges(settings: "Settings", judges: "list[Judge]", suite: str) -> "Settings":
    """Return a run's configuration with other judges, and only suites that are judged.

    Raises:
        InputError: no suite of that name is judged.
    """
    from basic_control.data.loading import list_judged_metrics

    judged = {declared.name: declared for declared in filter(list_judged_metrics, settings.suites)}
    # Without a name all judged suites are meant.
    chosen = [declared for name, declared in judged.items() if suite in (name, "")]
    if not chosen:
        names = ", ".join(judged) or "none"
        raise InputError(f"--suite {suite}: judges score no suite of that name, expected one of {names}.")
    # All replies are there: nothing is asked in rounds, and nothing is renewed.
    changes_of_suite: dict[str, Any] = {"judges": (judges[-1].name,), "stop": None, "twins": None}
    suites = []
    for declared in chosen:
        metrics = {name: dict(options) for name, options in declared.metrics.items()}
        for options in metrics.values():
            options.pop("judges", None)
        suites.append(declared.model_copy(update={**changes_of_suite, "metrics": metrics}))
    changes = {"judges": tuple(judges), "suites": tuple(suites), "baseline": "", "fail_on": "threshold"}
    return settings.model_copy(update=changes)


def show_comparison(settings: "Settings", before: str, after: str, judge: str, html: str) -> int:
    """Print how two judges of the same replies differ, write it as a page, and return the exit code."""
    from basic_control.tasks.compare.judges import compare_rejudged
    from basic_control.tasks.report.language import use_language
    from basic_control.tasks.report.rejudging import page, score_lines, tables, verdict_lines
    from basic_control.tasks.store.tables import write_atomically

    rejudged = compare_rejudged(settings, before, after, judge)
    with use_language(rejudged.pairs.language):
        for line in verdict_lines(rejudged):
            show(prose(line, "bold"))
        show(*map(prose, score_lines(rejudged)))
        for table in tables(rejudged):
            show(table.terminal())
        path = Path(html or Path(settings.store.runs) / after / "rejudged.html")
        show_written([write_atomically(path, page(rejudged))], rejudged.pairs.language)
    return Exit.PASSED if rejudged.holds else Exit.FAILED
