"""Pin the scores of a run as a baseline, which later runs are compared with (docs/baselines.md)."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from basic_control.data.commands import BASELINES
from basic_control.data.errors import InputError
from basic_control.data.exits import Exit
from basic_control.flows.cli.console import show, show_written
from basic_control.flows.cli.options import RUN, USUAL, Folder, Name, Where

if TYPE_CHECKING:
    from basic_control.tasks.store.runs import Run


def set_(name: Name, run: Annotated[str, RUN], /, *, at: Where = USUAL) -> None:
    """Pin a finished run's scores: ids of questions, values, rules and digests, no texts. A file to commit.

    Args:
        name: the baseline's name, or a path that ends in .json; an earlier one of that name is replaced
        run: a run's id, or the path of its folder
    """
    from basic_control.tasks.compare.baseline import pin
    from basic_control.tasks.store.baselines import find_path, write_baseline
    from basic_control.tasks.store.runs import find_run

    pinned_run = find_run(run, at.runs)
    path = write_baseline(pin(name, pinned_run, at.root), find_path(name))
    show_written([f"{path}{_note_failure(pinned_run)}"])


def _note_failure(run: "Run") -> str:
    """Return a note that a run failed its gate; '' if it did not, or its results cannot be read."""
    from basic_control.tasks.store.runs import load_results

    # A baseline is made of a run's tables: it needs no results.
    with suppress(InputError):
        if load_results(run)[1].exit_code == Exit.FAILED:
            return f" (run {run.name} failed its gate)"
    return ""


def list_(folder: Folder = BASELINES, /) -> None:
    """List the baselines.

    Args:
        folder: where they are
    """
    from basic_control.tasks.store.baselines import list_files, read_baseline

    paths = list_files(folder)
    for path in paths:
        baseline = read_baseline(str(path))
        models, suites = ", ".join(sorted(baseline.side.models)), ", ".join(baseline.side.provenance.suites)
        show(f"{baseline.name}: run {baseline.run}, {baseline.started[:19]}; {models}; {suites}")
    if not paths:
        show(f"{folder} has no baseline. Set one from a finished run: basic-control baseline set NAME RUN.")


def show_(name: Name, /) -> None:
    """Show a baseline: its models' means (or TOTAL) in each suite, the rules that decided, and what was tested.

    Args:
        name: the baseline's name, or a path that ends in .json
    """
    import polars as pl

    from basic_control.metrics.analysis.observations import composites, observations, question_values
    from basic_control.metrics.analysis.provenance import one_line
    from basic_control.metrics.analysis.summary import suite_mean
    from basic_control.tasks.report.text import percent
    from basic_control.tasks.store.baselines import read_baseline

    pinned = read_baseline(name)
    show(f"Baseline {pinned.name}: run {pinned.run}, {pinned.started[:19]}")
    provenance = pinned.side.provenance
    once = observations(pinned.side.scores, pinned.side.items)
    values = question_values(once.scores, once.items)
    for suite, suite_rules in provenance.suites.items():
        for metric, shares in suite_rules.lines.items():
            title = " ".join(filter(None, (suite, metric if len(suite_rules.lines) > 1 else "")))
            rows = values.filter(pl.col("metric").is_in([*shares]), suite=suite)
            for (model,), model_rows in rows.group_by("model", maintain_order=True):
                mean = suite_mean(model_rows, strata=bool(suite_rules.rules.get("strata")), shares=shares).mean
                scored = composites(model_rows, shares)["value"]
                show(f"  {title} {model}: {percent(mean)}, {scored.count()} / {len(scored)} scored")
    for suite, suite_rules in provenance.suites.items():
        for path, value in suite_rules.rules.items():
            # An only suite has nothing beside it to weigh.
            if path == "weight" and len(provenance.suites) == 1:
                continue
            show(f"  {suite}: {path.removeprefix('metrics.')}: {one_line(value)}")
    for path, value in (*provenance.rules.items(), *provenance.units.items(), *provenance.tested.items()):
        if not _is_unused_sample(path, provenance.tested):
            show(f"  {path}: {one_line(value)}")


def _is_unused_sample(path: str, facts: Mapping[str, object]) -> bool:
    """Return whether a fact is of a sample's draw, such as items.sample.n of suite s, where all rows are asked."""
    key, _, suite = path.partition(" ")
    is_of_draw = key in {"items.sample.n", "items.sample.seed"}
    return is_of_draw and facts.get(f"items.sample.method {suite}") == "all"


VERBS = (set_, list_, show_)
