"""What was wrong: the first wrong replies of a small run, for its screen."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from basic_control.data.characters import visible
from basic_control.data.plugins import metric
from basic_control.data.suites import TABLE
from basic_control.tasks.plan import Plan, SuitePlan
from basic_control.tasks.report.language import say

SHOWN = 3
_QUESTION, _REPLY, _EXPECTED = 48, 48, 24
"""Characters of each that are shown."""
_KEY = ["item_id", "model", "repeat"]


def _shorten(text: object, limit: int) -> str:
    """Return a text from a file or a model on one line, as far as it is shown."""
    line = visible(" ".join(str(text or "").split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _find_metric(suite: SuitePlan) -> str:
    """Return the first metric of a user's own suite that says whether a reply is right; '' if there is none."""
    if suite.suite.loader != TABLE:
        return ""
    yes_no = (use.name for use in suite.metrics if metric(use.name).yes_no)
    return next(yes_no, "")


def _question(row: Mapping[str, Any]) -> str:
    """Return a row's question: its own, without the words of the prompt around it."""
    facts = json.loads(row["facts"] or "{}")
    return str(facts.get("question") or row["prompt"])


def mistakes(folder: str, plan: Plan) -> Iterator[str]:
    """Yield what was wrong, with three of the replies, in a run of one model and one suite of a user's own."""
    if len(plan.suites) > 1 or len(plan.suites[0].names) > 1:
        return
    name = _find_metric(plan.suites[0])
    tables = Path(folder) / "tables"
    if not name or not (tables / "scores.parquet").is_file():
        return
    scores = pl.read_parquet(tables / "scores.parquet", columns=[*_KEY, "metric", "value"])
    replies = pl.read_parquet(tables / "replies.parquet", columns=[*_KEY, "text", "prompt", "answer", "facts"])
    wrong = scores.filter((pl.col("metric") == name) & (pl.col("value") == 0))
    rows = replies.join(wrong, on=_KEY, how="semi", maintain_order="left").drop_nulls("text")
    if rows.is_empty():
        return
    yield say("screen.wrong", n=rows.height, metric=name)
    for row in rows.head(SHOWN).iter_rows(named=True):
        question, reply = _shorten(_question(row), _QUESTION), _shorten(row["text"], _REPLY)
        expected = _shorten(row["answer"], _EXPECTED)
        yield f"  {say('screen.wrong_reply', question=question, reply=reply or '–', expected=expected or '–')}"
