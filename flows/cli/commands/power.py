"""`power`: how many questions would show a drop, from results that there are; when incoming results are enough."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from data.errors import InputError
from data.exits import Exit
from flows.cli.completers import RUN
from flows.cli.console import show
from flows.cli.options import FileOptions, Where

if TYPE_CHECKING:
    from metrics.stats.intervals import Floats

DROPS = (0.01, 0.02, 0.05, 0.1)


def power(
    *named: Annotated[str, RUN],
    drop: tuple[float, ...] = DROPS,
    metric: str = "",
    until_decided: bool = False,
    threshold: float | None = None,
    form: FileOptions | None = None,
    at: Where | None = None,
) -> int:
    """Say how many questions would show a drop with power 0.8, from the spread of a run's or a file's own results.

    With two files, by how often the two differ; with one, as if two runs answered independently, the worst case.
    With --until-decided it reads a score a line (a number, or JSON with `score`) on standard input instead, and
    ends as soon as the mean is told apart from --threshold: 0 above, 1 below, 3 undecided when the input ends.

    Args:
        named: one or two runs, or files of other tools
        drop: the drops in question, in 0 to 1; may be repeated (default: 0.01, 0.02, 0.05, 0.1)
        metric: the metric (default: the first that they have)
        until_decided: read scores on standard input until the threshold is decided
        threshold: what the mean is compared with
    """
    if until_decided:
        if threshold is None or not 0 < threshold < 1 or named:
            raise InputError("--until-decided: expected --threshold SHARE in 0 to 1 beside it, and no file.")
        return _until(threshold)
    if len(named) not in {1, 2}:
        raise InputError(f"power: found {len(named)} runs or files, expected one or two.")
    if wrong := [one for one in drop if not 0 < one < 1]:
        raise InputError(f"--drop {wrong[0]:g}: expected a share, in 0 to 1.")
    from metrics.analysis.needed import needed, spread
    from tasks.report.tables import Column, Table
    from tasks.report.text import grouped, percent, points

    where = at or Where()
    values, other, name = _values(named, where.runs, where.root, metric, form or FileOptions())
    found = spread(values, other)
    how = "as these two differ" if found.seen else "as if two runs answered independently"
    show(f"{name}: mean {percent(found.mean)} over {found.n} questions; {how}.")
    enough = Table.of(
        needed(found, drop),
        Column("drop, points", lambda one: points(one.drop).lstrip("+")),
        Column(
            "questions needed", lambda one: "more than 1 000 000" if one.n is None else grouped(one.n), numeric=True
        ),
    )
    show(enough.terminal())
    return Exit.PASSED


def _values(
    named: tuple[str, ...], runs: Path, root: str, metric: str, form: FileOptions
) -> "tuple[Floats, Floats | None, str]":
    """Return each question's value, of a second file too where there is one, and what they are of."""
    import polars as pl

    from metrics.analysis.questions import align
    from metrics.analysis.values import question_values
    from tasks.compare.sides import shared_metrics, sides

    found = sides(named, runs=runs, root=root, form=form.form())
    there = shared_metrics(found)
    chosen = metric or next(iter(there), "")
    if chosen not in there:
        raise InputError(f"--metric {metric or 'METRIC'}: expected one of {', '.join(there) or 'none'}.")
    aligned = align({side.name: side.items for side in found})
    frames, names = [], []
    for side in found:
        scores = side.scores.filter(metric=chosen).with_columns(pl.col("item_id").replace(aligned.ids[side.name]))
        model = scores["model"][0] if scores.height else ""
        values = question_values(scores.filter(model=model), aligned.items).drop_nulls("value")
        frames.append(values.select("item_id", "value"))
        names.append(f"{model} of {side.name}")
    both = frames[0] if len(frames) == 1 else frames[0].join(frames[1], on="item_id", suffix="_other")
    if both.is_empty():
        raise InputError(
            "power: found no scored question, expected some" + (" in common." if len(frames) > 1 else ".")
        )
    other = both["value_other"].to_numpy() if len(frames) > 1 else None
    return both["value"].to_numpy(), other, f"{chosen}, {' and '.join(names)}"


def _until(threshold: float) -> int:
    """Follow the mean of the scores on standard input until it is told apart from the threshold."""
    from metrics.stats.power import ALPHA
    from metrics.stats.sequential import follow, side
    from tasks.report.text import percent

    seen: list[float] = []
    looks = [1]
    for value in _scores():
        seen.append(value)
        if len(seen) < looks[-1]:
            continue
        look = follow(seen, alpha=ALPHA, looks=looks)[-1]
        if where := side(look, threshold):
            show(f"decided after {look.n}: mean {percent(look.mean)}, {percent(look.low)} to {percent(look.high)}, "
                 f"{where} {percent(threshold)}")  # fmt: skip
            return Exit.PASSED if where == "above" else Exit.FAILED
        looks.append(len(seen) + max(1, len(seen) // 20))  # ever more rarely, so that the work stays small
    if not seen:
        raise InputError("--until-decided: found no score on standard input, expected one a line.")
    last = follow(seen, alpha=ALPHA, looks=[*looks[:-1], len(seen)])[-1]
    show(f"undecided after {last.n}: mean {percent(last.mean)}, {percent(last.low)} to {percent(last.high)}; "
         f"the threshold is {percent(threshold)}")  # fmt: skip
    return Exit.UNDECIDED


def _scores() -> Iterator[float]:
    from tasks.exchange.records import share

    for number, line in enumerate(sys.stdin, 1):
        if not line.strip():
            continue
        try:
            read = json.loads(line)
        except (ValueError, RecursionError):
            read = None
        value = share(read.get("score", read.get("correct")) if isinstance(read, dict) else read)
        if value is None:
            raise InputError(f"standard input, line {number}: expected a score in 0 to 1, or JSON with `score`.")
        yield value
