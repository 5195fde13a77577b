"""Earlier runs: what calls really took, by suite and model, and how many a judge was asked for a reply."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from config.settings import StoreSettings
from data.batches import Ref
from data.errors import InputError
from data.plugins import metric
from data.tables import ITEMS, REQUESTS, RESPONSES
from tasks.runtime.storage import open_store
from tasks.store.inventory import RunFolder, runs_in
from tasks.store.tables import Damaged, Store

RUNS = 20
"""The latest runs that are read."""
ENOUGH = 5
"""Calls, or judged replies, from which a mean is used."""
WEIGHED = 200
"""Prompts of a run whose characters are counted."""


@dataclass(frozen=True, slots=True)
class CallMeans:
    """What `n` calls of a model took: the means of tokens written and seconds, characters to a token."""

    n: int
    tokens_out: float
    latency_s: float
    characters: float | None


@dataclass
class EarlierRuns:
    """The latest runs of a store, read once at the first question."""

    store: StoreSettings
    _calls: pl.DataFrame | None = field(default=None, init=False)

    def call_means(self, role: str, model: str, suite: str = "") -> CallMeans | None:
        """Return what calls of a model took, in a suite or in all; None where too few are known."""
        own = self._read().filter(role=role, model=model).drop_nulls("tokens_out")
        own = own.filter(suite=suite) if suite else own
        if own.height < ENOUGH:
            return None
        weighed = own.drop_nulls(["characters", "tokens_in"])
        tokens = int(weighed["tokens_in"].sum())
        return CallMeans(
            n=own.height,
            tokens_out=_mean(own["tokens_out"]),
            latency_s=_mean(own["latency_s"]),
            characters=int(weighed["characters"].sum()) / tokens if tokens else None,
        )

    def calls_per_reply(self, suite: str, judge: str, name: str) -> float | None:
        """Return how often a judge was asked for a metric about one reply; None where too few were judged."""
        steps = [step.name for step in metric(name).steps]
        every = self._read().filter(role="judge", suite=suite, model=judge)
        own = every.filter(pl.col("step").is_in(steps))
        # Replies that no call was needed for count as well: they are among those that were answered.
        replies = self._read().filter(role="model", suite=suite).unique(["run", "item_id", "asked"]).height
        return own.height / replies if own.height and replies >= ENOUGH else None

    def _read(self) -> pl.DataFrame:
        if self._calls is None:
            store = open_store(self.store)
            runs = [run for run in runs_in(Path(self.store.runs)) if run.finished][-RUNS:]
            frames = [frame for run in runs for frame in _calls_of(store, run)]
            self._calls = pl.concat(frames) if frames else _EMPTY
        return self._calls


_EMPTY = pl.DataFrame(
    schema={
        "run": pl.String, "role": pl.String, "suite": pl.String, "model": pl.String, "step": pl.String,
        "item_id": pl.String, "asked": pl.String, "tokens_in": pl.Int64, "tokens_out": pl.Int64,
        "latency_s": pl.Float64, "characters": pl.Int64,
    }
)  # fmt: skip


def _mean(values: pl.Series) -> float:
    return float(values.sum()) / max(len(values), 1)


def _calls_of(store: Store, run: RunFolder) -> Iterator[pl.DataFrame]:
    """Yield a run's answered calls, of models and of judges; nothing of a run whose tables are gone."""
    tables = run.manifest["tables"]
    try:
        items = store.read_all(_refs(tables, "items"), ITEMS).select("item_id", "suite").unique()
        for role, kind in (("model", ""), ("judge", "judge_")):
            requests = store.read_all(_refs(tables, f"{kind}requests"), REQUESTS)
            responses = store.read_all(_refs(tables, f"{kind}responses"), RESPONSES).unique("request_id")
            answered = responses.filter(pl.col("error").is_null())
            whose = pl.coalesce("subject", "model")
            which = pl.coalesce("subject_repeat", "repeat").cast(pl.String)
            told = requests.select(
                "request_id",
                "item_id",
                "model",
                "step",
                asked=pl.concat_str(whose, which, separator=" "),
                characters=_characters(requests["payload"]),
            )
            columns = answered.select("request_id", "tokens_in", "tokens_out", "latency_s")
            joined = told.join(columns, on="request_id").join(items, on="item_id")
            yield joined.with_columns(run=pl.lit(run.name), role=pl.lit(role)).select(_EMPTY.columns)
    except (Damaged, InputError, OSError, KeyError, TypeError):
        return


def _refs(tables: Mapping[str, Any], name: str) -> list[Ref]:
    return list(map(Ref.read, tables.get(name, [])))


def _characters(payloads: pl.Series) -> pl.Series:
    """Return the characters of the first prompts, null for the others."""
    counted = [
        sum(len(message["content"]) for message in json.loads(payload)["messages"]) if payload != "{}" else None
        for payload in payloads.head(WEIGHED)
    ]
    return pl.Series("characters", [*counted, *[None] * (len(payloads) - len(counted))], dtype=pl.Int64)
