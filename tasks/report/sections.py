"""The tables beside a report's verdict, each built once: the page and the Markdown file show the same."""

from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any

from tasks.report import operations, passports, spending, stated, stopping, twins
from tasks.report.report_data import ReportData
from tasks.report.tables import Column, Table
from tasks.report.text import estimated, grouped, plain
from tasks.report.titles import where
from tasks.report.words import say

_TOKENS = ("tokens_in", "tokens_cached", "tokens_out", "tokens_thinking")


def sections(data: ReportData) -> list[Table]:
    """Return the tables that a run has something for: judges, how it was stopped, other tools' scores, repeats."""
    language = data.language
    found = [
        passports.corrected(data.results, language),
        *passports.passport_tables(data.results, language),
        *twins.tables(data.results, language),
        twins.changed(data),
        stopping.table(data.results, language),
        *stated.tables(data),
        _repeats(data, language),
    ]
    return [one for one in found if one is not None and one.rows]


def _repeats(data: ReportData, language: str) -> Table:
    def share(name: str, head: str) -> Column:
        def write(one: Mapping[str, Any]) -> str:
            found = one[name]
            return estimated(found["mean"], found["interval"]["low"], found["interval"]["high"])

        return Column(head, write, numeric=True)

    return Table.of(
        data.results.get("repeats", ()),
        Column(say("model", language), itemgetter("model")),
        Column(say("category", language), lambda one: where(data, one["suite"], one["metric"])),
        Column("n", lambda one: str(one["n_items"]), numeric=True),
        Column("k", lambda one: str(one["k"]), numeric=True),
        share("pass_at", "pass@k"),
        share("pass_all", "pass^k"),
        share("agreement", say("agreement", language)),
        title=say("repeats", language),
        name="repeats",
    )


def usage(data: ReportData) -> Table:
    """Return what was asked of each model and judge: replies, waits, tokens and cost."""
    language, currency = data.language, data.plan.currency
    latency = say("latency", language)

    def number(head: str, name: str, places: int = 0) -> Column:
        def write(one: Mapping[str, Any]) -> str:
            return "–" if one[name] is None else grouped(one[name], places)

        return Column(head, write, numeric=True)

    def cost(head: str, name: str) -> Column:
        return Column(head, lambda one: spending.money(one[name], currency, language), numeric=True)

    return Table.of(
        operations.usage(data),
        Column(say("asked_of", language), itemgetter("model")),
        Column(say("role", language), lambda one: say(f"role_{one['role']}", language)),
        number(say("replies", language), "n"),
        number(say("from_cache", language), "cached"),
        number(say("errors_n", language), "failed"),
        number(say("cut_off", language), "cut"),
        number(f"{latency} p50", "p50", 2),
        number(f"{latency} p95", "p95", 2),
        number(say("latency_max", language), "max", 2),
        *(number(say(name, language), name) for name in _TOKENS),
        number(say("speed", language), "speed", 1),
        cost(say("cost_now", language), "cost_now"),
        cost(say("cost_all", language), "cost"),
        title=say("operations", language),
        name="operations",
    )


def stages(data: ReportData) -> Table:
    """Return how often each stage ran, how often of that it came from the cache, and for how long."""
    language = data.language
    return Table.of(
        operations.stages(data),
        Column(say("name", language), itemgetter("stage")),
        Column(say("runs", language), lambda one: str(one["n"]), numeric=True),
        Column(say("cached_runs", language), lambda one: str(one["cached"]), numeric=True),
        Column(say("seconds", language), lambda one: grouped(one["wall_s"], 2), numeric=True),
        title=say("stages", language),
    )


def markdown(made: Iterable[Table]) -> Iterator[str]:
    """Yield the lines of tables with their headings and notes, which are ours and may be Markdown."""
    for one in made:
        yield from (f"## {plain(one.title)}", "", *one.markdown(), "")
        if one.caption:
            yield from (one.caption, "")
