"""A finished run for export to other tools: one evaluation for each suite and target."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import polars as pl

from basic_control.config.declared import suites_in
from basic_control.data.errors import InputError
from basic_control.data.filters import find_loss
from basic_control.data.messages import read_messages
from basic_control.data.records import Message
from basic_control.data.tools import TOOL_CALLS
from basic_control.metrics.analysis.headlines import Headline
from basic_control.metrics.analysis.summary import SummaryRow
from basic_control.tasks.exchange.discovery import writer
from basic_control.tasks.store.runs import Run, load_calls, load_results, load_table


@dataclass(frozen=True, slots=True)
class ScoredReply:
    """One reply of a run with its scores; `scores` are those that have a value, by metric.

    `messages` are those that were sent, none if only a reply was given; `calls` are those that the reply made.
    """

    item_id: str
    repeat: int
    prompt: str
    answer: list[str]
    text: str
    error: str
    finish_reason: str
    tokens_in: int | None
    tokens_out: int | None
    latency_s: float | None
    scores: Mapping[str, float]
    reasons: Mapping[str, str]
    messages: tuple[Message, ...] = ()
    calls: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One target's replies to one suite, with what results.json says of them.

    `result` is the suite's first headline, None if there is none; `cells` are the metrics' means, by name. The
    score is made of the metrics `scored_by`.
    """

    suite: str
    target: str
    scored_by: tuple[str, ...]
    result: Headline | None
    cells: Mapping[str, SummaryRow]
    rows: tuple[ScoredReply, ...]

    def metrics(self) -> list[str]:
        """Return the metrics that have a mean and at least one value: the score's own first."""
        there = self.cells.keys() & {name for row in self.rows for name in row.scores}
        return [*(name for name in self.scored_by if name in there), *sorted(there - {*self.scored_by})]


def _rows(asked: pl.DataFrame, scores: pl.DataFrame) -> Iterator[ScoredReply]:
    by_reply: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for score in scores.iter_rows(named=True):
        by_reply.setdefault((score["item_id"], score["repeat"]), []).append(score)
    for row in asked.iter_rows(named=True):
        several = json.loads(row["facts"]).get("answer") if row["facts"] else None
        answer = [*map(str, several)] if isinstance(several, list) else [row["answer"]]
        own = by_reply.get((row["item_id"], row["repeat"]), [])
        valued = {one["metric"]: one["value"] for one in own if one["value"] is not None}
        said = {one["metric"]: one["reason"] or one["status"] for one in own}
        _, error = find_loss(row) or ("", "")
        yield ScoredReply(
            row["item_id"], row["repeat"], row["prompt"], answer, row["text"] or "",
            error, row["finish_reason"] or "", row["tokens_in"], row["tokens_out"], row["latency_s"],
            valued, said, _read_sent(row), tuple(json.loads(row["extra"] or "{}").get(TOOL_CALLS) or ()),
        )  # fmt: skip


def _read_sent(row: Mapping[str, Any]) -> tuple[Message, ...]:
    """Return the messages of a request."""
    sent = json.loads(row["payload"] or "{}").get("messages") or ()
    return read_messages(sent) if sent else ()


def evaluations(run: Run, root: str) -> Iterator[Evaluation]:
    """Yield a run's evaluations, in the order of its suites.

    Raises:
        InputError: the run's results cannot be read, or the store does not have its tables intact.
    """
    cells: dict[tuple[str, str], dict[str, SummaryRow]] = {}
    found, verdict = load_results(run, whole=True)
    headlines: dict[tuple[str, str], Headline] = {}
    for headline in (headline for model in verdict.models for headline in model.headlines):
        headlines.setdefault((headline.suite, headline.model), headline)
    for cell in found.cells:
        if not (cell.family or cell.level or cell.language) and cell.value.mean is not None:
            cells.setdefault((cell.suite, cell.model), {})[cell.metric] = cell
    items = load_table(run, "items", root).select("item_id", "suite", "prompt", "answer", "facts")
    scores = load_table(run, "scores", root)
    asked = load_calls(run, root).join(items, on="item_id", how="left", maintain_order="left")
    for suite in suites_in(run.configuration):
        own = asked.filter(suite=suite.name)
        for target in own["model"].unique(maintain_order=True):
            mine = own.filter(model=target).unique(["item_id", "repeat"], maintain_order=True)
            theirs = scores.join(mine.select("item_id").unique(), on="item_id", how="semi").filter(model=target)
            key = (suite.name, str(target))
            rows = tuple(_rows(mine, theirs))
            yield Evaluation(*key, suite.score_metrics, headlines.get(key), cells.get(key, {}), rows)


def export(run: Run, folder: Path, form: str, *, root: str = "") -> Iterator[Path]:
    """Write a run in another tool's format, and yield the files.

    Raises:
        InputError: the format does not exist, the run's tables or results are not intact, the format's package is
            missing, or the folder cannot be written.
    """
    version = next((one.version for one in distributions(name="basic-control")), "unknown")
    facts = {"run": run.name, "started": run.manifest.get("started", ""), "version": version}
    adapter = writer(form)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield from adapter.write(evaluations(run, root), folder, run=facts)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}).") from error
