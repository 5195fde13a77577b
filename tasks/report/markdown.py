"""The Markdown report in the seed's form: the summary table, then strengths and typical errors.

Source: seed 001, section 5.3; its analysis, left open there, is computed from the verdicts' reasons.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from artifacts.store import write_atomically
from data.plugins import families
from metrics.bands import BANDED, FLOORS, band
from metrics.summary import Cell, Total, cells, totals
from tasks.report.marks import code, percent, plain, table
from tasks.report.material import Material
from tasks.report.phrases import phrase, why
from tasks.score import CORRECT

__all__ = ["code", "percent", "plain", "table", "title_of", "write"]

STRONG = 80
"""Percent of right answers from which a category counts as a strength: the shipped threshold."""

SHOWN_ERRORS = 5


def title_of(family: str, language: str) -> str:
    """Return a family's title in the report's language."""
    unit = families().get(family)
    return unit.titles.get(language, family) if unit else family


def model_titles(models: Iterable[str]) -> dict[str, str]:
    """Return models by short names, without their owners, where those stay different."""
    listed = list(models)
    short = {model: model.rpartition("/")[2] or model for model in listed}
    return {m: short[m] if list(short.values()).count(short[m]) == 1 else m for m in listed}


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    return f"{percent(cell.mean)} ({cell.n_scored}/{cell.n_asked})"


def _family_cells(summary: pl.DataFrame) -> dict[tuple[str, str], Cell]:
    """Return each model's cell for each family, over all levels and languages."""
    rows = summary.filter(
        (pl.col("suite") == "basic_control")
        & (pl.col("metric") == CORRECT)
        & (pl.col("family") != "")
        & (pl.col("level") == "")
        & (pl.col("language") == "")
    )
    return {(cell.model, cell.family): cell for cell in cells(rows)}


def summary_table(material: Material) -> list[str]:
    """Return the table model x category with a bold TOTAL, and what it leaves out."""
    language = material.settings.report.language
    by_model = _family_cells(material.summary)
    order = list(material.items.filter(suite="basic_control")["family"].unique(maintain_order=True))
    names = model_titles(m.name for m in material.settings.models)
    sums = totals(material.summary)
    header = [
        phrase("corner", language),
        *(title_of(f, language) for f in order),
        f"**{phrase('total', language)}**",
    ]
    rows = []
    notes = []
    for model, short in names.items():
        whole = sums.get(model, Total(None))
        shown = "–" if whole.percent is None else f"{round(whole.percent + 1e-9, 1):.1f}%"
        rows.append([f"**{plain(short)}**", *(_cell(by_model.get((model, f))) for f in order), f"**{shown}**"])
        notes += _notes(material, model, whole, language)
    return [*table(header, rows), "", phrase("note", language), *notes]


def _notes(material: Material, model: str, whole: Total, language: str) -> list[str]:
    notes = []
    for family in whole.left_out:
        reasons = _reasons(material, model, family).head(1)["reason"].to_list()
        reason = plain(reasons[0] if reasons else "")
        named = title_of(family, language)
        notes += ["", phrase("left_out", language, model=plain(model), families=named, reason=reason)]
    if whole.missing:
        named = ", ".join(title_of(f, language) for f in whole.missing)
        notes += ["", phrase("no_total", language, model=plain(model), families=named)]
    return notes


def _reasons(material: Material, model: str, family: str) -> pl.DataFrame:
    """Count the reasons of a model's answers in a family that are not right, most frequent first."""
    scores = material.scores.filter(model=model, metric=CORRECT).join(
        material.items.filter(family=family).select("item_id"), on="item_id", how="semi"
    )
    wrong = scores.filter((pl.col("value") != 1) | pl.col("value").is_null())
    return wrong.group_by("reason", "status").len("n").sort(["n", "reason"], descending=[True, False])


def analysis(material: Material, model: str) -> list[str]:
    """Return a model's strengths, and its typical errors by the verdicts' reasons."""
    language = material.settings.report.language
    own = {f: cell for (m, f), cell in _family_cells(material.summary).items() if m == model}
    strong = sorted(
        (cell for cell in own.values() if cell.mean is not None and 100 * cell.mean >= STRONG),
        key=lambda cell: (-(cell.mean or 0), cell.family),
    )
    said = "; ".join(f"{title_of(c.family, language)} ({percent(c.mean)})" for c in strong)
    if not said:
        said = phrase("no_strengths" if own else "nothing_scored", language, floor=STRONG)
    lines = [f"*   **{phrase('strengths', language, model=plain(model))}:** {said}"]
    errors = []
    for family, cell in own.items():
        for reason, status, n in _reasons(material, model, family).head(SHOWN_ERRORS).iter_rows():
            if status != "not_applicable":
                share = phrase("of", language, k=n, n=cell.n_asked)
                errors.append(f"    *   {title_of(family, language)}: {plain(reason)} ({share})")
    head = f"*   **{phrase('errors', language, model=plain(model))}:**"
    return [*lines, *([head, *errors] if errors else [f"{head} {phrase('no_errors', language)}"]), ""]


