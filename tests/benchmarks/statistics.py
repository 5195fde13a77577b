"""Measure how long the statistics of a million rows take.

    python -m tests.benchmarks.statistics

Time and peak memory of the aggregation are of a process of its own. Whether intervals hold their level is measured
by `tests.benchmarks.coverage`, whether tests do by `tests.benchmarks.comparisons` and
`tests.benchmarks.regression`.
"""

import resource
import time
from multiprocessing import get_context

import numpy as np
import polars as pl

from basic_control.metrics.analysis.summary import summarise


def million(*, graded: bool, templates: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Make 1 000 000 score rows over 324 cells and their roll-ups: 24 000 items, 7 models, 6 metrics."""
    rng = np.random.default_rng(3)
    n_items, models, metrics = 120_000, 3, 3
    number = np.arange(n_items)
    items = pl.DataFrame({"number": number}).select(
        item_id=pl.format("item-{}-{}", pl.col("number") * 7919, "number"),
        suite=pl.lit("basic_control"),
        family=pl.format("family-{}", pl.col("number") % 6),
        level=pl.format("level-{}", pl.col("number") // 6 % 3),
        language=pl.when(pl.col("number") // 18 % 2 == 0).then(pl.lit("en")).otherwise(pl.lit("ru")),
        template=pl.format("t{}", pl.col("number") // 36 % templates) if templates else pl.lit(""),
    )
    rows = n_items * models * metrics
    values = rng.beta(5, 2, rows) if graded else (rng.random(rows) < 0.7) * 1.0
    scores = items.select("item_id").join(
        pl.DataFrame({"model": [f"model-{m}" for m in range(models)]}), how="cross"
    )
    scores = scores.join(pl.DataFrame({"metric": [f"metric-{m}" for m in range(metrics)]}), how="cross")
    failed = rng.random(rows) < 0.02
    return scores.with_columns(
        value=pl.when(pl.Series(failed)).then(None).otherwise(pl.Series(values)),
        status=pl.when(pl.Series(failed)).then(pl.lit("model_error")).otherwise(pl.lit("scored")),
        repeat=pl.lit(0, pl.Int64),
    ).head(1_000_000), items


def _summed(name: str, *, graded: bool, templates: int) -> None:
    scores, items = million(graded=graded, templates=templates)
    start, busy = time.perf_counter(), time.process_time()
    summary = summarise(scores, items)
    spent, busy = time.perf_counter() - start, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(f"{name:38}{summary.height:10}{spent:10.2f}{busy:10.2f}{peak:10.0f}")


def aggregate() -> None:
    """Print the time and peak memory of summing up a million rows, each case in a process of its own."""
    print(f"\n{'1 000 000 rows':38}{'cells':>10}{'seconds':>10}{'CPU s':>10}{'peak MB':>10}", flush=True)
    for name, graded, templates in (
        ("yes/no", False, 0),
        ("yes/no, 25 templates", False, 25),
        ("graded, 25 templates", True, 25),
        ("graded", True, 0),
    ):
        given = {"graded": graded, "templates": templates}
        process = get_context("spawn").Process(target=_summed, args=(name,), kwargs=given)
        process.start()
        process.join()
    print("(peak: of the whole process, interpreter, libraries and the rows themselves included)")


if __name__ == "__main__":
    aggregate()
