"""The tables besides a report's verdict, built once for both the page and the Markdown file."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from operator import itemgetter
from typing import Any

import polars as pl

from data.truncation import LIMITS
from tasks.report import passports, twins
from tasks.report.report_data import ReportData
from tasks.report.tables import Column, Table, column_maker
from tasks.report.text import estimated, grouped, percent, plain, points, written
from tasks.report.titles import metric_title, where
from tasks.report.words import money, say, shared, suites_in
from tasks.runtime.spending import tokens_and_cost

SHOWN = 50
"""Items with differing scores (another tool's and ours) listed per model; `results.json` has all."""
_TOKENS = ("tokens_in", "tokens_cached", "tokens_out", "tokens_thinking")


def sections(data: ReportData) -> list[Table]:
    """Return the tables that apply to a run: judges, early stopping, other tools' scores, repeats."""
    language = data.language
    found = [
        passports.corrected(data.results, language),
        *passports.passport_tables(data.results, language),
        *twins.tables(data.results, language),
        twins.changed(data),
        _stopping(data.results, language),
        *_stated(data),
        _repeats(data, language),
    ]
    return [one for one in found if one is not None and one.rows]


def _repeats(data: ReportData, language: str) -> Table:
    def write(found: Mapping[str, Any]) -> str:
        return estimated(found["mean"], found["interval"]["low"], found["interval"]["high"])

    return Table.of(
        data.results.get("repeats", ()),
        Column(say("model", language), itemgetter("model")),
        Column(say("category", language), lambda one: where(data, one["suite"], one["metric"])),
        Column("n", lambda one: str(one["n_items"]), numeric=True),
        Column("k", lambda one: str(one["k"]), numeric=True),
        Column("pass@k", lambda one: write(one["pass_at"]), numeric=True),
        Column("pass^k", lambda one: write(one["pass_all"]), numeric=True),
        Column(say("agreement", language), lambda one: write(one["agreement"]), numeric=True),
        title=say("repeats", language),
        name="repeats",
    )


def _stopping(results: Mapping[str, Any], language: str) -> Table:
    """Return how long each model was asked until its verdict was reached; no row without early stopping."""
    models = [suite["stopping"] for _, suite in suites_in(results["final"]) if suite.get("stopping")]
    column = column_maker("common", language)

    def row(one: Mapping[str, Any]) -> dict[str, Any]:
        pair = [one["model"], one["against"]] if one["against"] else [one["model"]]
        write, last = points if one["against"] else percent, one["looks"][-1]
        return {**one, "who": " – ".join(pair), **{name: write(last[name]) for name in ("mean", "low", "high")}}

    return Table.of(
        [row(one) for one in [*models, *results.get("races", ())] if one["looks"]],
        column("model", itemgetter("who")),
        column("suite", itemgetter("suite")),
        column("questions", lambda one: shared("of", language, k=one["asked"], n=one["most"]), numeric=True),
        column("decided_after", lambda one: str(one["decided"] or "–"), numeric=True),
        column("score", itemgetter("mean"), numeric=True),
        column("sequence", lambda one: f"{one['low']} – {one['high']}", numeric=True),
        title=shared("stopping", language),
        caption=shared("stopping_note", language),
        name="stopping",
    )


def _stated(data: ReportData) -> tuple[Table, Table]:
    """Return two means of the same replies for each model and suite, and the items where they differ."""
    language = data.language
    prompts = dict(data.items.select("item_id", "prompt").iter_rows())
    listed = data.results.get("stated", ())
    more = sum(max(0, len(one["differing"]) - SHOWN) for one in listed)
    column = column_maker("common", language)

    def question(row: tuple[str, Mapping[str, Any]]) -> str:
        return " ".join(str(prompts.get(str(row[1]["item_id"]), "")).split())[:120]

    means = Table.of(
        listed,
        column("model", itemgetter("model")),
        column("suite", itemgetter("suite")),
        column("metric", lambda one: metric_title(one["metric"], language)),
        column("stated_score", lambda one: percent(one["stated"]), numeric=True),
        column("our_score", lambda one: percent(one["ours"]), numeric=True),
        column("differing", lambda one: f"{len(one['differing'])} / {one['n']}", numeric=True),
        title=shared("stated", language),
        caption=shared("stated_note", language),
        name="stated",
    )
    items = Table.of(
        ((one["model"], item) for one in listed for item in one["differing"][:SHOWN]),
        column("model", itemgetter(0)),
        column("question", question),
        column("stated_score", lambda row: written(f"{row[1]['stated']:g}"), numeric=True),
        column("our_score", lambda row: written(f"{row[1]['ours']:g}"), numeric=True),
        title=shared("differing", language),
        caption=shared("more_rows", language, n=more) if more else "",
        name="differing",
    )
    return means, items


def replies(data: ReportData) -> list[dict[str, Any]]:
    """Return a row for each model and judge: replies, errors, latency, tokens and, if priced, cost."""
    # With several prompts, replies name the model with its prompt.
    models = {target.name: target.model.name for suite in data.plan.suites for target in suite.targets}
    every = [("model", data.replies, one) for one in data.plan.models]
    every += [("judge", data.judged, one) for one in data.plan.judges]
    rows = []
    for role, replies, one in every:
        named = replies.filter(pl.col("model").replace(models) == one.name)
        if named.height:
            own = named.unique("request_id", maintain_order=True)
            rows.append({**asdict(tokens_and_cost(role, own, one)), **_used(own)})
    return rows


def _used(replies: pl.DataFrame) -> dict[str, Any]:
    """Sum up distinct requests; a cached reply keeps the latency and tokens of its original call."""
    latency = replies["latency_s"].drop_nulls()
    seconds = float(latency.sum())
    return {
        "n": replies.height,
        "cached": int(replies["cached"].fill_null(value=False).sum()),
        # What waits in a batch has not failed.
        "failed": replies.drop_nulls("error").filter(pl.col("error_kind").ne_missing("submitted")).height,
        "cut": int(replies["finish_reason"].is_in(LIMITS).sum()),
        "p50": latency.quantile(0.5, "linear"),
        "p95": latency.quantile(0.95, "linear"),
        "max": latency.max(),
        "speed": int(replies["tokens_out"].sum()) / seconds if seconds else None,
    }


def usage(data: ReportData) -> Table:
    """Return the usage of each model and judge: replies, latency, tokens and cost."""
    language, currency = data.language, data.plan.currency
    latency = say("latency", language)

    def number(head: str, name: str, places: int = 0) -> Column:
        return Column(head, lambda one: grouped(one[name], places), numeric=True)

    def cost(head: str, name: str) -> Column:
        return Column(head, lambda one: money(one[name], currency, language), numeric=True)

    return Table.of(
        replies(data),
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


def rules(data: ReportData) -> dict[str, str]:
    """Return the version and source of each unit that made or scored the run's items, by name."""
    units, verifiers, sources = (data.manifest.get(name) or {} for name in ("units", "verifiers", "sources"))
    versions = {**units, **verifiers}
    return {name: " · ".join(filter(None, (str(one), sources.get(name)))) for name, one in versions.items()}


def markdown(made: Iterable[Table]) -> Iterator[str]:
    """Yield the lines of tables with their headings and notes, which are ours and may be Markdown."""
    for one in made:
        yield from (f"## {plain(one.title)}", "", *one.markdown(), "")
        if one.caption:
            yield from (one.caption, "")
