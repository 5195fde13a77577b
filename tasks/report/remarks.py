"""What to know of the sides of a comparison: causes of a difference beside the replies, and what is left out."""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from basic_control.metrics.analysis.provenance import list_changed_units
from basic_control.metrics.stats.intervals import MIN_CLUSTERS
from basic_control.tasks.compare.comparison import RunComparison
from basic_control.tasks.compare.sides import list_side_metrics, select_deciding_scores
from basic_control.tasks.exchange.frames import Side
from basic_control.tasks.report.language import say
from basic_control.tasks.report.regressions import describe_question_changes
from basic_control.tasks.report.text import join_names


def notes(comparison: RunComparison) -> list[str]:
    """Return remarks on what was compared: what may explain a difference, and what changed in the questions."""
    sides = comparison.runs
    lines = [*_list_changed_code(comparison)]
    if comparison.alone:
        lines.append(say("compare.alone", names=", ".join(comparison.alone)))
    lines += remarks(sides)
    # A run's own reports say which of its questions repeat; a file has no report.
    if _select_files(sides):
        for suite in comparison.doubled:
            counts = {"n": suite.n_repeating, "total": suite.n_rows}
            lines.append(say("compare.doubled", suite=suite.suite, **counts))
    # Each run's questions are compared with those of the first that has the suite.
    for run, changes in comparison.moved.items():
        for moved in changes:
            for line in describe_question_changes(moved):
                lines.append(f"{run}: {line}")
    return lines


def _select_files(sides: Sequence[Side]) -> list[Side]:
    return [side for side in sides if side.is_file]


def _list_changed_code(comparison: RunComparison) -> Iterator[str]:
    """Yield which scoring code changed between runs: the replies scored again, and those that could not be."""
    rescored = comparison.rescored
    for name, units in rescored.items():
        yield say("compare.rescored", name=name, units=", ".join(units))
    runs = [side for side in comparison.runs if not side.is_file]
    changed = set[str]()
    for side in runs[:-1]:
        changed |= {*list_changed_units(side.provenance, runs[-1].provenance)} - {*rescored.get(side.name, ())}
    if changed:
        yield say("compare.rules_changed", units=", ".join(sorted(changed)))


def name_deciding(sides: Sequence[Side], metric_by_suite: Mapping[str, str]) -> Iterator[str]:
    """Yield which metric decides, where sides have several, and those that could instead; once for suites alike."""
    suites_by_line: dict[str, list[str]] = {}
    for suite, metric in metric_by_suite.items():
        metrics_by_side = [side.metrics_by_suite[suite] for side in sides if suite in side.metrics_by_suite]
        shared_metrics = set(metrics_by_side[0]).intersection(*metrics_by_side)
        further = [*filter((shared_metrics - {metric}).__contains__, metrics_by_side[0])]
        if further:
            line = say("compare.decides", metric=metric, names=join_names(further))
            suites_by_line.setdefault(line, []).append(suite)
    for line, suites in suites_by_line.items():
        owners = ""
        if len(suites) < len(metric_by_suite):
            owners = f"{', '.join(suites)}: "
        yield f"{owners}{line}"


def remarks(sides: Sequence[Side]) -> Iterator[str]:
    """Yield remarks on the files among the sides: missing data, repeats, judges."""
    files = _select_files(sides)
    unverified = [side.name for side in files if not side.verified]
    if unverified:
        yield say("compare.stated", names=", ".join(unverified))
    # What any file states of its replies' conditions, in the order in which it comes first.
    facts: dict[str, None] = {}
    for side in files:
        facts |= dict.fromkeys(side.provenance.tested)
    for side in files:
        for remark in side.remarks:
            yield f"{side.name}: {remark}"
        yield from _counts(side)
        yield from _describe_judges(side)
        unstated = [fact for fact in facts if fact not in side.provenance.tested]
        if unstated:
            yield say("compare.silent", name=side.name, keys=", ".join(unstated))
    if files:
        yield from _list_lacking_metrics(sides)
    if files and len(sides) > 1:
        # A question without an identifier of its own is identified by its text.
        is_by_id = all((side.items["question_id"] != side.items["text_digest"]).any() for side in sides)
        if is_by_id:
            yield say("compare.paired_by_id")
        else:
            yield say("compare.paired_by_text")


def _describe_judges(side: Side) -> Iterator[str]:
    """Yield for each judge of a file which of its metrics come from it."""
    metrics_by_judge: dict[str, list[str]] = {}
    for metric, judge in side.judged.items():
        metrics_by_judge.setdefault(judge, []).append(metric)
    for judge, metrics in metrics_by_judge.items():
        if len(metrics) == 1:
            yield say("compare.judged", name=side.name, metric=metrics[0], judge=judge)
        else:
            yield say("compare.judged_several", name=side.name, metrics=join_names(metrics), judge=judge)


def _list_lacking_metrics(sides: Sequence[Side]) -> Iterator[str]:
    """Yield for each side the metrics of others that it lacks; for runs alone their suites show it."""
    metrics = set[str]().union(*map(list_side_metrics, sides))
    for side in sides:
        lacking = metrics.difference(list_side_metrics(side))
        if lacking:
            yield say("compare.lacking", name=side.name, metrics=", ".join(sorted(lacking)))


def _counts(side: Side) -> Iterator[str]:
    """Yield a line for each kind of row that is not simply counted."""
    main_metrics = [(suite, metrics[0]) for suite, metrics in side.metrics_by_suite.items()]
    main = select_deciding_scores(side, main_metrics)
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
