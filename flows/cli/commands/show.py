"""A finished run's replies in the terminal."""

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from basic_control.data.errors import InputError
from basic_control.flows.cli import console
from basic_control.flows.cli.options import RUN, USUAL, Where

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from basic_control.tasks.compare.rows import ShownRow

REASONS = 5
"""The most reasons that are counted at the end."""


def show(
    run: Annotated[str, RUN] = "last",
    /,
    *,
    failed: bool = False,
    metric: tuple[str, ...] = (),
    model: str = "",
    n: Annotated[int, Parameter(name=["-n", "--n"], metavar="N", validator=Number(gte=1))] = 10,
    at: Where = USUAL,
) -> None:
    """Show a run's replies, the worst first: what was asked, what came back, what was expected.

    Args:
        run: a run's id or folder (default: the last finished run)
        failed: only replies with less than the full score, and missing ones
        metric: by this metric, such as exact_match; may be repeated (default: those that decide)
        model: only replies of this model
        n: maximum number of rows
    """
    from basic_control.tasks.compare.rows import list_worst_first
    from basic_control.tasks.compare.sides import load_side
    from basic_control.tasks.report.rows import lines_of
    from basic_control.tasks.report.words import suite_title
    from basic_control.tasks.store.runs import find

    side = load_side(find(run, at.runs), at.root)
    rows = list_worst_first(side, metric)
    if not rows and metric:
        names = ", ".join(sorted(set(side.scores["metric"])))
        raise InputError(
            f"--metric {', '.join(metric)}: run {side.name} has no such scores; expected some of {names}."
        )
    if model:
        models = dict.fromkeys(map(attrgetter("model"), rows))
        rows = [row for row in rows if row.model == model]
        if not rows:
            names = ", ".join(models)
            raise InputError(f"--model {model}: run {side.name} has no reply of it; expected one of {names}.")
    wrong_rows = [row for row in rows if row.is_failed]
    width, _ = console.room()
    console.show(f"Run {side.name}: {len(rows)} replies, {len(wrong_rows)} with less than the full score.")
    # Each score of a suite and model has a list of its own, in the order of the rows.
    groups: dict[tuple[str, str, str], list[ShownRow]] = {}
    for row in wrong_rows if failed else rows:
        groups.setdefault((row.suite, row.model, row.metric), []).append(row)
    for (suite, name, scored_by), group in groups.items():
        console.show("", f"{suite_title(suite)}, {name}, {scored_by}: {len(group)}")
        for line in (*lines_of(group, n, width - 2), *_count_reasons(group)):
            console.show(f"  {line}")


def _count_reasons(rows: "Sequence[ShownRow]") -> "Iterator[str]":
    """Yield one line with the commonest reasons of lost points, if several rows share one."""
    counts = Counter(row.reason for row in rows if row.is_failed and row.reason)
    shared = [f"{reason} × {count}" for reason, count in counts.most_common(REASONS) if count > 1]
    if shared:
        yield f"Why points were lost: {'; '.join(shared)}"
