"""The tables besides a report's verdict, built once for both the page and the Markdown file."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from operator import attrgetter, itemgetter
from typing import Any

import polars as pl

from basic_control.config.settings import Model
from basic_control.data.truncation import LIMITS
from basic_control.metrics.analysis.judged import CorrectedMean
from basic_control.metrics.analysis.other_tools import StatedDifference, StatedScore
from basic_control.metrics.analysis.slices import Slice
from basic_control.metrics.analysis.stopping import ConfidenceSequence
from basic_control.metrics.stats.agreement import Repeats
from basic_control.tasks.models.protocol import UNASKED
from basic_control.tasks.report import passports, twins
from basic_control.tasks.report.cascades import cascade_table
from basic_control.tasks.report.language import say
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.tables import Column, Table, column_maker
from basic_control.tasks.report.text import (
    escape_markdown,
    format_estimate,
    format_number,
    localize_digits,
    percent,
    points,
)
from basic_control.tasks.report.titles import SuiteTitles, metric_title
from basic_control.tasks.report.words import headlines_of, money
from basic_control.tasks.runtime.spending import sum_usage

SHOWN = 50
"""Items with differing scores (another tool's and ours) listed per model; `results.json` has all."""
_TOKENS = ("tokens_in", "tokens_cached", "tokens_out", "tokens_thinking")


def sections(data: ReportData) -> list[Table]:
    """Return the tables that apply to a run: judges, twins, early stopping, other tools' scores, repeats."""
    results = data.results
    followed = [headline.measured.stopping for headline in headlines_of(data.verdict.models)]
    # In the order in which the page and the Markdown file show them.
    tables = [
        cascade_table(data),
        passports.build_corrected_table(_sort_judged(data)),
        *passports.passport_tables(results.judged.passports),
        *twins.tables(results.twins),
        _build_stopping_table([*filter(None, followed), *results.compared.races]),
        *_build_stated_tables(results.stated, dict(data.items.select("item_id", "prompt").iter_rows())),
        _build_repeats_table(results.repeats, data.titles),
        _build_slices_table(results.compared.slices, data.titles),
    ]
    return [table for table in tables if table.rows]


def _sort_judged(data: ReportData) -> list[CorrectedMean]:
    """Return the judged means, of each metric by model as these are configured."""
    means = data.results.judged.corrected
    models = {model.model: number for number, model in enumerate(data.verdict.models)}
    # A metric's parts, as citation.support, stand beside it.
    metrics = [*dict.fromkeys(_name_whole(mean) for mean in means)]
    return sorted(means, key=lambda mean: (metrics.index(_name_whole(mean)), models.get(mean.model, len(models))))


def _name_whole(mean: CorrectedMean) -> tuple[str, str]:
    return mean.suite, mean.metric.partition(".")[0]


def _build_repeats_table(repeats: Sequence[Repeats], titles: SuiteTitles) -> Table:
    column, of_page = column_maker("common"), column_maker("page")
    return Table.of(
        repeats,
        column("model", attrgetter("model")),
        column("category", lambda row: titles.score(row.suite, row.metric)),
        Column("n", lambda row: str(row.n_items), numeric=True),
        Column("k", lambda row: str(row.k), numeric=True),
        Column("pass@k", lambda row: format_estimate(row.pass_at), numeric=True),
        Column("pass^k", lambda row: format_estimate(row.pass_all), numeric=True),
        of_page("agreement", lambda row: format_estimate(row.agreement), numeric=True),
        title=say("page.repeats"),
        name="repeats",
    )


def _build_slices_table(slices: Sequence[Slice], titles: SuiteTitles) -> Table:
    column, of_page = column_maker("common"), column_maker("page")

    def format_p(row: Slice) -> str:
        if row.p is None:
            return "–"
        return f"{row.p:.3f}"

    return Table.of(
        slices,
        column("model", attrgetter("model")),
        column("category", lambda row: titles.score(row.suite, row.metric)),
        of_page("slice_value", lambda row: f"{row.column} = {row.text or '–'}"),
        Column("n", lambda row: str(row.n), numeric=True),
        column("score", lambda row: format_estimate(row.score), numeric=True),
        of_page("others", lambda row: percent(row.elsewhere), numeric=True),
        Column("p", format_p, numeric=True),
        of_page("differs", lambda row: "✓" * row.significant),
        title=say("page.slices"),
        name="slices",
    )


def _build_stopping_table(sequences: Sequence[ConfidenceSequence]) -> Table:
    """Return how long each model was asked until its verdict was reached; no row without early stopping."""
    column = column_maker("common")

    def name_models(sequence: ConfidenceSequence) -> str:
        if not sequence.against:
            return sequence.model
        return f"{sequence.model} – {sequence.against}"

    def format_last(sequence: ConfidenceSequence, name: str) -> str:
        value = getattr(sequence.looks[-1], name)
        return points(value) if sequence.against else percent(value)

    return Table.of(
        [sequence for sequence in sequences if sequence.looks],
        column("model", name_models),
        column("suite", attrgetter("suite")),
        column("questions", lambda row: say("common.of", k=row.asked, n=row.most), numeric=True),
        column("decided_after", lambda row: str(row.decided or "–"), numeric=True),
        column("score", lambda row: format_last(row, "mean"), numeric=True),
        column("sequence", lambda row: f"{format_last(row, 'low')} – {format_last(row, 'high')}", numeric=True),
        title=say("common.stopping"),
        caption=say("common.stopping_note"),
        name="stopping",
    )


def _build_stated_tables(stated: Sequence[StatedScore], prompts: Mapping[str, str]) -> tuple[Table, Table]:
    """Return two means of the same replies for each model and suite, and the items where they differ."""
    hidden = sum(max(0, len(score.differing) - SHOWN) for score in stated)
    column = column_maker("common")

    def question(row: tuple[str, StatedDifference]) -> str:
        return " ".join(str(prompts.get(row[1].item_id, "")).split())[:120]

    means = Table.of(
        stated,
        column("model", attrgetter("model")),
        column("suite", attrgetter("suite")),
        column("metric", lambda score: metric_title(score.metric)),
        column("stated_score", lambda score: percent(score.stated), numeric=True),
        column("our_score", lambda score: percent(score.ours), numeric=True),
        column("differing", lambda score: f"{len(score.differing)} / {score.n}", numeric=True),
        title=say("common.stated"),
        caption=say("common.stated_note"),
        name="stated",
    )
    # The items themselves, for whoever wants to see which of the two scores is right.
    differing = [(score.model, item) for score in stated for item in score.differing[:SHOWN]]
    items = Table.of(
        differing,
        column("model", itemgetter(0)),
        column("question", question),
        column("stated_score", lambda row: localize_digits(f"{row[1].stated:g}"), numeric=True),
        column("our_score", lambda row: localize_digits(f"{row[1].ours:g}"), numeric=True),
        title=say("common.differing"),
        caption=say("common.more_rows", n=hidden) if hidden else "",
        name="differing",
    )
    return means, items


def replies(data: ReportData) -> list[dict[str, Any]]:
    """Return a row for each model and judge: replies, errors, latency, tokens and, if priced, cost."""
    # With several prompts, replies name the model with its prompt.
    models = {target.name: target.model.name for suite in data.plan.suites for target in suite.targets}
    rows = [_sum_up_usage("model", model, data.replies, models) for model in data.plan.models]
    rows += [_sum_up_usage("judge", judge, data.judged, models) for judge in data.plan.judges]
    return [row for row in rows if row]


def _sum_up_usage(role: str, model: Model, replies: pl.DataFrame, models: Mapping[str, str]) -> dict[str, Any]:
    """Sum up a model's distinct requests; a cached reply keeps the latency and tokens of its original call."""
    calls = replies.filter(pl.col("model").replace(models) == model.name).unique("request_id", maintain_order=True)
    if calls.is_empty():
        return {}
    latency = calls["latency_s"].drop_nulls()
    seconds = float(latency.sum())
    return {
        **asdict(sum_usage(role, calls, model)),
        "n": calls.height,
        "cached": int(calls["cached"].fill_null(value=False).sum()),
        # What waits in a batch has not failed.
        "failed": calls.drop_nulls("error").filter(~pl.col("error_kind").fill_null("").is_in([*UNASKED])).height,
        "cut": calls.filter(_is_cut(model.token_limit)).height,
        "p50": latency.quantile(0.5, "linear"),
        "p95": latency.quantile(0.95, "linear"),
        "max": latency.max(),
        "speed": int(calls["tokens_out"].sum()) / seconds if seconds else None,
    }


def _cost(row: Mapping[str, Any], name: str, currency: str) -> str:
    """Format a cost; without one, say why there is none."""
    if row[name] is None and row["unmeasured"]:
        return say("common.unknown_cost")
    return money(row[name], currency)


def _is_cut(limit: int) -> pl.Expr:
    """Whether a reply was truncated, as `data.truncation.is_cut` decides it, without its request."""
    said_so = pl.col("finish_reason").str.strip_chars().str.to_lowercase().is_in(LIMITS)
    is_all_thinking = (pl.col("text").str.strip_chars() == "") & (pl.col("reasoning").str.strip_chars() != "")
    return said_so | (is_all_thinking & (pl.col("tokens_out") >= limit))


def usage(data: ReportData) -> Table:
    """Return the usage of each model and judge: replies, latency, tokens and cost."""
    latency, currency = say("page.latency"), data.plan.pricing.currency

    def number(head: str, name: str, places: int = 0) -> Column:
        return Column(head, lambda row: format_number(row[name], places), numeric=True)

    def cost(head: str, name: str) -> Column:
        return Column(head, lambda row: _cost(row, name, currency), numeric=True)

    rows = [*replies(data)]
    # A first run has no cache to speak of.
    cached = [number(say("page.from_cache"), "cached")]
    if not any(row["cached"] for row in rows):
        cached = []
    return Table.of(
        rows,
        Column(say("page.asked_of"), itemgetter("model")),
        Column(say("page.role"), lambda row: say(f"page.role_{row['role']}")),
        number(say("page.replies"), "n"),
        *cached,
        number(say("page.errors_n"), "failed"),
        number(say("page.cut_off"), "cut"),
        number(f"{latency} p50", "p50", 2),
        number(f"{latency} p95", "p95", 2),
        number(say("page.latency_max"), "max", 2),
        *(number(say(f"page.{name}"), name) for name in _TOKENS),
        number(say("page.speed"), "speed", 1),
        cost(say("common.cost_now"), "cost_now"),
        cost(say("common.cost_all"), "cost"),
        title=say("page.operations"),
        name="operations",
    )


def describe_units(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the version and source of each unit that made or scored the run's items, by name."""
    versions = {**(manifest.get("units") or {}), **(manifest.get("verifiers") or {})}
    sources = manifest.get("sources") or {}
    descriptions = {}
    for name, version in versions.items():
        parts = (str(version), sources.get(name))
        descriptions[name] = " · ".join(filter(None, parts))
    return descriptions


def markdown(tables: Iterable[Table]) -> Iterator[str]:
    """Yield the lines of tables with their headings and notes, which are ours and may be Markdown."""
    for table in tables:
        yield from (f"## {escape_markdown(table.title)}", "", *table.markdown(), "")
        if table.caption:
            yield from (table.caption, "")
