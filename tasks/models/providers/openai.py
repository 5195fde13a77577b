"""Servers that speak as OpenAI's does."""

from typing import Any

from data.records import Provider


def _open(model: Any) -> Any:
    from tasks.models.openai import OpenAIClient

    return OpenAIClient(model)


def _batches(client: Any) -> Any:
    from tasks.models.openai_batches import OpenAIBatches

    return OpenAIBatches(client)


UNIT = Provider(name="openai", version=1, open=_open, batches=_batches)
