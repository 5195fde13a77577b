"""Two judges of the same replies, for people: their agreement, their errors, and the verdicts."""

from collections import Counter
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from basic_control.metrics.analysis.rejudging import JudgesCompared
from basic_control.metrics.stats.intervals import Share
from basic_control.tasks.compare.judges import RejudgedComparison
from basic_control.tasks.report import comparison
from basic_control.tasks.report.language import say, say_reason
from basic_control.tasks.report.tables import Column, Table, column_maker
from basic_control.tasks.report.text import localize_digits, p_value, share
from basic_control.tasks.report.titles import metric_title


def verdict_lines(rejudged: RejudgedComparison) -> Iterator[str]:
    """Yield for each verdict whether it holds; of a suite with several it names the metric."""
    old, new = rejudged.names
    verdicts_by_cell = Counter((change.suite, change.model) for change in rejudged.verdicts)
    for change in rejudged.verdicts:
        suite = change.suite
        if verdicts_by_cell[change.suite, change.model] > 1:
            suite = f"{suite}, {change.metric}"
        name = "holds" if change.holds else "changes"
        names = {"suite": suite, "model": change.model, "old": old, "new": new}
        outcomes = {"before": say_reason(change.old), "after": say_reason(change.new)}
        yield say(f"rejudge.{name}", **names, **outcomes)


def score_lines(rejudged: RejudgedComparison) -> Iterator[str]:
    """Yield for each compared score how it differs by the judge."""
    old, new = rejudged.names
    for pair in rejudged.pairs.pairs:
        if pair.scope != "overall":
            model = pair.model_a.removesuffix(f" @ {new}")
            names = {"what": comparison.headline(pair), "model": model, "old": old, "new": new}
            numbers = {"by": comparison.interval(pair), "p": p_value(pair.test.p_adjusted), "n": pair.n}
            yield say("rejudge.score", **names, **numbers)


def tables(rejudged: RejudgedComparison) -> Iterator[Table]:
    """Yield the judges' agreement and errors, and a table of both judges' scores for each metric."""
    old, new = rejudged.names
    column = column_maker("rejudge")

    def kappa(judges: JudgesCompared) -> str:
        if judges.kappa is None:
            return "–"
        low, high = judges.kappa_interval.low or 0.0, judges.kappa_interval.high or 0.0
        return localize_digits(f"{judges.kappa:.2f} [{low:.2f}, {high:.2f}]")

    def write_wrong(rate: Share) -> str:
        return share(rate) if rate.n else "–"

    # Both judges' errors stand beside each other, so that the better one is seen.
    yield Table.of(
        rejudged.judges,
        column("suite", attrgetter("suite")),
        column("metric", lambda judges: metric_title(judges.metric)),
        column("replies", lambda judges: str(judges.n), numeric=True),
        column("equal", lambda judges: share(judges.equal)),
        column("kappa", kappa),
        Column(say("rejudge.wrong", judge=old), lambda judges: write_wrong(judges.old_wrong)),
        Column(say("rejudge.wrong", judge=new), lambda judges: write_wrong(judges.new_wrong)),
        title=say("rejudge.agreement"),
        caption=say("rejudge.agreement_note"),
        name="rejudged",
    )
    for judges in rejudged.judges:
        if judges.table:
            yield _cross(judges, old, new)


def _cross(judges: JudgesCompared, old: str, new: str) -> Table:
    def cell(position: int) -> Any:
        return lambda row: str(row[1][position])

    return Table.of(
        [*zip(judges.values, judges.table, strict=True)],
        Column(old, lambda row: localize_digits(f"{row[0]:g}")),
        *(
            Column(f"{new}: {localize_digits(f'{value:g}')}", cell(position), numeric=True)
            for position, value in enumerate(judges.values)
        ),
        title=say("rejudge.table", suite=judges.suite, metric=metric_title(judges.metric)),
        name=f"rejudged_{judges.suite}_{judges.metric}",
    )


def page(rejudged: RejudgedComparison) -> str:
    """Return the comparison's page, with what concerns the judges first."""
    return comparison.html(
        rejudged.pairs, lines=[*verdict_lines(rejudged), *score_lines(rejudged)], tables=[*tables(rejudged)]
    )
