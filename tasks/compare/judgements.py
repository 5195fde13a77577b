"""What the judges of a run decided, as a frame: a row for each claim and criterion."""

from dataclasses import astuple

import polars as pl

from basic_control.tasks.compare.remarks import list_judgements

SCORE = ("suite", "item_id", "model", "repeat", "metric")
"""What a score is of."""
DECIDED = ("judge", "about", "text", "verdict", "reason")
"""What a judge decided about it, as `JudgedPart` has it."""


def tabulate_judgements(scores: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each claim or criterion that a judge decided; `scores` are a row a reply and metric."""
    rows: list[tuple[object, ...]] = []
    judged = scores.filter(pl.col("details").str.contains('"judges"', literal=True))
    for *score, details in judged.select(*SCORE, "details").iter_rows():
        rows.extend((*score, *astuple(judgement)) for judgement in list_judgements(details))
    schema = {name: scores.schema[name] for name in SCORE} | dict.fromkeys(DECIDED, pl.String())
    return pl.DataFrame(rows, schema, orient="row")
