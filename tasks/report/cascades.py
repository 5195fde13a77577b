"""Cascades for people: what the small judge decided alone, what that saved, and whether the large one agrees."""

from collections.abc import Iterator, Sequence
from operator import attrgetter

from basic_control.config.settings import Judge
from basic_control.metrics.analysis.cascades import CascadeFinding
from basic_control.tasks.report.language import say
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.tables import Table, column_maker
from basic_control.tasks.report.text import localize_digits, percent
from basic_control.tasks.report.words import money, suite_title
from basic_control.tasks.runtime.spending import sum_usage


def cascade_table(data: ReportData) -> Table:
    """Return a row for each cascade of a metric, in each language."""
    column = column_maker("common", "cascade_")

    def write_bound(cascade: CascadeFinding) -> str:
        if cascade.rule.bound is None:
            return "–"
        return f"{percent(cascade.rule.bound)} / {percent(cascade.error)}"

    def write_checked(cascade: CascadeFinding) -> str:
        if not cascade.n_checked:
            return "–"
        return say("common.of", k=cascade.n_contradicted, n=cascade.n_checked)

    # What was saved stands before what the small judge got wrong: that is why there is a cascade.
    return Table.of(
        data.results.judged.cascades,
        column("judge", attrgetter("judge")),
        column("metric", lambda cascade: f"{cascade.suite}: {cascade.metric} ({cascade.language})"),
        column(
            "alone", lambda cascade: say("common.of", k=cascade.n_alone, n=cascade.n_alone + cascade.n_escalated)
        ),
        column("escalated", lambda cascade: str(cascade.n_escalated), numeric=True),
        column("calls_saved", lambda cascade: str(cascade.calls_saved), numeric=True),
        column(
            "price_saved",
            lambda cascade: money(_price_saved(cascade, data), data.plan.pricing.currency),
            numeric=True,
        ),
        column("bound", write_bound, numeric=True),
        column("found_on", _source),
        column("contradicted", write_checked, numeric=True),
        title=say("common.cascades_head"),
        caption=say("common.cascades_note"),
        name="cascades",
    )


def _source(cascade: CascadeFinding) -> str:
    if not cascade.source:
        return say("common.cascade_on_nothing")
    return say(f"common.cascade_on_{cascade.source}", n=cascade.rule.n_labelled)


def _price_saved(cascade: CascadeFinding, data: ReportData) -> float | None:
    """Return what the calls to the large judge would have cost, at its mean price of a reply; None if unknown."""
    large: Judge | None = None
    for suite in data.plan.suites:
        for use in suite.judge_metrics:
            for judge in use.judges:
                if judge.name == cascade.judge and judge.members:
                    large = next(member for member in use.members if member.name == judge.members[1])
    if large is None:
        return None
    replies = data.judged.filter(model=large.name).unique("request_id")
    if replies.is_empty():
        return None
    cost = sum_usage("judge", replies, large).cost
    return None if cost is None else cost / replies.height * cascade.calls_saved


def cascade_lines(cascades: Sequence[CascadeFinding]) -> Iterator[str]:
    """Yield a sentence for each cascade on the first screen."""
    for cascade in cascades:
        n = cascade.n_alone + cascade.n_escalated
        if not n:
            continue
        if cascade.rule.bound is None:
            yield say("screen.cascade_none", judge=cascade.judge, n=n)
            continue
        share, bound = localize_digits(f"{100 * cascade.n_alone / n:.0f}%"), percent(cascade.rule.bound)
        yield say(
            "screen.cascade",
            judge=cascade.judge,
            share=share,
            bound=bound,
            on=_source(cascade),
            k=cascade.calls_saved,
        )


def cascade_warnings(cascades: Sequence[CascadeFinding]) -> Iterator[str]:
    """Yield a sentence for each cascade whose labels do not count yet, or that its large judge contradicts."""
    for cascade in cascades:
        if cascade.n_unanswered:
            n_labels = {"n": cascade.n_unanswered}
            yield say(
                "common.cascade_unanswered", suite=suite_title(cascade.suite), judge=cascade.judge, **n_labels
            )
        if cascade.contradicts:
            counts = {"k": cascade.n_contradicted, "n": cascade.n_checked, "error": percent(cascade.error)}
            yield say("common.cascade_warning", suite=suite_title(cascade.suite), judge=cascade.judge, **counts)
