"""The Markdown report in the seed's form: the summary table, then strengths and typical errors.

Source: seed 001, section 5.3; its analysis, left open there, is computed from the verdicts' reasons.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from pathlib import Path

import polars as pl

from basic_control.data.documents import METHODOLOGY
from basic_control.data.plugins import metric
from basic_control.data.records import Metric
from basic_control.data.suites import Suite
from basic_control.metrics.analysis.policy import reaches
from basic_control.metrics.analysis.scores import THRESHOLD
from basic_control.metrics.analysis.summary import OF_FAMILIES, OF_SUITES, SummaryRow, Total, cells, totals
from basic_control.tasks.report.conclusion import conclusion
from basic_control.tasks.report.explained import bands
from basic_control.tasks.report.failed_rows import build_failed_table
from basic_control.tasks.report.language import say, say_reason, use_language
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.sections import markdown, sections, usage
from basic_control.tasks.report.tables import Column, Table, column_maker, lines
from basic_control.tasks.report.text import around, code, escape_markdown, localize_digits, percent, total_percent
from basic_control.tasks.report.titles import SuiteTitles, family_title, get_display_text, part_title
from basic_control.tasks.report.verdict_table import verdict_table
from basic_control.tasks.report.warnings import notes
from basic_control.tasks.report.words import cost_lines, describe_calls
from basic_control.tasks.store.tables import write_atomically

SHOWN_ERRORS = 5


def _cell(cell: SummaryRow | None) -> str:
    if cell is None:
        return "–"
    return f"{percent(cell.value.mean)} ({cell.counts.n_scored}/{cell.counts.n_asked})"


def _interval(cell: SummaryRow | None) -> str:
    if cell is None:
        return "–"
    return around(cell.value.interval)


class FamilyScores:
    """The scores of a suite with strata: its cells by model and family, and why answers were wrong."""

    def __init__(self, suite: Suite, summary: pl.DataFrame, items: pl.DataFrame, scores: pl.DataFrame) -> None:
        metric_name = suite.score_metrics[0]
        questions = items.filter(suite=suite.name)
        rows = summary.filter(OF_FAMILIES, suite=suite.name, metric=metric_name)
        self.suite = suite
        self.families: list[str] = questions["family"].unique(maintain_order=True).to_list()
        self.cells = {(cell.model, cell.family): cell for cell in cells(rows)}
        self.totals = totals(summary, suite=suite.name, metric=metric_name)
        self.scores = scores.filter(metric=metric_name).join(questions.select("item_id", "family"), on="item_id")

    def reasons(self, model: str, family: str) -> pl.DataFrame:
        """Count the reasons of a model's wrong answers, most frequent first, and whether they applied."""
        rows = self.scores.filter(model=model, family=family)
        wrong = rows.filter((pl.col("value") != 1) | pl.col("value").is_null())
        reasons = wrong.group_by("reason", applied=pl.col("status") != "not_applicable")
        return reasons.len("n").sort(["n", "reason"], descending=[True, False])


def summary_table(scores: FamilyScores, models: Sequence[str]) -> list[str]:
    """Return the table model x category with a bold TOTAL, and what it leaves out."""
    # Without their owners, if the names stay distinct.
    names = [model.rpartition("/")[2] for model in models]
    header = [say("common.corner"), *map(_format_title, scores.families)]
    rows, notes = [], []
    for model, name in zip(models, names, strict=True):
        if not name or names.count(name) > 1:
            name = model  # noqa: PLW2901 - the owner tells it from another model
        total = scores.totals.get(model, Total(None))
        by_family = [_cell(scores.cells.get((model, family))) for family in scores.families]
        rows.append([f"**{escape_markdown(name)}**", *by_family, f"**{total_percent(total.percent)}**"])
        notes += _list_notes(scores, model, total)
    marks = [":---", *([":---:"] * len(header))]
    return [*lines([*header, f"**{say('common.total')}**"], marks, rows), "", say("common.note"), *notes]


def _format_title(family: str) -> str:
    return escape_markdown(family_title(family))


def _list_notes(scores: FamilyScores, model: str, total: Total) -> Iterator[str]:
    """Yield what a model's TOTAL leaves out, and why it has none."""
    name = escape_markdown(model)
    for family in total.left_out:
        first_reason = scores.reasons(model, family)["reason"].head(1)
        reason = escape_markdown(", ".join(map(say_reason, first_reason)))
        yield from ("", say("common.left_out", model=name, families=_format_title(family), reason=reason))
    if total.missing:
        yield from ("", say("common.no_total", model=name, families=", ".join(map(_format_title, total.missing))))


def analysis(scores: FamilyScores, model: str) -> list[str]:
    """Return a model's strengths, and its typical errors by the verdicts' reasons."""
    by_family = {family: cell for (name, family), cell in scores.cells.items() if name == model}
    floor = scores.suite.threshold
    if floor is None:
        floor = THRESHOLD
    strengths, errors = _list_strengths(by_family, floor), []
    if not strengths:
        phrase = "common.no_strengths" if by_family else "common.nothing_scored"
        strengths = say(phrase, floor=localize_digits(f"{100 * floor:g}"))
    for family, cell in by_family.items():
        for reason, applied, n in scores.reasons(model, family).head(SHOWN_ERRORS).iter_rows():
            # What did not apply is no error of the model's.
            if applied:
                share = say("common.of", k=n, n=cell.counts.n_asked)
                errors.append(f"    *   {_format_title(family)}: {escape_markdown(say_reason(reason))} ({share})")
    head = f"*   **{say('common.errors', model=escape_markdown(model))}:**"
    if not errors:
        head = f"{head} {say('common.no_errors')}"
    return [
        f"*   **{say('common.strengths', model=escape_markdown(model))}:** {strengths}",
        head,
        *errors,
        "",
    ]


def _list_strengths(cells_by_family: Mapping[str, SummaryRow], floor: float) -> str:
    """Return the families on which a model reaches the threshold, the best first, with their scores."""
    ranked = []
    for family, cell in cells_by_family.items():
        share = cell.value.mean
        if share is not None and reaches(share, floor):
            ranked.append((-share, family))
    return "; ".join(f"{_format_title(family)} ({percent(-share)})" for share, family in sorted(ranked))


def counts_table(summary: pl.DataFrame, titles: SuiteTitles) -> Table:
    """Return every mean with its interval and its counts."""
    column = column_maker("common")

    def count(name: str) -> Column:
        return column(name, lambda cell: str(getattr(cell.counts, f"n_{name}")), numeric=True)

    return Table.of(
        cells(summary.filter(OF_FAMILIES)),
        column("model", attrgetter("model")),
        column("category", lambda cell: titles.category(cell.suite, cell.family)),
        column("metric", attrgetter("metric")),
        column("mean", lambda cell: percent(cell.value.mean), numeric=True),
        column("interval", _interval, numeric=True),
        column("scored", lambda cell: f"{cell.counts.n_scored} / {cell.counts.n_asked}", numeric=True),
        *map(
            count,
            ("no_answer", "truncated", "unsupported", "filtered", "model_error", "judge_failed", "not_applicable"),
        ),
        title=say("common.intervals"),
    )


def beside_tables(suites: Iterable[Suite], summary: pl.DataFrame, titles: SuiteTitles) -> Iterator[Table]:
    """Yield, for each metric with a headline value, that value beside the score, with their statistics."""
    for suite in suites:
        for unit in map(metric, suite.metric_names):
            if unit.shown.headline:
                yield _beside_table(unit, summary.filter(OF_SUITES, suite=suite.name), titles.suite(suite.name))


