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


def spending_of(
    store: Store, plan: Plan, asked: Sequence[QueryResult], judged: Sequence[QueryResult], day: dt.date
) -> Spending:
    """Return the usage of a run's calls, with the price table valid on its `day`."""
    roles = (("model", _replies(store, asked), plan.models), ("judge", _replies(store, judged), plan.judges))
    spent = [
        tokens_and_cost(role, own, model)
        for role, replies, models in roles
        for model in models
        if not (own := replies.filter(model=model.name)).is_empty()
    ]
    if (table := plan.prices) is None:
        return Spending(plan.currency, spent)
    return Spending(plan.currency, spent, table.file, table.date.isoformat(), table.age(day))


def _replies(store: Store, asked: Sequence[QueryResult]) -> pl.DataFrame:
    """Return the distinct calls of a run by model, with their usage."""
    none = RESPONSES.frame([]).select(_COLUMNS).with_columns(model=pl.lit(""))
    # The query knows the model: with several prompts, requests name the model with its prompt.
    found = [store.read(one.responses).select(_COLUMNS).with_columns(model=pl.lit(one.model)) for one in asked]
    return pl.concat([none, *found]).unique(["model", "request_id"], maintain_order=True)


def tokens_and_cost(role: str, replies: pl.DataFrame, model: Model) -> Spent:
    """Return the usage of a model's distinct calls; a cached reply has the tokens of its original call."""
    fresh = replies.filter(~pl.col("cached").fill_null(value=False))
    tokens_in, tokens_out, cached, thinking = _tokens(replies)
    n_unmeasured = 0
    if model.cost(1, 1):
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
        cost=_cost(model, replies),
        cost_now=_cost(model, fresh),
        unmeasured=n_unmeasured,
    )


def _cost(model: Model, replies: pl.DataFrame) -> float | None:
    """Return what calls cost; None if it is not known: no price, or an answer without its usage."""
    if model.cost(1, 1) and not replies.filter(_IS_UNMEASURED).is_empty():
        return None
    return model.cost(*_tokens(replies), batches=model.batch != "off")


def _tokens(replies: pl.DataFrame) -> tuple[int, int, int, int]:
    """Return the input and output tokens, and of these the cached and the thinking tokens."""
    told = replies["extra"].drop_nulls()
    apart = [
        json.loads(text).get("usage") or {} for text in told.filter(told.str.contains('"usage"', literal=True))
    ]
    cached, thinking = (sum(int(one.get(name, 0)) for one in apart) for name in ("cached", "thinking"))
    return int(replies["tokens_in"].sum()), int(replies["tokens_out"].sum()), cached, thinking
