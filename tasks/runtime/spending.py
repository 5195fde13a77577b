"""Sum up the usage of a run's calls."""

import datetime as dt
import json
from collections.abc import Sequence

import polars as pl

from basic_control.config.settings import Model
from basic_control.data.batches import QueryResult
from basic_control.data.tables import RESPONSES
from basic_control.metrics.analysis.spending import Spending, Spent
from basic_control.tasks.plan import Plan
from basic_control.tasks.store.tables import Store

_COLUMNS = ("request_id", "tokens_in", "tokens_out", "extra", "cached", "error")

_IS_UNMEASURED = pl.col("error").is_null() & (pl.col("tokens_in").is_null() | pl.col("tokens_out").is_null())
"""Answers of which the server did not say how many tokens they took."""


def sum_spending(
    store: Store,
    plan: Plan,
    model_queries: Sequence[QueryResult],
    judge_queries: Sequence[QueryResult],
    day: dt.date,
) -> Spending:
    """Return the usage of a run's calls, with the price table valid on its `day`."""
    model_calls, judge_calls = _read_calls(store, model_queries), _read_calls(store, judge_queries)
    spent = []
    for role, calls, models in (("model", model_calls, plan.models), ("judge", judge_calls, plan.judges)):
        for model in models:
            calls_of_model = calls.filter(model=model.name)
            if not calls_of_model.is_empty():
                spent.append(sum_usage(role, calls_of_model, model))
    table = plan.pricing.prices
    if table is None:
        return Spending(plan.pricing.currency, spent)
    return Spending(plan.pricing.currency, spent, table.file, table.date.isoformat(), table.age(day))


def _read_calls(store: Store, queries: Sequence[QueryResult]) -> pl.DataFrame:
    """Return the distinct calls of a run by model, with their usage."""
    frames = [RESPONSES.frame([]).select(_COLUMNS).with_columns(model=pl.lit(""))]
    # The query knows the model: with several prompts, requests name the model with its prompt.
    for query in queries:
        frame = store.read(query.responses).select(_COLUMNS)
        frames.append(frame.with_columns(model=pl.lit(query.model)))
    return pl.concat(frames).unique(["model", "request_id"], maintain_order=True)


def sum_usage(role: str, replies: pl.DataFrame, model: Model) -> Spent:
    """Return the usage of a model's distinct calls; a cached reply has the tokens of its original call."""
    fresh = replies.filter(~pl.col("cached").fill_null(value=False))
    tokens_in, tokens_out, cached, thinking = _sum_tokens(replies)
    n_unmeasured = 0
    if _has_price(model):
        n_unmeasured = replies.filter(_IS_UNMEASURED).height
    return Spent(
        role=role,
        model=model.name,
        calls=replies.height,
        fresh=fresh.height,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        tokens_cached=cached,
        tokens_thinking=thinking,
        cost=_compute_cost(model, replies),
        cost_now=_compute_cost(model, fresh),
        unmeasured=n_unmeasured,
    )


def _compute_cost(model: Model, replies: pl.DataFrame) -> float | None:
    """Return what calls cost; None if it is not known: no price, or an answer without its usage."""
    if _has_price(model) and not replies.filter(_IS_UNMEASURED).is_empty():
        return None
    return model.cost(*_sum_tokens(replies), batches=model.batch != "off")


def _has_price(model: Model) -> bool:
    """Return whether a model's tokens are known to cost something."""
    return bool(model.cost(1, 1))


def _sum_tokens(replies: pl.DataFrame) -> tuple[int, int, int, int]:
    """Return the input and output tokens, and of these the cached and the thinking tokens."""
    texts = replies["extra"].drop_nulls()
    # Most have none, and reading JSON takes long.
    texts = texts.filter(texts.str.contains('"usage"', literal=True))
    usages = [json.loads(text).get("usage") or {} for text in texts]
    cached = sum(int(usage.get("cached", 0)) for usage in usages)
    thinking = sum(int(usage.get("thinking", 0)) for usage in usages)
    return int(replies["tokens_in"].sum()), int(replies["tokens_out"].sum()), cached, thinking