def _beside_table(unit: Metric, summary: pl.DataFrame, title: str) -> Table:
    by_metric = {(cell.model, cell.metric): cell for cell in cells(summary)}

    def column(title: str, name: str, write: Callable[[SummaryRow | None], str]) -> Column:
        return Column(title, lambda model: write(by_metric.get((model, name))), numeric=True)

    columns = [Column(say("common.model")), column(say("common.score"), unit.name, _cell)]
    for part in unit.shown.headline:
        name = f"{unit.name}.{part}"
        columns.append(column(part_title(unit, part), name, _cell))
        columns.append(column(say("common.interval"), name, _interval))
    models = [model for model, name in by_metric if name == unit.name]
    return Table.of(models, *columns, title=title, caption=get_display_text(unit, "note", unit.shown.note))


def compose(data: ReportData) -> str:
    """Return the whole report."""
    with use_language(data.language):
        return "\n".join(_list_lines(data))


def _list_lines(data: ReportData) -> Iterator[str]:
    concluded = conclusion(data.verdict, data.results.baseline)
    verdict = [f"**{escape_markdown(concluded)}**", ""]
    # The seed's own head comes first, unless the run failed.
    if concluded.outcome == "error":
        yield from verdict
    yield from _list_heading(data)
    if concluded.outcome != "error":
        yield from verdict
    for suite in data.plan.suites:
        if suite.suite.strata:
            scores = FamilyScores(suite.suite, data.summary, data.items, data.scores)
            names = [target.name for target in suite.targets]
            yield from (f"## {say('common.summary')}", "", *summary_table(scores, names), "")
            yield from (f"## {say('common.analysis')}", "")
            for name in names:
                yield from analysis(scores, name)
    yield from markdown([verdict_table(data.verdict.models, data.results.spending, title=say("common.verdict"))])
    for note in notes(data.results, data.verdict, data.plan, data):
        yield from (f"**{say('common.warning')}:** {escape_markdown(note.text.removesuffix('.'))}.", "")
    yield from markdown(sections(data))
    failed = build_failed_table(data)
    if failed.rows:
        yield from markdown([failed])
    # The details: each metric's headline values, every mean with its counts, and the bands of judges' ratings.
    yield from markdown(
        table for table in beside_tables(data.plan.declarations, data.summary, data.titles) if table.rows
    )
    yield from markdown([counts_table(data.summary, data.titles)])
    metric_names = chain.from_iterable(suite.metric_names for suite in data.plan.declarations)
    units = map(metric, sorted({*metric_names}))
    yield from markdown(filter(None, (bands(unit, data.scores) for unit in units)))
    yield from _list_origins(data)


def _list_heading(data: ReportData) -> Iterator[str]:
    """Yield the title, the date, the models and the run with its calls."""
    responders = (suite.responses_of for suite in data.plan.suites if suite.responses_of)
    models = dict.fromkeys([*data.plan.model_names, *responders])
    yield from (f"# {say('common.title')}", "")
    yield f"**{say('common.date')}:** {data.start_time:%Y-%m-%d %H:%M:%S}  "
    yield f"**{say('common.models')}:** {', '.join(map(code, models))}  "
    run = code(data.run)
    if data.plan.report.name:
        run = f"{escape_markdown(data.plan.report.name)}, {run}"
    yield f"**{say('common.run')}:** {run}. {describe_calls(data.manifest.get('requests', {}))}"
    yield ""


def _list_origins(data: ReportData) -> Iterator[str]:
    """Yield what the run cost, and the rules and the sandbox by which its scores came about."""
    costs = [*map(escape_markdown, cost_lines(data.results.spending))]
    if costs:
        yield from (*markdown([usage(data)]), *costs, "")
    version, sandbox = data.manifest.get(METHODOLOGY), data.manifest.get("sandbox")
    if version:
        yield from (f"**{say('page.methodology')}:** {version}", "")
    if sandbox:
        layers = "; ".join(f"{escape_markdown(name)} {code(say_reason(how))}" for name, how in sandbox.items())
        yield from (f"**{say('common.sandbox')}:** {layers}", "")


def write(data: ReportData, folder: Path) -> Path:
    """Write `reports/report_<stamp>.md`."""
    return write_atomically(folder / "reports" / f"report_{data.stamp}.md", compose(data))
