"""`label`: people's labels of a run's judged replies, and what they make of its means."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from data.commands import typed
from flows.cli.console import show, written

if TYPE_CHECKING:
    from rich.table import Table

    from tasks.labels import Labelled


def label(
    named: Annotated[str, Parameter(name="RUN")],
    /,
    *,
    n: Annotated[int, Parameter(metavar="N")] = 50,
    by: Literal["random", "uncertainty"] = "random",
    metric: str = "",
    seed: int = 0,
    out: Annotated[str, Parameter(metavar="FILE")] = "",
    labels: Annotated[tuple[str, ...], Parameter(metavar="FILE", json_list=False)] = (),
    folder: Annotated[str, Parameter(name="--runs", metavar="FOLDER")] = "",
    root: Annotated[str, Parameter(metavar="FOLDER")] = "",
) -> None:
    """Draw replies for people to label; with --labels, join their labels with the judge's scores.

    The sheet is a CSV file: fill its column `label` with a number from 0 to 1, or yes and no; a second labeller
    takes a column `label_2`, or a sheet of their own. The estimate is prediction-powered: the judge on all
    replies, put right by the labels on some, with an interval, and with how many labels would halve it.

    Args:
        named: a finished run's id, or the path of its folder
        n: replies of each suite, model and metric to label (default: 50)
        by: random, or more of those that the judge is unsure of
        metric: only this judged metric
        seed: which replies are drawn
        out: where the sheet is written (default: labels.csv in the run's folder)
        labels: a filled sheet; may be repeated, one for each labeller
        folder: where runs are (default: artifacts/runs)
        root: the store of their tables, where it has moved since
    """
    from artifacts.runs import find
    from artifacts.store import write_atomically
    from config.settings import Store
    from data.errors import InputError
    from tasks.labels import KEPT, estimates, judged, read_labels, sheet
    from tasks.report.exports import write_csv

    if n < 1:
        raise InputError(f"--n {n}: expected at least 1 reply.")
    run = find(named, Path(folder or Store().runs))
    found = judged(run, root)
    if labels:
        joined = estimates(found, read_labels(*map(Path, labels)))
        show(_table(joined), *_agreements(joined))
        content = json.dumps([one.as_dict() for one in joined], ensure_ascii=False, indent=1)
        write_atomically(run.folder / KEPT, content.encode())
        written([run.folder / KEPT])
        show(f"To gate on it: {typed(f'run --run {run.name} --rerun report --set judges_must_have=labels')}")
        return
    drawn = sheet(found, n=n, by=by, metric=metric, seed=seed)
    written([write_csv(drawn, Path(out) if out else run.folder / "labels.csv")])


def _agreements(joined: "list[Labelled]") -> Iterator[str]:
    """Say how several labellers agree."""
    for one in joined:
        if one.agreement is None or one.agreement.alpha is None:
            continue
        low, high = one.agreement.interval.low or 0.0, one.agreement.interval.high or 0.0
        yield (
            f"{one.suite}, {one.model}, {one.metric}: the labellers agree by Krippendorff's alpha "
            f"{one.agreement.alpha:.2f} [{low:.2f}, {high:.2f}] on {one.agreement.n_units} replies labelled twice."
        )


def _table(joined: "list[Labelled]") -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from data.characters import visible
    from tasks.report.text import percent

    heads = (
        "suite",
        "model",
        "metric",
        "labels",
        "judge",
        "labels alone",
        "estimate",
        "95 % interval",
        "λ",
        "to halve it",
    )
    table = Table(box=SIMPLE_HEAD, padding=0, pad_edge=False)
    for head in heads:
        table.add_column(head, overflow="fold")
    for one in joined:
        it = one.found
        low, high = it.interval.low, it.interval.high
        interval = it.reason if low is None or high is None else f"{percent(low)} – {percent(high)}"
        row = (
            one.suite, one.model, one.metric, f"{it.n_labels} of {it.n_samples}", percent(it.judged),
            percent(it.labelled), percent(it.value), interval, f"{it.rely:.2f}",
            "–" if it.n_halving is None else f"{it.n_halving} labels",
        )  # fmt: skip
        table.add_row(*(Text(visible(cell)) for cell in row))
    return table
