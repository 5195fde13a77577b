"""Exports of a run: its tables as Parquet, three tables as CSV, and the probabilities of deciding judges."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from basic_control.metrics.analysis.headlines import ModelResult
from basic_control.metrics.stats.intervals import Z
from basic_control.tasks.report.language import use_language
from basic_control.tasks.report.verdict_table import verdict_table
from basic_control.tasks.store.tables import encode_parquet, write_atomically

if TYPE_CHECKING:  # the tables' writers serve commands without Prefect, which this imports
    from basic_control.tasks.report.report_data import ReportData

_KEYS = ("item_id", "model", "repeat", "metric")
_PREFIX = "probability."
_FORMULA = r"^[\t\r\n]|^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]"
"""Beginning of a cell that a spreadsheet may take for a formula."""


def guard_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose text cells and column names no spreadsheet takes for a formula; numbers stay numbers.

    Such texts get a leading apostrophe. Leading white space and full-width signs are recognised too.
    """
    names = pl.Series(frame.columns, dtype=pl.String).str.replace(_FORMULA, "'${0}")
    guarded = frame.with_columns(pl.col(pl.String).str.replace(_FORMULA, "'${0}"))
    return guarded.rename(dict(zip(frame.columns, names, strict=True)))


def write_csv(frame: pl.DataFrame, path: Path) -> Path:
    """Write a frame for spreadsheets: UTF-8 with a byte-order mark, guarded, null as an empty cell."""
    return write_atomically(path, f"\ufeff{csv_text(frame)}")


def csv_text(frame: pl.DataFrame, *, header: bool = True) -> str:
    """Return a frame as guarded CSV text."""
    return guard_formulas(frame).write_csv(include_header=header)


def write_parquet(frame: pl.DataFrame, path: Path) -> Path:
    """Write a frame as Parquet."""
    return write_atomically(path, encode_parquet(frame))


def write(data: "ReportData", folder: Path) -> list[Path]:
    """Write `tables/`: items, replies, judged, verdicts, scores, summary as Parquet; three tables as CSV.

    A row of `replies` is a model's reply with its item's columns, of `judged` a judge's; `scores.csv` also has the
    items' columns. Where judges decide, `probabilities` has a row for each of their answers. Model names, reasons
    and details are guarded in CSV against being read as formulas.
    """
    tables = folder / "tables"
    names = ("items", "replies", "judged", "verdicts", "scores", "summary")
    written = [write_parquet(getattr(data, name), tables / f"{name}.parquet") for name in names]
    item_columns = ("suite", "family", "level", "language", "template")
    items = data.items.select("item_id", *item_columns)
    scores = data.scores.join(items, on="item_id", how="left", maintain_order="left")
    with use_language(data.language, point="."):  # as in the other CSV files
        table = verdict_table(data.verdict.models, data.results.spending, by_id=True)
    frames = {
        "summary": data.summary,
        "scores": scores.select(*item_columns, *data.scores.columns),
        "verdict": pl.DataFrame(table.rows, dict.fromkeys(table.names, pl.String), orient="row").hstack(
            _list_figures(data.verdict.models)
        ),
    }
    probabilities = probability_table(data.scores)
    if probabilities.height:
        frames["probabilities"] = probabilities
        written.append(write_parquet(probabilities, tables / "probabilities.parquet"))
    return written + [write_csv(frame, tables / f"{name}.csv") for name, frame in frames.items()]


def _list_figures(models: Iterable[ModelResult]) -> pl.DataFrame:
    """Return the numbers of the verdict's rows: shares from 0 to 1, their 95 % intervals, and rows scored.

    `standard_error` is half the interval's width by 1.96.
    """
    rows: list[tuple[float | None, ...]] = []
    for headline in chain.from_iterable(model.scores for model in models):
        score, n = headline.measured.score, headline.measured.n_scored
        low, high = score.interval.low, score.interval.high
        error = None
        if low is not None and high is not None:
            error = (high - low) / (2 * Z)
        # The overall score's questions are the units of its interval.
        rows.append((score.mean, low, high, n if headline.suite else score.interval.units, error))
    kinds = {"score": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(), "n": pl.Int64()}
    return pl.DataFrame(rows, {**kinds, "standard_error": pl.Float64()}, orient="row")


def probability_table(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the answers of deciding judges in a scores table.

    `label` is the most probable one, `expected` the mean level of a rating (null of other answers), and
    `probability.LABEL` that of a label (null where the question does not have it).
    """
    rows = [*chain.from_iterable(map(_list_answers, scores.iter_rows(named=True)))]
    columns = dict.fromkeys(chain.from_iterable(rows))
    labels = [name for name in columns if name.startswith(_PREFIX)]
    kinds = dict.fromkeys(("judge", "step", "question", "label"), pl.String)
    keys = dict(scores.select(_KEYS).schema)
    numbers = dict.fromkeys(("expected", *labels), pl.Float64)
    return pl.DataFrame(rows, {**keys, **kinds, **numbers}, orient="row")


def _list_answers(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if '"probabilities"' not in row["details"]:
        return
    for judge, result in json.loads(row["details"]).get("judges", {}).items():
        for step, questions in result.get("probabilities", {}).items():
            for question, shares in questions.items():
                yield {
                    **dict(zip(_KEYS, itemgetter(*_KEYS)(row), strict=True)),
                    "judge": judge,
                    "step": step,
                    "question": question,
                    "label": max(shares, key=shares.__getitem__),
                    "expected": _find_mean_level(shares),
                    **{f"{_PREFIX}{label}": share for label, share in shares.items()},
                }


def _find_mean_level(shares: Mapping[str, float]) -> float | None:
    """Return the mean level; None if the labels are no levels."""
    mean = 0.0
    for label, share in shares.items():
        # As in: -1, 0, 1
        if not label.lstrip("-").isdecimal():
            return None
        mean += int(label) * share
    return mean
