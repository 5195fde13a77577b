"""Servers that speak as OpenAI's does."""

from typing import Any

from basic_control.data.records import Provider
from basic_control.tasks.models.openai_forms import DECIDING, Options, find_misfit


def _open(model: Any) -> Any:
    if _decides(model):
        from basic_control.tasks.models.openai_deciding import DecidingClient

        return DecidingClient(model)
    from basic_control.tasks.models.openai import OpenAIClient

    return OpenAIClient(model)


def _decides(model: Any) -> bool:
    return model.options["api"] in DECIDING


def _batches(client: Any) -> Any:
    from basic_control.tasks.models.openai_batches import OpenAIBatches

    return OpenAIBatches(client)


UNIT = Provider(
    name="openai",
    version=1,
    open=_open,
    options=Options,
    check=find_misfit,
    batches=_batches,
    decides=_decides,
)
