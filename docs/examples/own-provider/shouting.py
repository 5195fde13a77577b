"""A provider of one's own: whatever can answer a call. This one needs no network."""

from pydantic import Field

import basic_control as bc
from basic_control.data.options import Frozen
from basic_control.data.records import Reply


class Options(Frozen):
    """Keys of an entry in `models` that only this provider has."""

    stutter: int = Field(1, ge=1, description="how often it says each answer")


class ShoutingClient:
    """A client; one that cannot answer raises `basic_control.tasks.models.protocol.CallError` with its kind."""

    def __init__(self, model):
        self.model = model

    async def identity(self):
        """Return all that could change its answers: remembered replies are told apart by it."""
        return {"provider": "shouting", "model": self.model.name, "stutter": str(self.model.options["stutter"])}

    async def ask(self, call):
        word = call.messages[-1].content.rpartition(": ")[2].upper()
        return Reply(" ".join([word] * self.model.options["stutter"]), finish_reason="stop")

    async def close(self):
        """Let go of connections; there are none."""


@bc.provider(options=Options)
def shouting(model):
    """Return the client of an entry of the configuration; a function of `prompt` would return the reply itself."""
    return ShoutingClient(model)
