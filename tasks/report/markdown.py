"""The Markdown report in the seed's form: the summary table, then strengths and typical errors.

Source: seed 001, section 5.3; its analysis, left open there, is computed from the verdicts' reasons.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from data.plugins import metric, metrics
from data.suites import Suite
from metrics.analysis.bands import FLOORS, band
from metrics.analysis.scores import THRESHOLD, reaches
from metrics.analysis.summary import OF_FAMILIES, OF_SUITES, SummaryRow, Total, cells, totals
from prompts.phrases import translated
from tasks.plan import targets_of
from tasks.report import spending
from tasks.report.passports import warnings
from tasks.report.report_data import ReportData
from tasks.report.sections import markdown, sections, usage
from tasks.report.text import code, percent, plain, table, total_percent
from tasks.report.titles import part_title, shown_text, title_of, titled
from tasks.report.warnings import alarms, run_warnings
from tasks.report.words import asked, parts, scored, shared, why
from tasks.store.tables import write_atomically

SHOWN_ERRORS = 5


def model_titles(models: Iterable[str]) -> dict[str, str]:
    """Return models by short names, without their owners, where those stay different."""
    listed = list(models)
    short = {model: model.rpartition("/")[2] or model for model in listed}
    return {m: short[m] if list(short.values()).count(short[m]) == 1 else m for m in listed}


def _cell(cell: SummaryRow | None) -> str:
    if cell is None:
        return "–"
    return f"{percent(cell.mean)} ({cell.n_scored}/{cell.n_asked})"


def _family_cells(summary: pl.DataFrame, suite: Suite) -> dict[tuple[str, str], SummaryRow]:
    """Return each model's cell for each family, over all levels and languages."""
    rows = summary.filter(OF_FAMILIES, suite=suite.name, metric=suite.scored_by[0])
    return {(cell.model, cell.family): cell for cell in cells(rows)}


def _asked(data: ReportData, suite: Suite) -> list[str]:
    """Return the targets that a suite asked, as configured."""
    return [target.name for target in targets_of(data.settings, suite)]


def summary_table(data: ReportData, suite: Suite) -> list[str]:
    """Return the table model x category with a bold TOTAL, and what it leaves out."""
    language = data.settings.report.language
    by_model = _family_cells(data.summary, suite)
    order = list(data.items.filter(suite=suite.name)["family"].unique(maintain_order=True))
    names = model_titles(_asked(data, suite))
    sums = totals(data.summary, suite=suite.name, metric=suite.scored_by[0])
    header = [
        shared("corner", language),
        *(plain(title_of(f, language)) for f in order),
        f"**{shared('total', language)}**",
    ]
    rows = []
    notes = []
    for model, short in names.items():
        whole = sums.get(model, Total(None))
        shown = total_percent(whole.percent)
        rows.append([f"**{plain(short)}**", *(_cell(by_model.get((model, f))) for f in order), f"**{shown}**"])
        notes += _notes(data, suite, model, whole)
    return [*table(header, rows), "", shared("note", language), *notes]


def _notes(data: ReportData, suite: Suite, model: str, whole: Total) -> list[str]:
    language = data.settings.report.language
    notes = []
    for family in whole.left_out:
        reasons = _reasons(data, suite, model, family).head(1)["reason"].to_list()
        reason = plain(translated(reasons[0], language) if reasons else "")
        named = plain(title_of(family, language))
        notes += ["", shared("left_out", language, model=plain(model), families=named, reason=reason)]
    if whole.missing:
        named = ", ".join(plain(title_of(f, language)) for f in whole.missing)
        notes += ["", shared("no_total", language, model=plain(model), families=named)]
    return notes


def _reasons(data: ReportData, suite: Suite, model: str, family: str) -> pl.DataFrame:
    """Count the reasons of a model's answers in a family that are not right, most frequent first."""
    scores = data.scores.filter(model=model, metric=suite.scored_by[0]).join(
        data.items.filter(suite=suite.name, family=family).select("item_id"), on="item_id", how="semi"
    )
    wrong = scores.filter((pl.col("value") != 1) | pl.col("value").is_null())
    return wrong.group_by("reason", "status").len("n").sort(["n", "reason"], descending=[True, False])


def analysis(data: ReportData, suite: Suite, model: str) -> list[str]:
    """Return a model's strengths, and its typical errors by the verdicts' reasons."""
    language = data.settings.report.language
    own = {f: cell for (m, f), cell in _family_cells(data.summary, suite).items() if m == model}
    floor = THRESHOLD if suite.threshold is None else suite.threshold
    strong = sorted(
        (cell for cell in own.values() if cell.mean is not None and reaches(cell.mean, floor)),
        key=lambda cell: (-(cell.mean or 0), cell.family),
    )
    said = "; ".join(f"{plain(title_of(c.family, language))} ({percent(c.mean)})" for c in strong)
    if not said:
        said = shared("no_strengths" if own else "nothing_scored", language, floor=f"{100 * floor:g}")
    lines = [f"*   **{shared('strengths', language, model=plain(model))}:** {said}"]
    errors = []
    for family, cell in own.items():
        for reason, status, n in _reasons(data, suite, model, family).head(SHOWN_ERRORS).iter_rows():
            if status != "not_applicable":
                share = shared("of", language, k=n, n=cell.n_asked)
                errors.append(
                    f"    *   {plain(title_of(family, language))}: {plain(translated(reason, language))} ({share})"
                )
    head = f"*   **{shared('errors', language, model=plain(model))}:**"
    return [*lines, *([head, *errors] if errors else [f"{head} {shared('no_errors', language)}"]), ""]


def counts_table(data: ReportData) -> list[str]:
    """Return every mean with its interval and its counts."""
    language = data.settings.report.language
    names = ("scored", "no_answer", "truncated", "model_error", "judge_failed", "not_applicable")
    header = [shared(n, language) for n in ("model", "category", "metric", "mean", "interval", *names)]
    rows = []
    for cell in cells(data.summary):
        if cell.level or cell.language or not cell.family:
            continue
        interval = "–" if cell.ci_low is None else f"{percent(cell.ci_low)} – {percent(cell.ci_high)}"
        counts = (cell.n_no_answer, cell.n_truncated, cell.n_model_error, cell.n_judge_failed)
        rows.append(
            [
                plain(cell.model),
                plain(title_of(cell.family, language)),
                plain(cell.metric),
                percent(cell.mean),
                interval,
                f"{cell.n_scored} / {cell.n_asked}",
                *map(str, (*counts, cell.n_not_applicable)),
            ]
        )
    return table(header, rows, left=3)


def verdict_table(data: ReportData) -> list[str]:
    """Return each model's score in each suite and overall, beside its threshold, with what it comes to and why."""
    language = data.settings.report.language
    names = ("model", "suite", "score", "interval", "threshold_head", "weight", "outcome", "why")
    rows = []
    for model in data.results["final"]["models"]:
        for part in parts(model, language):
            interval, weight = part["interval"], part.get("weight")
            rows.append(
                [
                    plain(model["model"]),
                    plain(part["suite"]),
                    scored(part, language),
                    f"{percent(interval['low'])} – {percent(interval['high'])}" if interval else "–",
                    percent(part["threshold"]),
                    "–" if weight is None else f"{weight:g}",
                    f"**{shared(part['outcome'], language)}**",
                    plain(why(part, language)),
                ]
            )
    return table([shared(name, language) for name in names], rows, left=2)


