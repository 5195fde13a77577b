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
"""A problem's question, its solution, and its twin or why it has none."""


@cache
def read_problems(path: Path) -> list[tuple[str, str]]:
    """Return each problem's question and solution."""
    return [(question.strip(), answer) for question, answer in pl.read_parquet(path).iter_rows()]


@cache
def renew_row(path: Path, row: int) -> Renewal:
    """Return a problem's renewal."""
    question, answer = read_problems(path)[row]
    return question, answer, _renewed(question, answer)


@cache
def renew_plain_row(path: Path, row: int) -> Renewal:
    """Return the same without annotations in the solution; what is refused for another reason stays so."""
    question, answer, twin = renew_row(path, row)
    if isinstance(twin, Renewed) or twin == OTHER:
        twin = _renewed(question, re.sub(r"<<[^<>]*>>", "", answer))
    return question, answer, twin


def _renewed(question: str, solution: str) -> Renewed | str:
    try:
        return renew(question, solution, "en", source("numbers", question, 0), annotated=annotate(solution))
    except Refused as reason:
        return str(reason)
