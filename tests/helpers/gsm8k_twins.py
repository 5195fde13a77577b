"""GSM8K's test set with other numbers: each problem's twin, or why it has none."""

import re
from functools import cache
from pathlib import Path

import polars as pl

from basic_control.data.draw import source
from basic_control.generators.twins.base import Refused, Renewed
from basic_control.generators.twins.renumbering import OTHER, renew
from basic_control.metrics.cot.chain import annotate

Renewal = tuple[str, str, Renewed | str]


@cache
def renewed(path: Path) -> list[Renewal]:
    """Return each problem's question, its solution, and its twin or the reason."""
    return [
        (question.strip(), answer, _renewed(question.strip(), answer))
        for question, answer in pl.read_parquet(path).iter_rows()
    ]


@cache
def renewed_plain(path: Path) -> list[Renewal]:
    """Return the same without annotations in the solutions; what is refused for another reason stays so."""
    return [
        (question, answer, _renewed(question, re.sub(r"<<[^<>]*>>", "", answer)))
        if isinstance(twin, Renewed) or twin == OTHER
        else (question, answer, twin)
        for question, answer, twin in renewed(path)
    ]


def _renewed(question: str, solution: str) -> Renewed | str:
    try:
        return renew(question, solution, "en", source("numbers", question, 0), annotated=annotate(solution))
    except Refused as reason:
        return str(reason)