def counts_table(material: Material) -> list[str]:
    """Return every mean with its interval and its counts."""
    language = material.settings.report.language
    names = ("scored", "no_answer", "model_error", "judge_failed", "not_applicable")
    header = [phrase(n, language) for n in ("model", "category", "metric", "mean", "interval", *names)]
    rows = []
    for cell in cells(material.summary):
        if cell.level or cell.language or not cell.family:
            continue
        interval = "–" if cell.ci_low is None else f"{percent(cell.ci_low)} – {percent(cell.ci_high)}"
        counts = (cell.n_no_answer, cell.n_model_error, cell.n_judge_failed, cell.n_not_applicable)
        rows.append(
            [
                plain(cell.model),
                title_of(cell.family, language),
                plain(cell.metric),
                percent(cell.mean),
                interval,
                f"{cell.n_scored} / {cell.n_asked}",
                *map(str, counts),
            ]
        )
    return table(header, rows, left=3)


def verdict_table(material: Material) -> list[str]:
    """Return each model's score in each suite and overall, beside its threshold, with what it comes to and why."""
    language = material.settings.report.language
    names = ("model", "suite", "score", "interval", "threshold_head", "weight", "outcome", "why")
    rows = []
    for model in material.results["final"]["models"]:
        for part in (*model["suites"], {**model, "suite": phrase("overall", language)}):
            interval, weight = part["interval"], part.get("weight")
            rows.append(
                [
                    plain(model["model"]),
                    plain(part["suite"]),
                    percent(part["score"]),
                    f"{percent(interval['low'])} – {percent(interval['high'])}" if interval else "–",
                    percent(part["threshold"]),
                    "–" if weight is None else f"{weight:g}",
                    f"**{phrase(part['outcome'], language)}**",
                    plain(why(part, language)),
                ]
            )
    return table([phrase(name, language) for name in names], rows, left=2)


def band_tables(material: Material) -> list[str]:
    """Return what the bands of each judged metric mean, and how many of each model's answers lie in each."""
    language = material.settings.report.language
    lines = []
    for metric in BANDED:
        values = material.scores.filter(metric=metric).drop_nulls("value").select("model", "value").rows()
        if not values:
            continue
        models = list(dict.fromkeys(model for model, _ in values))
        counts = Counter((model, band(value)) for model, value in values)
        header = [phrase(name, language) for name in ("band", "from", "meaning")]
        rows = [
            [
                phrase(name, language),
                percent(floor),
                phrase(f"{metric}_{name}", language),
                *(str(counts[model, name]) for model in models),
            ]
            for floor, name in FLOORS
        ]
        lines += [f"## {phrase('bands_head', language, metric=plain(metric))}", ""]
        lines += [*table([*header, *map(plain, models)], rows, left=3), ""]
    return lines


def compose(material: Material) -> str:
    """Return the whole report."""
    settings = material.settings
    language = settings.report.language
    counts = material.manifest.get("requests", {})
    lines = [
        f"# {phrase('title', language)}",
        "",
        f"**{phrase('date', language)}:** {material.started:%Y-%m-%d %H:%M:%S}  ",
        f"**{phrase('models', language)}:** {', '.join(code(m.name) for m in settings.models)}  ",
        f"**{phrase('run', language)}:** {code(material.run)}. {phrase('calls', language, **counts)}",
        "",
    ]
    if "basic_control" in settings.suites:
        lines += [f"## {phrase('summary', language)}", "", *summary_table(material), ""]
        lines += [f"## {phrase('analysis', language)}", ""]
        for model in settings.models:
            lines += analysis(material, model.name)
    if material.results:
        lines += [f"## {phrase('verdict', language)}", "", *verdict_table(material), ""]
    lines += [f"## {phrase('intervals', language)}", "", *counts_table(material), ""]
    lines += band_tables(material)
    return "\n".join(lines)


def write(material: Material, folder: Path) -> Path:
    """Write `reports/report_<stamp>.md`."""
    path = folder / "reports" / f"report_{material.stamp}.md"
    write_atomically(path, compose(material).encode("utf-8", "replace"))
    return path
