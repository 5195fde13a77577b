"""What to know of the sides of a comparison: causes of a difference beside the replies, and what is left out."""

from collections.abc import Iterator, Sequence

import polars as pl

from basic_control.metrics.analysis.rules import changed_units
from basic_control.metrics.stats.intervals import MIN_CLUSTERS
from basic_control.tasks.compare.runs import RunComparison
from basic_control.tasks.compare.sides import metrics_of, select_deciding_scores
from basic_control.tasks.exchange.tables import Side
from basic_control.tasks.report.language import say
from basic_control.tasks.report.regressions import describe_question_changes


def notes(comparison: RunComparison) -> list[str]:
    """Return remarks on what was compared: what may explain a difference, and what changed in the questions."""
    sides = comparison.runs
    lines = [*_list_changed_code(comparison)]
    if comparison.alone:
        lines.append(say("compare.alone", names=", ".join(comparison.alone)))
    lines += remarks(sides)
    for suite in comparison.doubled if any(side.is_file for side in sides) else ():
        counts = {"n": suite.n_repeating, "total": suite.n_rows}
        lines.append(say("compare.doubled", suite=suite.suite, **counts))
    # Each run's questions are compared with those of the first that has the suite.
    for run, changes in comparison.moved.items():
        lines += [f"{run}: {line}" for moved in changes for line in describe_question_changes(moved)]
    return lines


def _list_changed_code(comparison: RunComparison) -> Iterator[str]:
    """Yield which scoring code changed between runs: the replies scored again, and those that could not be."""
    rescored = comparison.rescored
    for name, units in rescored.items():
        yield say("compare.rescored", name=name, units=", ".join(units))
    runs = [side for side in comparison.runs if not side.is_file]
    changed = set[str]()
    for side in runs[:-1]:
        changed |= {*changed_units(side.provenance, runs[-1].provenance)} - {*rescored.get(side.name, ())}
    if changed:
        yield say("compare.rules_changed", units=", ".join(sorted(changed)))


def remarks(sides: Sequence[Side]) -> Iterator[str]:
    """Yield remarks on the files among the sides: missing data, repeats, judges."""
    files = [side for side in sides if side.is_file]
    if plain := [side.name for side in files if not side.verified]:
        yield say("compare.stated", names=", ".join(plain))
    stated = dict.fromkeys(fact for side in files for fact in side.provenance.tested)
    for side in files:
        yield from (f"{side.name}: {remark}" for remark in side.remarks)
        yield from _counts(side)
        for metric, judge in side.judged.items():
            yield say("compare.judged", name=side.name, metric=metric, judge=judge)
        if silent := [fact for fact in stated if fact not in side.provenance.tested]:
            yield say("compare.silent", name=side.name, keys=", ".join(silent))
    if files:
        yield from _list_lacking_metrics(sides)
    if files and len(sides) > 1:
        by_id = all((side.items["question_id"] != side.items["text_digest"]).any() for side in sides)
        yield say(f"compare.paired_by_{'id' if by_id else 'text'}")


def _list_lacking_metrics(sides: Sequence[Side]) -> Iterator[str]:
    """Yield for each side the metrics of others that it lacks; for runs alone their suites show it."""
    metrics = {metric for side in sides for metric in metrics_of(side)}
    for side in sides:
        if gone := metrics.difference(metrics_of(side)):
            yield say("compare.lacking", name=side.name, metrics=", ".join(sorted(gone)))


def _counts(side: Side) -> Iterator[str]:
    """Yield a line for each kind of row that is not simply counted."""
    main = select_deciding_scores(side, [(suite, metrics[0]) for suite, metrics in side.score.items()])
    templates = side.items.filter(pl.col("template") != "").group_by("suite", "template").len()
    # With fewer clusters the questions are the units, which is noted with the figures.
    several = templates.filter(pl.col("len") > 1).filter(pl.len().over("suite") >= MIN_CLUSTERS)
    counts = {
        "repeated": side.replies.filter(pl.col("repeat") > 0)["item_id"].n_unique(),
        "missing": main["value"].null_count(),
        "cut": side.scores.filter(status="truncated").select("item_id", "model", "repeat").n_unique(),
        "templates": several.height,
    }
    total = side.scores["item_id"].n_unique()
    for name, n in counts.items():
        if n:
            yield say(f"compare.{name}", name=side.name, n=n, total=total)
