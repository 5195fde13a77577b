"""Servers that speak as OpenAI's does."""

from typing import Any

from basic_control.data.decorators import provider
from basic_control.tasks.models.openai_forms import DECIDING, Options, find_misfit


def _decides(model: Any) -> bool:
    return model.options["api"] in DECIDING


def _batches(client: Any) -> Any:
    from basic_control.tasks.models.openai_batches import OpenAIBatches

    return OpenAIBatches(client)


@provider(options=Options, check=find_misfit, batches=_batches, decides=_decides)
def openai(model: Any) -> Any:
    """Return a client of the server; of its probabilities, for a judge that decides."""
    if _decides(model):
        from basic_control.tasks.models.openai_deciding import DecidingClient

        return DecidingClient(model)
    from basic_control.tasks.models.openai import OpenAIClient

    return OpenAIClient(model)
