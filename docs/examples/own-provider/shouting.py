"""A provider of one's own: whatever can answer a call. This one needs no network."""

from pydantic import Field

from data.options import Frozen
from data.records import Provider, Reply


class Options(Frozen):
    """Keys of an entry in `models` that only this provider has."""

    stutter: int = Field(1, ge=1, description="how often it says each answer")


class ShoutingClient:
    """What asks; a client that cannot answer raises `tasks.models.protocol.CallError` with its kind."""

    def __init__(self, model):
        self.model = model

    async def identity(self):
        """Return all that could change its answers: remembered replies are told apart by it."""
        return {"provider": "shouting", "model": self.model.name, "stutter": str(self.model.options["stutter"])}

    async def ask(self, call):
        said = call.messages[-1].content.rpartition(": ")[2].upper()
        return Reply(" ".join([said] * self.model.options["stutter"]), finish_reason="stop")

    async def close(self):
        """Let go of connections; there are none."""


UNIT = Provider(name="shouting", version=1, open=ShoutingClient, options=Options)
