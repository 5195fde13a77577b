"""A finished run for export to other tools: one evaluation for each suite and target."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
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
        valued = {name for row in self.rows for name in row.scores}
        present = self.cells.keys() & valued
        score_metrics = [name for name in self.scored_by if name in present]
        return [*score_metrics, *sorted(present - {*self.scored_by})]


def _join_scores(calls: pl.DataFrame, scores: pl.DataFrame) -> Iterator[ScoredReply]:
    """Yield each reply with its scores: rows of `calls` and `scores` belong together by question and repeat."""
    scores_of: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for score in scores.iter_rows(named=True):
        scores_of.setdefault((score["item_id"], score["repeat"]), []).append(score)
    for row in calls.iter_rows(named=True):
        reply_scores = scores_of.get((row["item_id"], row["repeat"]), [])
        values = {score["metric"]: score["value"] for score in reply_scores if score["value"] is not None}
        reasons = {score["metric"]: score["reason"] or score["status"] for score in reply_scores}
        _, error = find_loss(row) or ("", "")
        yield ScoredReply(
            row["item_id"], row["repeat"], row["prompt"], _list_expected(row), row["text"] or "",
            error, row["finish_reason"] or "", row["tokens_in"], row["tokens_out"],
            values, reasons, _read_sent(row), tuple(json.loads(row["extra"] or "{}").get(TOOL_CALLS) or ()),
        )  # fmt: skip


def _list_expected(row: Mapping[str, Any]) -> list[str]:
    """Return a row's expected answers: its one, or the alternatives among its facts."""
    facts = json.loads(row["facts"] or "{}")
    if isinstance(facts.get("answer"), list):
        return [*map(str, facts["answer"])]
    return [row["answer"]]


def _read_sent(row: Mapping[str, Any]) -> tuple[Message, ...]:
    """Return the messages of a request."""
    sent = json.loads(row["payload"] or "{}").get("messages") or ()
    return read_messages(sent) if sent else ()


def list_evaluations(run: Run, root: str) -> Iterator[Evaluation]:
    """Yield a run's evaluations, in the order of its suites.

    Raises:
        InputError: the run's results cannot be read, or the store does not have its tables intact.
    """
    results, verdict = load_results(run, whole=True)
    # An evaluation has the first headline of its suite and model.
    headlines: dict[tuple[str, str], Headline] = {}
    for model in verdict.models:
        for headline in model.headlines:
            headlines.setdefault((headline.suite, headline.model), headline)
    cells: dict[tuple[str, str], dict[str, SummaryRow]] = {}
    for cell in results.cells:
        if not (cell.family or cell.level or cell.language) and cell.value.mean is not None:
            cells.setdefault((cell.suite, cell.model), {})[cell.metric] = cell
    items = load_table(run, "items", root).select("item_id", "suite", "prompt", "answer", "facts")
    scores = load_table(run, "scores", root)
    calls = load_calls(run, root).join(items, on="item_id", how="left", maintain_order="left")
    for suite in suites_in(run.configuration):
        suite_calls = calls.filter(suite=suite.name)
        for target in suite_calls["model"].unique(maintain_order=True):
            target_calls = suite_calls.filter(model=target).unique(["item_id", "repeat"], maintain_order=True)
            item_ids = target_calls.select("item_id").unique()
            target_scores = scores.join(item_ids, on="item_id", how="semi").filter(model=target)
            key = (suite.name, str(target))
            rows = tuple(_join_scores(target_calls, target_scores))
            yield Evaluation(*key, suite.score_metrics, headlines.get(key), cells.get(key, {}), rows)


def export(run: Run, folder: Path, form: str, *, root: str = "") -> Iterator[Path]:
    """Write a run in another tool's format, and yield the files.

    Raises:
        InputError: the format does not exist, the run's tables or results are not intact, the format's package is
            missing, or the folder cannot be written.
    """
    version = next((package.version for package in distributions(name="basic-control")), "unknown")
    facts = {"run": run.name, "started": run.manifest.get("started", ""), "version": version}
    adapter = writer(form)
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield from adapter.write(list_evaluations(run, root), folder, run=facts)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}).") from error
    except InputError:
        # A form whose package is missing leaves no empty folder.
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise
