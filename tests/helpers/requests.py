"""Requests to a model at a server, and what the server saw of them."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from basic_control.config.settings import Model
from basic_control.tasks.models.requests import build_requests
from tests.servers.running import Server

NUMBERS = [str(n) for n in range(40)]


def model_at(server: Server, **changes: Any) -> Model:
    return Model.model_validate({"name": "m", "provider": "openai", "base_url": server.base_url, **changes})


def requests_of(model: Model, prompts: Sequence[str], repeats: int = 1) -> pl.DataFrame:
    items = pl.DataFrame({"item_id": [f"i{n}" for n in range(len(prompts))], "prompt": prompts})
    items = items.with_columns(language=pl.lit("en"), facts=pl.lit("{}"), text_digest=pl.lit(""))
    return build_requests(items, model, {"provider": "openai"}, repeats)


def prompts_seen(server: Server) -> Counter[str]:
    return Counter(str(r.body["messages"][-1]["content"]) for r in server.requests)
