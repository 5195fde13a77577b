"""`label`: people's labels of a run's judged replies, and what they make of its means."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from basic_control.data.commands import format_command
from basic_control.flows.cli.console import room, show, show_screen, show_written
from basic_control.flows.cli.options import RUN, USUAL, File, Where

if TYPE_CHECKING:
    from basic_control.tasks.judges.labels import Labelled
    from basic_control.tasks.report.tables import Table


def label(
    run_name: Annotated[str, Parameter(name="RUN"), RUN],
    /,
    *,
    n: Annotated[int, Parameter(metavar="N", validator=Number(gte=1))] = 50,
    metric: str = "",
    out: Annotated[File, Parameter(name=("--out", "-o"))] = "",
    labels: Annotated[tuple[str, ...], Parameter(metavar="FILE", json_list=False)] = (),
    at: Where = USUAL,
) -> None:
    """Draw replies for people to label; with --labels, join their labels with the judge's scores.

    The sheet is a CSV file: fill in its column `label` with a number from 0 to 1, or yes and no; a second labeller
    uses a column `label_2`, or a separate sheet. The estimate is prediction-powered: the judge on all
    replies, corrected by the labels on some, with an interval, and with how many labels would halve it.

    Args:
        run_name: a finished run's id, the path of its folder, or last
        n: replies of each suite, model and metric to label (default: 50)
        metric: only this judged metric
        out: where the sheet is written (default: labels.csv in the run's folder)
        labels: a completed sheet; may be repeated, one for each labeller
    """
    from functools import partial

    from basic_control.config.declared import suites_in
    from basic_control.tasks.judges.cascades import collect_judged, members_in
    from basic_control.tasks.judges.labels import (
        LABELS,
        criteria_of,
        estimates,
        load_judged,
        read_labels,
        sheet,
        store_labels,
    )
    from basic_control.tasks.judges.recalled import list_recalls, list_silent
    from basic_control.tasks.report.exports import write_csv
    from basic_control.tasks.report.fitting import fit_table
    from basic_control.tasks.store.runs import find_run, load_table

    run = find_run(run_name, at.runs)
    judged_replies = load_judged(run, at.root)
    # Without labels the command draws the sheet, with them it joins them.
    if not labels:
        drawn = sheet(judged_replies, n=n, metric=metric)
        path = Path(out or run.folder / "labels.csv")
        show_written([write_csv(drawn, path)])
        return
    rows = read_labels(*map(Path, labels))
    joined = estimates(judged_replies, rows)
    if joined:
        show(*fit_table(table_of(joined), room()[0]))
    for estimate in joined:
        agreement = estimate.agreement
        if agreement is not None and agreement.alpha is not None:
            low, high = agreement.interval.low or 0.0, agreement.interval.high or 0.0
            measure = f"Krippendorff's alpha {agreement.alpha:.2f} [{low:.2f}, {high:.2f}]"
            show_screen(
                f"{estimate.suite}, {estimate.model}, {estimate.metric}: the labellers agree by {measure} on "
                f"{agreement.n_units} replies labelled twice."
            )
    # The labels outlast the run: later runs of the same replies find them by criterion, question and reply.
    identities, members = run.manifest.get("judge_identities", {}), members_in(run.configuration)
    collect = partial(collect_judged, identities=identities, members=members)
    show_written(
        store_labels(
            judged_replies, rows, criteria_of(suites_in(run.configuration)), run.folder.parent / LABELS, collect
        )
    )
    silent = list_silent(run.configuration.get("judges", ()))
    for recall in list_recalls(judged_replies, rows, load_table(run, "judge_requests", at.root), silent):
        show_screen(
            f"Judge {recall.judge} does not count and was not asked about {recall.replies} of these replies. The "
            f"labels correct it, so that the next run asks it: about {recall.calls} calls (`--dry-run` counts)."
        )
    again = format_command(f"run --run {run.name} --rerun report --set judges_must_have=labels")
    show_screen(f"Later runs of these replies use the labels. To gate this run on them: {again}")


def table_of(joined: "list[Labelled]") -> "Table":
    """Return the estimates from labels: each with its interval, and its numbers of labels and samples.

    If there are too few labels for an interval, no estimate from the labels alone is shown.
    """
    from basic_control.metrics.stats.intervals import MeanEstimate
    from basic_control.tasks.report.tables import Column, Table
    from basic_control.tasks.report.text import format_estimate

    def format_labelled(row: "Labelled") -> str:
        # Too few labels for an interval: no estimate from them alone.
        if row.powered.reason:
            return "–"
        return format_estimate(row.powered.labelled)

    def format_corrected(row: "Labelled") -> str:
        return row.powered.reason or format_estimate(MeanEstimate(row.powered.value, row.powered.interval))

    def format_weight(row: "Labelled") -> str:
        if row.powered.reason:
            return "–"
        return f"{row.powered.weight:.2f}"

    def format_halving(row: "Labelled") -> str:
        return "–" if row.powered.n_halving is None else f"{row.powered.n_halving} labels"

    return Table.of(
        joined,
        Column("suite", lambda row: row.suite),
        Column("model", lambda row: row.model),
        Column("metric", lambda row: row.metric),
        Column("labels", lambda row: f"{row.powered.n_labels} of {row.powered.n_samples}"),
        Column("judge", lambda row: format_estimate(row.powered.judged)),
        Column("labels alone", format_labelled),
        Column("estimate", format_corrected),
        Column("weight of the judge (λ)", format_weight),
        Column("to halve the interval", format_halving),
    )