def beside_tables(data: ReportData) -> list[str]:
    """Return, for each metric with a headline of its own, that beside the score, and what both are worth."""
    language = data.settings.report.language
    lines = []
    for suite in data.settings.suites:
        for name in suite.used:
            unit = metric(name)
            headlines = [f"{name}.{part}" for part in unit.shown.headline]
            own = data.summary.filter(OF_SUITES, suite=suite.name)
            found = {(cell.model, cell.metric): cell for cell in cells(own)}
            models = dict.fromkeys(model for model, of in found if of == name)
            if not headlines or not models:
                continue
            titles = [part_title(unit, part, language) for part in unit.shown.headline]
            header = [shared("model", language), shared("score", language)]
            header += [text for title in titles for text in (title, shared("interval", language))]
            rows = [
                [
                    plain(model),
                    _cell(found.get((model, name))),
                    *(text for one in headlines for text in _interval_and_counts(found.get((model, one)))),
                ]
                for model in models
            ]
            lines += [f"## {plain(titled(suite, language))}", "", *table(header, rows), ""]
            lines += [note, ""] if (note := shown_text(unit, "note", unit.shown.note, language)) else []
    return lines


def _interval_and_counts(cell: SummaryRow | None) -> tuple[str, str]:
    around = "–"
    if cell is not None and cell.ci_low is not None:
        around = f"{percent(cell.ci_low)} – {percent(cell.ci_high)}"
    return _cell(cell), around


def band_tables(data: ReportData) -> list[str]:
    """Return what the bands of each judged metric mean, and how many of each model's answers lie in each."""
    language = data.settings.report.language
    lines = []
    for name, unit in metrics().items():
        if not unit.shown.bands:
            continue
        values = data.scores.filter(metric=name).drop_nulls("value").select("model", "value").rows()
        if not values:
            continue
        models = list(dict.fromkeys(model for model, _ in values))
        counts = Counter((model, band(value)) for model, value in values)
        header = [shared(word, language) for word in ("band", "from", "meaning")]
        rows = [
            [
                shared(one, language),
                percent(floor),
                shown_text(unit, f"band {one}", unit.shown.meanings.get(one, {}), language),
                *(str(counts[model, one]) for model in models),
            ]
            for floor, one in FLOORS
        ]
        lines += [f"## {shared('bands_head', language, metric=plain(name))}", ""]
        lines += [*table([*header, *map(plain, models)], rows, left=3), ""]
    return lines


def compose(data: ReportData) -> str:
    """Return the whole report."""
    settings = data.settings
    language = settings.report.language
    counts = data.manifest.get("requests", {})
    lines = [
        *(f"**{plain(said)}**\n" for said in alarms(data.results, language)),
        f"# {shared('title', language)}",
        "",
        f"**{shared('date', language)}:** {data.started:%Y-%m-%d %H:%M:%S}  ",
        f"**{shared('models', language)}:** {', '.join(code(m.name) for m in settings.models)}  ",
        f"**{shared('run', language)}:** {code(data.run)}. {asked(counts, language)}",
        "",
    ]
    for suite in settings.suites:
        if suite.strata:
            lines += [f"## {shared('summary', language)}", "", *summary_table(data, suite), ""]
            lines += [f"## {shared('analysis', language)}", ""]
            for model in _asked(data, suite):
                lines += analysis(data, suite, model)
    if data.results:
        lines += [f"## {shared('verdict', language)}", "", *verdict_table(data), ""]
        of_judges = dict.fromkeys(said for _, _, said in warnings(data.results, language))
        for said in (*run_warnings(data.results, language), *of_judges):
            lines += [f"**{shared('warning', language)}:** {plain(said)}.", ""]
    lines += markdown(sections(data))
    lines += beside_tables(data)
    lines += [f"## {shared('intervals', language)}", "", *counts_table(data), ""]
    lines += band_tables(data)
    if told := [plain(line) for line in spending.lines(data.results, language)]:
        lines += [*markdown([usage(data)]), *told, ""]
    if held := data.manifest.get("sandbox"):
        layers = "; ".join(f"{plain(name)} {code(translated(how, language))}" for name, how in held.items())
        lines += [f"**{shared('sandbox', language)}:** {layers}", ""]
    return "\n".join(lines)


def write(data: ReportData, folder: Path) -> Path:
    """Write `reports/report_<stamp>.md`."""
    path = folder / "reports" / f"report_{data.stamp}.md"
    write_atomically(path, compose(data).encode("utf-8", "replace"))
    return path
