"""Results on renewed items: a model's accuracy on twins, and how many of the originals have one."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import polars as pl

from basic_control.data.questions import format_question
from basic_control.data.suites import Suite
from basic_control.metrics.analysis.results import TwinFindings
from basic_control.metrics.analysis.twins import TwinDifference, TwinResult, count_twins, list_right_metrics
from basic_control.metrics.stats.intervals import Interval, MeanEstimate
from basic_control.tasks.report.language import say, say_reason
from basic_control.tasks.report.tables import Column, Table
from basic_control.tasks.report.text import (
    add_interval,
    clip_text,
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
    "changed_": ("model", "suite", "twins", "original", "original_reply", "twin", "twin_reply"),
}
_POINT = 100
PAIRS = 50
"""Pairs that a report shows side by side."""
MOST = 3
"""Maximum lines on a run's last screen."""
_LONGEST = 400
_KEY = ["item_id", "model", "repeat"]
_BEFORE = "_original"


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


def _table(which: str, rows: Iterable[Mapping[str, str]], **note: str) -> Table:
    def column(name: str) -> Column:
        section = "common" if name in {"model", "suite", "metric"} else "twins"
        is_number = name in {"pairs", "mean", "against", "difference"}
        return Column(say(f"{section}.{name}"), itemgetter(name), numeric=is_number)

    return Table.of(
        rows,
        *map(column, _COLUMNS[which]),
        title=say(f"twins.{which}head"),
        caption=say(f"twins.{which}note", **note),
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
                "difference": points(difference.difference) + _ends(difference.interval),
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


def _ends(interval: Interval) -> str:
    return add_interval("", points_around(interval))


def _robust(result: TwinResult) -> str:
    return format_estimate(MeanEstimate(result.robust, result.robust_interval))


def build_pairs_table(
    suites: Iterable[Suite],
    originals: tuple[pl.DataFrame, pl.DataFrame],
    twins: tuple[pl.DataFrame, pl.DataFrame],
) -> Table | None:
    """Return the pairs with one right and one wrong reply, side by side; None if a run has none.

    `originals` are their replies and scores; so are `twins`, whose replies have `kind` and `original`.
    """
    if twins[0].is_empty():
        return None
    # Of each suite, the first metric that tells right replies from wrong ones.
    deciding: dict[str, str] = {}
    for suite in suites:
        if suite.twins:
            name = next(iter(list_right_metrics(suite)), None)
            if name is not None:
                deciding[suite.name] = name
    after, before = _join_scores(*twins, deciding), _join_scores(*originals, deciding)
    # Where both replies are right, or both wrong, there is nothing to see.
    pairs = after.join(
        before, left_on=["original", *_KEY[1:]], right_on=_KEY, suffix=_BEFORE, maintain_order="left"
    ).filter((pl.col("value") == 1) != (pl.col(f"value{_BEFORE}") == 1))
    rows = [
        {**pair, "twins": pair["kind"], **_side(pair, "original", _BEFORE), **_side(pair, "twin", "")}
        for pair in pairs.head(PAIRS).iter_rows(named=True)
    ]
    return _table("changed_", rows, n=format_number(pairs.height), shown=format_number(len(rows)))


def _join_scores(replies: pl.DataFrame, scores: pl.DataFrame, metrics: Mapping[str, str]) -> pl.DataFrame:
    """Return replies with their scores by one metric of each suite, without those that have none."""
    is_deciding = pl.col("metric") == pl.col("suite").replace_strict(metrics, default="")
    values = scores.select(*_KEY, "metric", "value").drop_nulls()
    return replies.join(values, on=_KEY).filter(is_deciding)


def _side(pair: Mapping[str, Any], name: str, side: str) -> dict[str, str]:
    """Return a question with its expected answer, and the reply with whether it is right."""
    facts, text = json.loads(pair[f"facts{side}"]), (pair[f"text{side}"] or "").strip()
    question = facts.get("question") or format_question(pair[f"prompt{side}"], facts)
    reply = text
    if len(text) > _LONGEST:
        reply = f"…{text[-_LONGEST:]}"  # the answer is at the end
    mark = "✓" if pair[f"value{side}"] == 1 else "✗"
    return {name: f"{clip_text(question, _LONGEST)} → {pair[f'answer{side}']}", f"{name}_reply": f"{mark} {reply}"}


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
