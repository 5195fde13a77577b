"""A finished run's replies in the terminal."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from basic_control.data.errors import InputError
from basic_control.flows.cli import console
from basic_control.flows.cli.options import RUN, USUAL, Where

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    from basic_control.tasks.compare.rows import rows_of
    from basic_control.tasks.compare.sides import side_of
    from basic_control.tasks.report.rows import lines_of
    from basic_control.tasks.report.words import suite_title
    from basic_control.tasks.store.runs import find_last

    side = side_of(find_last(run, at.runs), at.root)
    rows = rows_of(side, metric)
    if not rows and metric:
        known = ", ".join(sorted(set(side.scores["metric"])))
        raise InputError(
            f"--metric {', '.join(metric)}: run {side.name} has no such scores; expected some of {known}."
        )
    if model and model not in {row.model for row in rows}:
        known = ", ".join(dict.fromkeys(row.model for row in rows))
        raise InputError(f"--model {model}: run {side.name} has no reply of it; expected one of {known}.")
    rows = [row for row in rows if model in {"", row.model}]
    wrong = [row for row in rows if row.is_failed]
    shown = wrong if failed else rows
    width, _ = console.room()
    console.show(f"Run {side.name}: {len(rows)} replies, {len(wrong)} with less than the full score.")
    groups = dict.fromkeys((row.suite, row.model, row.metric) for row in shown)
    for suite, name, scored_by in groups:
        listed = [row for row in shown if (row.suite, row.model, row.metric) == (suite, name, scored_by)]
        console.show("", f"{suite_title(suite)}, {name}, {scored_by}: {len(listed)}")
        console.show(*(f"  {line}" for line in lines_of(listed, n, width - 2)), *_counted_reasons(listed))


def _counted_reasons(rows: "Sequence[ShownRow]") -> list[str]:
    """Return one line with the commonest reasons of lost points, if several rows share one."""
    counts = Counter(row.reason for row in rows if row.is_failed and row.reason)
    shared = [f"{count} {reason}" for reason, count in counts.most_common(REASONS) if count > 1]
    return [f"  {'; '.join(shared)}"] if shared else []
