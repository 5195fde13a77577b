"""Pin the scores of a run as a baseline, for later runs to be held against (docs/baselines.md)."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from data.commands import BASELINES
from flows.cli.completers import RUN
from flows.cli.console import show, written

Folder = Annotated[str, Parameter(metavar="FOLDER", help="where baselines are")]


def set_(
    name: Annotated[str, Parameter(metavar="NAME")],
    run: Annotated[str, RUN],
    /,
    *,
    runs: Annotated[str, Parameter(metavar="FOLDER")] = "",
    root: Annotated[str, Parameter(metavar="FOLDER")] = "",
    folder: Folder = BASELINES,
) -> None:
    """Pin a finished run's scores: item ids, values, versions and digests, no texts. A file to commit.

    Args:
        name: what the baseline is called; an earlier one of that name is replaced
        run: a run's id, or the path of its folder
        runs: where runs are (default: artifacts/runs)
        root: the store of their tables, where it has moved since
    """
    from artifacts.baselines import path_of, pin, write
    from artifacts.runs import find
    from config.declared import suites_in
    from config.settings import Store

    found = find(run, Path(runs or Store().runs))
    suites = {suite.name: suite.scored_by for suite in suites_in(found.configuration)}
    written([write(pin(name, found, suites, root), path_of(name, folder))])


def list_(*, folder: Folder = BASELINES) -> None:
    """List the baselines."""
    from artifacts.baselines import files, read

    there = files(folder)
    for path in there:
        one = read(str(path))
        models = ", ".join(one.scores["model"].unique().sort())
        show(f"{one.name}: run {one.run}, {one.started[:19]}; {models}; {', '.join(one.suites)}")
    if not there:
        show(f"{folder} holds no baseline. Set one from a finished run: basic-control baseline set NAME RUN.")


def show_(name: Annotated[str, Parameter(metavar="NAME")], /, *, folder: Folder = BASELINES) -> None:
    """Show what a baseline holds: its models' means in each suite, and the facts behind them.

    Args:
        name: what the baseline is called
        folder: where baselines are
    """
    from artifacts.baselines import read
    from metrics.baseline import values_of
    from tasks.report.text import percent

    one = read(name, folder)
    show(f"Baseline {one.name}: run {one.run}, {one.started[:19]}")
    for suite, metrics in one.suites.items():
        for (model,), own in values_of(one.scores.filter(suite=suite), metrics).group_by(
            "model", maintain_order=True
        ):
            scored = own["value"].drop_nulls()
            mean = None if scored.is_empty() else float(scored.sum()) / len(scored)
            show(f"  {suite} {model}: {percent(mean)}, {len(scored)} / {own.height} scored")
    for kind in ("verifiers", "judges", "identities", "sampling"):
        for key, value in (one.facts.get(kind) or {}).items():
            told = ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
            show(f"  {kind}: {key} {told}")


VERBS = (set_, list_, show_)
