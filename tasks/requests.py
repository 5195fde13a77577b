"""Requests: calls to make, each under the hash of its whole identity."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from config.settings import Model
from data.draw import canonical
from data.records import Call, Message
from data.tables import REQUESTS


def parameters(model: Model, **changes: Any) -> dict[str, Any]:
    """Return every sampling parameter of a model by its common name; `changes` override them."""
    own = {"temperature": model.temperature, "seed": model.seed, "max_tokens": model.max_tokens, **model.extra}
    return {name: value for name, value in {**own, **changes}.items() if value is not None}


def request(
    model: Model,
    identity: Mapping[str, str],
    messages: Iterable[Message],
    *,
    item_id: str,
    step: str = "answer",
    key: str = "",
    repeat: int = 0,
    schema: Mapping[str, Any] | None = None,
    changes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a row of the requests table.

    The id covers provider, model and digest (`identity`), messages, sampling parameters, the schema and how it is
    enforced, and the repeat index. A replay answers by item, so there the item is part of it too.
    """
    payload: dict[str, Any] = {
        "identity": dict(identity),
        "messages": [{"role": m.role, "content": m.content} for m in messages],
        "parameters": parameters(model, **(changes or {})),
        "schema": dict(schema) if schema and model.structured != "off" else None,
        "structured": model.structured if schema else None,
        "repeat": repeat,
    }
    if model.provider == "replay":
        payload["item_id"] = item_id
    text = canonical(payload)
    return {
        "request_id": hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
        "item_id": item_id,
        "model": model.name,
        "step": step,
        "key": key,
        "repeat": repeat,
        "payload": text,
    }


def call_of(row: Mapping[str, Any]) -> Call:
    """Return a row of the requests table as a client sees it."""
    payload = json.loads(row["payload"])
    return Call(
        messages=tuple(Message(m["role"], m["content"]) for m in payload["messages"]),
        parameters=payload["parameters"],
        schema=payload["schema"],
        item_id=row["item_id"],
        repeat=row["repeat"],
    )


def for_items(items: pl.DataFrame, model: Model, identity: Mapping[str, str], repeats: int) -> pl.DataFrame:
    """Return the requests that put each item to a model `repeats` times."""
    system = (Message("system", model.system),) if model.system else ()
    return REQUESTS.frame(
        request(model, identity, (*system, Message("user", prompt)), item_id=item_id, repeat=repeat)
        for item_id, prompt in items.select("item_id", "prompt").iter_rows()
        for repeat in range(repeats)
    )
