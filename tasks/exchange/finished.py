"""A finished run of ours, taken apart for other tools: one evaluation for each suite and target."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from config.declared import suites_in
from tasks.store.runs import FinishedRun, load


@dataclass(frozen=True, slots=True)
class ScoredReply:
    """One reply of a run with its scores; `scores` are those that have a value, by metric."""

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


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One target's replies to one suite; `score` are the metrics that the suite's score is made of."""

    suite: str
    target: str
    score: tuple[str, ...]
    rows: tuple[ScoredReply, ...]

    def metrics(self) -> list[str]:
        """Return the metrics that have a value somewhere: the score's own first."""
        there = {name for row in self.rows for name in row.scores}
        return [*(name for name in self.score if name in there), *sorted(there - set(self.score))]


def _answers(facts: str, answer: str) -> list[str]:
    found = json.loads(facts).get("answer") if facts else None
    return [str(one) for one in found] if isinstance(found, list) else [answer]


def _rows(asked: pl.DataFrame, scores: pl.DataFrame) -> Iterator[ScoredReply]:
    by_reply: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for score in scores.iter_rows(named=True):
        by_reply.setdefault((score["item_id"], score["repeat"]), []).append(score)
    for row in asked.iter_rows(named=True):
        own = by_reply.get((row["item_id"], row["repeat"]), [])
        valued = {one["metric"]: one["value"] for one in own if one["value"] is not None}
        said = {one["metric"]: one["reason"] or one["status"] for one in own}
        yield ScoredReply(
            row["item_id"], row["repeat"], row["prompt"], _answers(row["facts"], row["answer"]), row["text"] or "",
            row["error"] or "", row["finish_reason"] or "", row["tokens_in"], row["tokens_out"], row["latency_s"],
            valued, said,
        )  # fmt: skip


def evaluations(run: FinishedRun, root: str = "") -> Iterator[Evaluation]:
    """Yield a run's evaluations, in the order of its suites.

    Raises:
        InputError: the store does not hold the run's tables whole.
    """
    items = load(run, "items", "items", root).select("item_id", "suite", "prompt", "answer", "facts")
    requests = load(run, "requests", "requests", root).select("request_id", "item_id", "model", "repeat")
    responses = load(run, "responses", "responses", root).unique("request_id").drop("extra", "reasoning")
    scores = load(run, "scores", "scores", root)
    asked = requests.join(responses, on="request_id", how="left", maintain_order="left").join(
        items, on="item_id", how="left", maintain_order="left"
    )
    for suite in suites_in(run.configuration):
        own = asked.filter(pl.col("suite") == suite.name)
        for target in own["model"].unique(maintain_order=True):
            mine = own.filter(pl.col("model") == target).unique(["item_id", "repeat"], maintain_order=True)
            of_items = scores.join(mine.select("item_id").unique(), on="item_id", how="semi")
            theirs = of_items.filter(pl.col("model") == target)
            yield Evaluation(suite.name, str(target), suite.scored_by, tuple(_rows(mine, theirs)))
