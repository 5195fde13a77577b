"""The Markdown report in the seed's form: the summary table, then strengths and typical errors.

Source: seed 001, section 5.3; its analysis, left open there, is computed from the verdicts' reasons.
"""

from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path

import polars as pl

from data.plugins import metric
from data.records import Metric
from data.suites import Suite
from metrics.analysis.policy import reaches
from metrics.analysis.scores import THRESHOLD
from metrics.analysis.summary import OF_FAMILIES, OF_SUITES, SummaryRow, Total, cells, totals
from prompts.phrases import translated
from tasks.report.conclusion import conclusion
from tasks.report.explained import bands
from tasks.report.report_data import ReportData
from tasks.report.sections import markdown, sections, usage
from tasks.report.tables import Column, Table, column_maker, lines
from tasks.report.text import around, code, percent, plain, speaking, total_percent, written
from tasks.report.titles import category, part_title, shown_text, title_of, titled
from tasks.report.verdict_table import verdict_table
from tasks.report.warnings import notes
from tasks.report.words import asked, cost_lines, shared
from tasks.store.tables import write_atomically

SHOWN_ERRORS = 5


def _cell(cell: SummaryRow | None) -> str:
    return f"{percent(cell.value.mean)} ({cell.counts.n_scored}/{cell.counts.n_asked})" if cell else "–"


def _family_cells(summary: pl.DataFrame, suite: Suite) -> dict[tuple[str, str], SummaryRow]:
    rows = summary.filter(OF_FAMILIES, suite=suite.name, metric=suite.scored_by[0])
    return {(cell.model, cell.family): cell for cell in cells(rows)}


def summary_table(data: ReportData, suite: Suite) -> list[str]:
    """Return the table model x category with a bold TOTAL, and what it leaves out."""
    language = data.language
    by_model = _family_cells(data.summary, suite)
    order = list(data.items.filter(suite=suite.name)["family"].unique(maintain_order=True))
    # Without their owners, if the names stay distinct.
    short = {target.name: target.name.rpartition("/")[2] for target in data.plan.suite(suite.name).targets}
    names = {model: own if own and [*short.values()].count(own) == 1 else model for model, own in short.items()}
    sums = totals(data.summary, suite=suite.name, metric=suite.scored_by[0])
    header = [
        shared("corner", language),
        *(plain(title_of(f, language)) for f in order),
        f"**{shared('total', language)}**",
    ]
    rows, notes = [], []
    for model, name in names.items():
        whole = sums.get(model, Total(None))
        shown = total_percent(whole.percent)
        rows.append([f"**{plain(name)}**", *(_cell(by_model.get((model, f))) for f in order), f"**{shown}**"])
        notes += _notes(data, suite, model, whole)
    marks = [":---", *([":---:"] * (len(header) - 1))]
    return [*lines(header, marks, rows), "", shared("note", language), *notes]


def _notes(data: ReportData, suite: Suite, model: str, whole: Total) -> Iterator[str]:
    language = data.language
    for family in whole.left_out:
        reasons = _reasons(data, suite, model, family)["reason"].head(1)
        reason = plain(", ".join(translated(one, language) for one in reasons))
        named = plain(title_of(family, language))
        yield from ("", shared("left_out", language, model=plain(model), families=named, reason=reason))
    if whole.missing:
        named = ", ".join(plain(title_of(f, language)) for f in whole.missing)
        yield from ("", shared("no_total", language, model=plain(model), families=named))


def _reasons(data: ReportData, suite: Suite, model: str, family: str) -> pl.DataFrame:
    """Count the reasons of a model's wrong answers in a family, most frequent first, and whether they applied."""
    scores = data.scores.filter(model=model, metric=suite.scored_by[0]).join(
        data.items.filter(suite=suite.name, family=family).select("item_id"), on="item_id", how="semi"
    )
    wrong = scores.filter((pl.col("value") != 1) | pl.col("value").is_null())
    reasons = wrong.group_by("reason", applied=pl.col("status") != "not_applicable")
    return reasons.len("n").sort(["n", "reason"], descending=[True, False])


def analysis(data: ReportData, suite: Suite, model: str) -> list[str]:
    """Return a model's strengths, and its typical errors by the verdicts' reasons."""
    language = data.language
    own = {f: cell for (m, f), cell in _family_cells(data.summary, suite).items() if m == model}
    floor = THRESHOLD if suite.threshold is None else suite.threshold
    strong = sorted(
        (cell for cell in own.values() if cell.value.mean is not None and reaches(cell.value.mean, floor)),
        key=lambda cell: (-(cell.value.mean or 0), cell.family),
    )
    said = "; ".join(f"{plain(title_of(c.family, language))} ({percent(c.value.mean)})" for c in strong)
    if not said:
        said = shared("no_strengths" if own else "nothing_scored", language, floor=written(f"{100 * floor:g}"))
    listed = [f"*   **{shared('strengths', language, model=plain(model))}:** {said}"]
    errors = []
    for family, cell in own.items():
        for reason, applied, n in _reasons(data, suite, model, family).head(SHOWN_ERRORS).iter_rows():
            if applied:
                share = shared("of", language, k=n, n=cell.counts.n_asked)
                errors.append(
                    f"    *   {plain(title_of(family, language))}: {plain(translated(reason, language))} ({share})"
                )
    head = f"*   **{shared('errors', language, model=plain(model))}:**"
    return [*listed, *([head, *errors] if errors else [f"{head} {shared('no_errors', language)}"]), ""]


def counts_table(data: ReportData) -> Table:
    """Return every mean with its interval and its counts."""
    language = data.language
    column = column_maker("common", language)
    counts = ("no_answer", "truncated", "model_error", "judge_failed", "not_applicable")
    return Table.of(
        cells(data.summary.filter(OF_FAMILIES)),
        column("model", attrgetter("model")),
        column("category", lambda cell: category(data, cell.suite, cell.family)),
        column("metric", attrgetter("metric")),
        column("mean", lambda cell: percent(cell.value.mean), numeric=True),
        column("interval", _interval, numeric=True),
        column("scored", lambda cell: f"{cell.counts.n_scored} / {cell.counts.n_asked}", numeric=True),
        *(
            column(name, lambda cell, of=f"n_{name}": str(getattr(cell.counts, of)), numeric=True)
            for name in counts
        ),
        title=shared("intervals", language),
    )


def beside_tables(data: ReportData) -> Iterator[Table]:
    """Yield, for each metric with a headline value, that value beside the score, with their statistics."""
    for suite in data.plan.declared:
        for unit in map(metric, suite.used):
            if unit.shown.headline:
                yield _beside_table(data, suite, unit)


def _beside_table(data: ReportData, suite: Suite, unit: Metric) -> Table:
    language = data.language
    found = {(one.model, one.metric): one for one in cells(data.summary.filter(OF_SUITES, suite=suite.name))}

    def column(title: str, name: str, write: Callable[[SummaryRow | None], str]) -> Column:
        return Column(title, lambda model: write(found.get((model, name))), numeric=True)

    heads = [Column(shared("model", language)), column(shared("score", language), unit.name, _cell)]
    for part in unit.shown.headline:
        name = f"{unit.name}.{part}"
        heads.append(column(part_title(unit, part, language), name, _cell))
        heads.append(column(shared("interval", language), name, _interval))
    note = shown_text(unit, "note", unit.shown.note, language)
    models = [model for model, of in found if of == unit.name]
    return Table.of(models, *heads, title=titled(suite, language), caption=note)


def _interval(cell: SummaryRow | None) -> str:
    return around(cell.value.interval.low, cell.value.interval.high) if cell else "–"


@speaking(lambda data, *_, **__: data.language)
def compose(data: ReportData) -> str:
    """Return the whole report."""
    language = data.language
    counts = data.manifest.get("requests", {})
    found = conclusion(data.results, language)
    given = (one.responses_of for one in data.plan.suites if one.responses_of)
    tested = dict.fromkeys([*data.plan.configured, *given])
    used = sorted({name for suite in data.plan.declared for name in suite.used})
    said = [f"**{plain(found)}**", ""]
    text = [
        *(said if found.outcome == "error" else ()),  # else the seed's own head comes first
        f"# {shared('title', language)}",
        "",
        f"**{shared('date', language)}:** {data.started:%Y-%m-%d %H:%M:%S}  ",
        f"**{shared('models', language)}:** {', '.join(map(code, tested))}  ",
        f"**{shared('run', language)}:** {code(data.run)}. {asked(counts, language)}",
        "",
        *(() if found.outcome == "error" else said),
    ]
    for suite in data.plan.declared:
        if suite.strata:
            text += [f"## {shared('summary', language)}", "", *summary_table(data, suite), ""]
            text += [f"## {shared('analysis', language)}", ""]
            for target in data.plan.suite(suite.name).targets:
                text += analysis(data, suite, target.name)
    text += markdown([verdict_table(data.results, language, title=shared("verdict", language))])
    for one in notes(data.results, data.plan, data):
        text += [f"**{shared('warning', language)}:** {plain(one.text.removesuffix('.'))}.", ""]
    text += markdown(
        (
            *sections(data),
            *(one for one in beside_tables(data) if one.rows),
            counts_table(data),
            *filter(None, (bands(metric(name), data.scores, language) for name in used)),
        )
    )
    if told := [plain(line) for line in cost_lines(data.results, language)]:
        text += [*markdown([usage(data)]), *told, ""]
    if held := data.manifest.get("sandbox"):
        layers = "; ".join(f"{plain(name)} {code(translated(how, language))}" for name, how in held.items())
        text += [f"**{shared('sandbox', language)}:** {layers}", ""]
    return "\n".join(text)


def write(data: ReportData, folder: Path) -> Path:
    """Write `reports/report_<stamp>.md`."""
    return write_atomically(folder / "reports" / f"report_{data.stamp}.md", compose(data))
