"""Results on renewed items: a model's accuracy on twins, and how many of the originals have one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter

from basic_control.metrics.analysis.results import TwinFindings
from basic_control.metrics.analysis.twins import TwinDifference, TwinResult, count_twins
from basic_control.metrics.stats.intervals import MeanEstimate
from basic_control.tasks.report.language import say, say_reason
from basic_control.tasks.report.tables import Column, Table
from basic_control.tasks.report.text import (
    add_interval,
    format_estimate,
    format_number,
    localize_digits,
    percent,
    points,
    points_around,
)
from basic_control.tasks.report.titles import metric_title

_COLUMNS = {
    "": ("model", "suite", "metric", "twins", "pairs", "mean", "against", "difference", "says"),
    "made_": ("suite", "twins", "made", "reasons"),
}
_POINT = 100
MOST = 3
"""Maximum lines on a run's last screen."""


def sentence(difference: TwinDifference) -> str:
    """Return a difference in words that claim no more than it shows."""
    name: str = difference.outcome
    if name in {"falls", "rises"}:
        kind: str = difference.kind
        if kind not in {"numbers", "names"}:
            kind = "other"
        # Only beside a twin with other names does a drop at other numbers say which of the two it is.
        if kind == "numbers" and difference.against != "names":
            kind = "numbers_alone"
        name = f"{name}_{kind}"
    elif name == "unknown" and difference.needed:
        name = "unknown_needed"
    # Sentences tell the size of a fall or rise in words: its ends without their signs, the smaller first.
    ends = (difference.interval.low, difference.interval.high)
    low, high = sorted(_POINT * abs(end or 0.0) for end in ends)
    return say(
        f"twins.{name}",
        n=format_number(difference.n),
        needed=format_number(difference.needed) if difference.needed else "",
        kind=difference.kind,
        points=localize_digits(f"{_POINT * abs(difference.difference or 0.0):.1f}"),
        low=localize_digits(f"{low:.1f}"),
        high=localize_digits(f"{high:.1f}"),
    )


def tables(twins: TwinFindings) -> list[Table]:
    """Return the results on twins, and how many originals have one; nothing if a run has none."""
    if not twins.counts:
        return []
    renewed = []
    for (suite, kind), (n, total) in count_twins(twins.counts).items():
        reasons = [count for count in twins.counts if (count.suite, count.kind) == (suite, kind) and count.reason]
        reason_counts = "; ".join(f"{say_reason(count.reason)}: {count.n}" for count in reasons)
        renewed.append({"suite": suite, "twins": kind, "made": f"{n} / {total}", "reasons": reason_counts})
    return [_table("", _rows(twins.results)), _table("made_", renewed)]


def _table(which: str, rows: Iterable[Mapping[str, str]]) -> Table:
    def column(name: str) -> Column:
        section = "common" if name in {"model", "suite", "metric"} else "twins"
        is_number = name in {"pairs", "mean", "against", "difference"}
        return Column(say(f"{section}.{name}"), itemgetter(name), numeric=is_number)

    return Table.of(
        rows,
        *map(column, _COLUMNS[which]),
        title=say(f"twins.{which}head"),
        caption=say(f"twins.{which}note"),
        name=f"twins-{which}".strip("_-"),
    )


def _rows(results: Iterable[TwinResult]) -> Iterator[Mapping[str, str]]:
    """Yield a row for each difference, and one for the share right in all twins, of each model and suite."""
    for result in results:
        names = {"model": result.model, "suite": result.suite, "metric": metric_title(result.metric)}
        for difference in result.differences:
            yield names | {
                "twins": f"{difference.kind} − {difference.against}",
                "pairs": str(difference.n),
                "mean": percent(difference.mean),
                "against": percent(difference.mean_against),
                "difference": add_interval(points(difference.difference), points_around(difference.interval)),
                "says": sentence(difference),
            }
        yield names | {
            "twins": say("twins.every"),
            "pairs": str(result.n_robust),
            "mean": _robust(result),
            "against": "–",
            "difference": "–",
            "says": say("twins.right_in_all"),
        }


def _robust(result: TwinResult) -> str:
    return format_estimate(MeanEstimate(result.robust, result.robust_interval))


def lines(results: Sequence[TwinResult]) -> Iterator[str]:
    """Yield lines of differences and robust shares: the largest drops first, then the number of others."""
    drops, remaining = list[str](), list[str]()
    for result in results:
        for difference in result.differences:
            line = f"{result.model}, {result.suite}, {difference.kind}: {sentence(difference)}"
            if difference.outcome == "falls":
                drops.append(line)
            else:
                remaining.append(line)
        names = {"model": result.model, "suite": result.suite, "n": result.n_robust}
        remaining.append(say("twins.robust", share=_robust(result), **names))
    all_lines = drops + remaining
    yield from all_lines[:MOST]
    if len(all_lines) > MOST:
        yield say("screen.folded", n=len(all_lines) - MOST)
