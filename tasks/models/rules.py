"""What identifies the built-in judge: its rules and the table of words that they read."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from basic_control.data.records import Call, Reply
from basic_control.metrics import overlap
from basic_control.tasks.models.protocol import CallError


def digest_rules() -> str:
    """Return the digest of what decides: the rules' source and their table."""
    source = Path(overlap.__file__)
    return hashlib.sha256(source.read_bytes() + source.with_suffix(".yaml").read_bytes()).hexdigest()


class RulesClient:
    """The client of the built-in judge, which is identified but never asked."""

    async def identity(self) -> Mapping[str, str]:
        """Return the digest of the rules' source and table."""
        return {"provider": "rules", "model": "rules", "digest": digest_rules()}

    async def ask(self, call: Call) -> Reply:
        """Refuse: only judged steps are decided, and without a call."""
        raise CallError("invalid", f"provider rules decides judged steps, and was asked item {call.item_id!r}")

    async def close(self) -> None:
        """Do nothing: nothing is open."""
