"""Known facts before a run: the cached replies, and the usage of earlier runs' calls.

Nothing is called or written, and no cache is created.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from config.settings import Model, StoreSettings
from data.errors import InputError
from data.plugins import metric
from prompts.phrases import phrase
from tasks.query import identify
from tasks.runtime.storage import cache_url, open_cache
from tasks.store.databases import file_of
from tasks.store.replies import Remembered
from tasks.store.runs import Run, load, runs_in

RUNS = 20
"""The number of latest runs that are read."""
ENOUGH = 5
"""Minimum calls, or judged replies, for using a mean."""
WEIGHED = 200
"""Prompts of a run whose characters are counted."""


@dataclass(frozen=True, slots=True)
class CallMeans:
    """Averages over `n` calls of a model: output tokens, seconds, characters per token."""

    n: int
    tokens_out: float
    latency_s: float
    characters: float | None


@dataclass
class Memory:
    """Read access to a store's reply cache and latest runs; notes in `language`, problems in English.

    `examined` are the short exams that were counted: judge, step, language.
    """

    store: StoreSettings
    fresh: str
    language: str
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    identities: dict[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    examined: set[tuple[str, str, str]] = field(default_factory=set)

    def identity(self, role: str, model: Model) -> Mapping[str, str]:
        """Return a model's identity, as a run would; if it is unavailable, one of no cached call, with a note."""
        key = (role, model.name)
        if key not in self.identities:
            self.identities[key] = {"unavailable": "yes"}
            try:
                self.identities[key] = identify(model) | ({"fresh": self.fresh} if self.fresh else {})
            except (InputError, TimeoutError) as error:
                why = str(error) or "its server did not respond"
                self.problems.append(f"{role} {model.name} cannot be asked: {why}")
                whose = {"role": phrase(f"page.role_{role}", self.language), "model": model.name}
                self.notes.append(phrase("estimate.no_lookup", self.language, why=why.rstrip("."), **whose))
        return self.identities[key]

    def lookup(self, ids: Iterable[str]) -> Mapping[str, Remembered]:
        """Return the cached replies among requests."""
        wanted, file = list(dict.fromkeys(ids)), file_of(cache_url(self.store))
        there = file is None or (file.is_file() and file.stat().st_size > 0)  # reading must not create a cache
        return open_cache(self.store).lookup(wanted) if wanted and there else {}

    def call_means(self, role: str, model: str, suite: str = "") -> CallMeans | None:
        """Return the averages of a model's calls, in a suite or in all; None if too few are known."""
        own = self._calls.filter(role=role, model=model).drop_nulls("tokens_out")
        own = own.filter(suite=suite) if suite else own
        if own.height < ENOUGH:
            return None
        weighed = own.drop_nulls(["characters", "tokens_in"])
        tokens = int(weighed["tokens_in"].sum())
        return CallMeans(
            n=own.height,
            tokens_out=float(own["tokens_out"].sum()) / own.height,
            latency_s=float(own["latency_s"].sum()) / own.height,
            characters=int(weighed["characters"].sum()) / tokens if tokens else None,
        )

    def calls_per_reply(self, suite: str, judge: str, name: str) -> float | None:
        """Return the mean calls to a judge for a metric per reply; None if too few were judged."""
        steps = [step.name for step in metric(name).steps]
        every = self._calls.filter(role="judge", suite=suite, model=judge)
        own = every.filter(pl.col("step").is_in(steps))
        # Replies that needed no call count as well: they are among those that were answered in the same runs.
        there = self._calls.filter(role="model", suite=suite).join(own, on="run", how="semi")
        replies = there.unique(["run", "item_id", "asked"]).height
        return own.height / replies if own.height and replies >= ENOUGH else None

    @cached_property
    def _calls(self) -> pl.DataFrame:
        """The answered calls of the latest runs."""
        root = self.store.root
        runs = [run for run in runs_in(Path(self.store.runs)) if run.finished][-RUNS:]
        return pl.concat([_EMPTY, *(frame for run in runs for frame in _calls_of(run, root))])


_EMPTY = pl.DataFrame(
    schema={
        "run": pl.String, "role": pl.String, "suite": pl.String, "model": pl.String, "step": pl.String,
        "item_id": pl.String, "asked": pl.String, "tokens_in": pl.Int64, "tokens_out": pl.Int64,
        "latency_s": pl.Float64, "characters": pl.Int64,
    }
)  # fmt: skip


def _calls_of(run: Run, root: str) -> Iterator[pl.DataFrame]:
    """Yield a run's answered calls, of models and of judges; nothing of a run whose tables are gone."""
    try:
        items = load(run, "items", root).select("item_id", "suite").unique()
        for role, kind in (("model", ""), ("judge", "judge_")):
            requests = load(run, f"{kind}requests", root)
            responses = load(run, f"{kind}responses", root).unique("request_id")
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
    except (InputError, OSError, KeyError, TypeError):
        return


def _characters(payloads: pl.Series) -> pl.Series:
    """Return the characters of the first prompts, null for the others."""
    counted = [
        sum(len(message["content"]) for message in json.loads(payload)["messages"]) if payload != "{}" else None
        for payload in payloads.head(WEIGHED)
    ]
    return pl.Series(counted, dtype=pl.Int64).extend_constant(None, len(payloads) - len(counted))
