"""How many rows of a run came out otherwise than in the run before it of the same task."""

import polars as pl

from basic_control.data.errors import InputError
from basic_control.tasks.compare.sides import Side, load_side, select_deciding_scores
from basic_control.tasks.store.runs import Run, list_runs

NOTHING = 1e-9
"""A difference of scores that is none."""


def find_run_before(run: Run) -> Run | None:
    """Return the finished run before one that has its suites and its name; None if there is none."""
    before = [candidate for candidate in list_runs(run.folder.parent) if candidate.folder.name < run.folder.name]
    for candidate in reversed(before):
        if candidate.is_finished and _find_task(candidate) == _find_task(run):
            return candidate
    return None


def _find_task(run: Run) -> tuple[list[str], str]:
    report = run.configuration.get("report") or {}
    return run.suites, str(report.get("name") or "")


def count_changed(run: Run, root: str) -> tuple[str, int]:
    """Return the run before and how many questions its models answered with another score.

    Questions that only one of the runs asked count nowhere. The name is '' where there is no such run.
    """
    before = find_run_before(run)
    if before is None:
        return "", 0
    try:
        scores = [_average_scores(load_side(compared, root)) for compared in (before, run)]
    except InputError:  # its tables are gone
        return "", 0
    key = ["question_id", "suite", "model", "metric"]
    pairs = scores[0].join(scores[1], on=key, how="inner", suffix="_now")
    changed = pairs.filter(~pl.col("value").sub(pl.col("value_now")).abs().le(NOTHING).fill_null(value=False))
    both_missing = pl.col("value").is_null() & pl.col("value_now").is_null()
    return before.name, changed.filter(~both_missing).select("question_id", "suite", "model").n_unique()


def _average_scores(side: Side) -> pl.DataFrame:
    """Return the mean of each question by the metrics that decide, by model."""
    scores = select_deciding_scores(side, side.suite_metrics)
    scores = scores.join(side.items.select("item_id", "question_id"), on="item_id")
    return scores.group_by("question_id", "suite", "model", "metric").agg(pl.col("value").mean())
