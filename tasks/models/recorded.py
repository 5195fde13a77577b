"""Requests of an earlier run whose replies ended by themselves: with more room they would read the same."""

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from data.batches import Ref
from data.draw import canonical
from data.tables import REQUESTS
from data.truncation import NAMES, is_cut
from tasks.store.tables import Store


def _stem(payload: str) -> str:
    """Return a request's identity without its token limit, and without the schema that a judge's limit bounds."""
    told = json.loads(payload)
    parameters = {name: value for name, value in told["parameters"].items() if name not in NAMES}
    return canonical({**told, "parameters": parameters, "schema": None})


def uncut(store: Store, manifest: Mapping[str, Any]) -> Ref:
    """Write down the requests of a run, to models and judges, that were answered and not cut.

    Raises:
        Damaged: a table of the run is not whole.
    """
    tables = manifest.get("tables", {})
    found = [REQUESTS.frame([])]
    for asked, answered in (("requests", "responses"), ("judge_requests", "judge_responses")):
        for pair in zip(tables.get(asked, []), tables.get(answered, []), strict=True):
            requests, responses = (store.read(Ref.read(r)) for r in pair)
            joined = requests.join(responses, on="request_id", how="inner", maintain_order="left")
            there = joined.filter(pl.col("error").is_null() & pl.col("text").is_not_null())
            kept = [not is_cut(row) for row in there.iter_rows(named=True)]
            found.append(there.filter(pl.Series(kept, dtype=pl.Boolean)).select(requests.columns))
    return store.write(REQUESTS, pl.concat(found))


def keep(requests: pl.DataFrame, recorded: pl.DataFrame) -> pl.DataFrame:
    """Return requests, those in their recorded form that differ from a recorded one in the token limit alone."""
    known = {
        _stem(payload): (request_id, payload)
        for request_id, payload in recorded.select("request_id", "payload").iter_rows()
    }
    pairs = [
        known.get(_stem(payload), (request_id, payload))
        for request_id, payload in requests.select("request_id", "payload").iter_rows()
    ]
    return requests.with_columns(
        request_id=pl.Series([one for one, _ in pairs], dtype=pl.String),
        payload=pl.Series([one for _, one in pairs], dtype=pl.String),
    )
