"""Cascades for people: what the small judge decided alone, what that saved, and whether the large one agrees."""

from collections.abc import Iterator, Sequence
from operator import attrgetter

from basic_control.config.settings import Judge
from basic_control.metrics.analysis.cascades import CascadeFinding
from basic_control.tasks.report.language import say
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.tables import Table, column_maker
from basic_control.tasks.report.text import percent, written
from basic_control.tasks.report.words import money
from basic_control.tasks.runtime.spending import tokens_and_cost


def cascade_table(data: ReportData) -> Table:
    """Return a row for each cascade of a metric, in each language."""
    column = column_maker("common", "cascade_")

    def bound(found: CascadeFinding) -> str:
        return "–" if found.rule.bound is None else f"{percent(found.rule.bound)} / {percent(found.error)}"

    def own_error(found: CascadeFinding) -> str:
        return say("common.of", k=found.own_wrong, n=found.own_n) if found.own_n else "–"

    def checked(found: CascadeFinding) -> str:
        return say("common.of", k=found.n_contradicted, n=found.n_checked) if found.n_checked else "–"

    return Table.of(
        data.results.judged.cascades,
        column("judge", attrgetter("judge")),
        column("metric", lambda found: f"{found.suite}: {found.metric} ({found.language})"),
        column("alone", lambda found: say("common.of", k=found.n_alone, n=found.n_alone + found.n_escalated)),
        column("escalated", lambda found: str(found.n_escalated), numeric=True),
        column("calls_saved", lambda found: str(found.calls_saved), numeric=True),
        column("price_saved", lambda found: money(_saved(found, data), data.plan.currency), numeric=True),
        column("bound", bound, numeric=True),
        column("found_on", _source),
        column("own_error", own_error, numeric=True),
        column("contradicted", checked, numeric=True),
        title=say("common.cascades_head"),
        caption=say("common.cascades_note"),
        name="cascades",
    )


def _source(found: CascadeFinding) -> str:
    if not found.source:
        return say("common.cascade_on_nothing")
    return say(f"common.cascade_on_{found.source}", n=found.rule.n_labelled)


def _saved(found: CascadeFinding, data: ReportData) -> float | None:
    """Return what the calls to the large judge would have cost, at its mean price of a reply; None if unknown."""
    large: Judge | None = None
    for suite in data.plan.suites:
        for use in suite.judged:
            for judge in use.judges:
                if judge.name == found.judge and judge.members:
                    large = next(member for member in use.members if member.name == judge.members[1])
    if large is None:
        return None
    replies = data.judged.filter(model=large.name).unique("request_id")
    cost = tokens_and_cost("judge", replies, large).cost if replies.height else None
    return None if cost is None else cost / replies.height * found.calls_saved


def cascade_lines(cascades: Sequence[CascadeFinding]) -> Iterator[str]:
    """Yield a sentence for each cascade on the first screen."""
    for found in cascades:
        n = found.n_alone + found.n_escalated
        if not n:
            continue
        if found.rule.bound is None:
            yield say("screen.cascade_none", judge=found.judge, n=n)
            continue
        share, bound = written(f"{100 * found.n_alone / n:.0f}%"), percent(found.rule.bound)
        yield say(
            "screen.cascade", judge=found.judge, share=share, bound=bound, on=_source(found), k=found.calls_saved
        )


def cascade_warnings(cascades: Sequence[CascadeFinding]) -> Iterator[str]:
    """Yield a sentence for each cascade whose large judge contradicts the bound."""
    for found in cascades:
        if found.contradicts:
            counts = {"k": found.n_contradicted, "n": found.n_checked, "error": percent(found.error)}
            yield say("common.cascade_warning", suite=found.suite, judge=found.judge, **counts)
