"""Servers that speak as OpenAI's does."""

from typing import Any, Literal

from pydantic import Field

from data.options import Frozen
from data.records import Provider


class Options(Frozen):
    """How the server is asked."""

    api: Literal["chat", "responses"] = Field(
        "chat", description="chat completions, which all such servers support, or OpenAI's responses API"
    )


def check(model: Any) -> str:
    """Return which of an entry's parameters its form of the API does not have; empty if it has them all."""
    if model.options["api"] == "chat":
        return ""
    from tasks.models.openai_forms import Responses

    found = [name for name in model.extra if name in Responses.lacks]
    if not found:
        return ""
    return f"found `extra.{found[0]}`, which the responses API does not have; remove it, or set `api: chat`"


def _open(model: Any) -> Any:
    from tasks.models.listing import ListingClient

    return ListingClient(model)


def _batches(client: Any) -> Any:
    from tasks.models.openai_batches import OpenAIBatches

    return OpenAIBatches(client)


def unready(model: Any) -> str:
    """Return why a model cannot be called now."""
    from tasks.models.readiness import lacking

    return lacking(model, model.base_url)


UNIT = Provider(
    name="openai", version=1, open=_open, unready=unready, options=Options, check=check, batches=_batches
)
