"""What a scripted server answers: texts, and faults."""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Answer:
    """A good reply; `message` adds fields to the message itself, `body` to the whole body.

    `thinking` of `tokens_out`, and `cached` of `tokens_in`, are told apart where the protocol does.
    """

    text: str | None
    reasoning: str = ""
    finish_reason: str = "stop"
    tokens_in: int = 11
    tokens_out: int = 7
    thinking: int = 0
    cached: int = 0
    latency_s: float | None = None
    message: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fault:
    """A bad reply.

    `status`: that HTTP status with an error body in the server's own form (`message`, `code`, `param`), or
    `raw` as it is. `hang`: never answers. `slow`: answers well, in `pieces` with `pause_s` between them. `cut`:
    half of a good body, then the connection is closed. `reset`: the connection is closed without a byte.
    `broken_json`: half of a good body, with the length of that half. `empty`: no choices, no message.
    `echo`: the error's message repeats the request's Authorization and api-key headers.
    """

    kind: Literal["status", "hang", "slow", "cut", "reset", "broken_json", "empty"]
    status: int = 500
    message: str = "the server has a problem"
    code: str = ""
    param: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: str | None = None
    echo: bool = False
    pieces: int = 5
    pause_s: float = 0.02


@dataclass(frozen=True, slots=True)
class Seen:
    """A request that came in."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    query: str = ""


Spoken = str | Answer | Fault
Reply = Spoken | Sequence[Spoken] | Mapping[str, Spoken] | Callable[[dict[str, Any]], Spoken | Awaitable[Spoken]]
"""One text for all; a sequence used in order, the last one for ever; texts by the last user message; a function
of the request's body."""

Faults = Sequence[Fault | None] | Callable[[int, dict[str, Any]], Fault | None]
"""What goes wrong instead, by the request's number from 0 (None, or past the end: nothing)."""


@dataclass(slots=True)
class Script:
    """All that a server is told, and all that it has seen."""

    reply: Reply
    latency_s: float = 0.0
    faults: Faults = ()
    models: Mapping[str, str] = field(default_factory=dict)
    key: str = ""
    refuse: Mapping[str, str] = field(default_factory=dict)
    version: str = "0.12.6"
    details: dict[str, Any] = field(default_factory=dict)
    requests: list[Seen] = field(default_factory=list)
    lookups: list[Seen] = field(default_factory=list)
    in_flight: int = 0
    peak: int = 0

    async def speak(self, number: int, body: dict[str, Any]) -> Answer | Fault:
        """Say what request `number` gets, after the latency."""
        fault = self.faults(number, body) if callable(self.faults) else dict(enumerate(self.faults)).get(number)
        if fault is not None:
            return fault
        loop = asyncio.get_running_loop()
        due = loop.time() + self.latency_s
        spoken = await self._reply(number, body)
        if isinstance(spoken, str):
            spoken = Answer(spoken)
        if isinstance(spoken, Answer) and spoken.latency_s is not None:
            due += spoken.latency_s - self.latency_s
        if (rest := due - loop.time()) > 0:
            await asyncio.sleep(rest)
        return spoken

    async def _reply(self, number: int, body: dict[str, Any]) -> Spoken:
        reply = self.reply
        if isinstance(reply, (str, Answer, Fault)):
            return reply
        if isinstance(reply, Mapping):
            return reply.get(last_user(body), Fault("status", 500, "the script has no reply to this prompt"))
        if isinstance(reply, Sequence):
            return reply[min(number, len(reply) - 1)]
        spoken = reply(body)
        return await spoken if inspect.isawaitable(spoken) else spoken


def last_user(body: Mapping[str, Any]) -> str:
    """Return the last user message of a chat request."""
    users = [m["content"] for m in body.get("messages") or body.get("input") or () if m.get("role") == "user"]
    return str(users[-1]) if users else ""


def echoed(fault: Fault, headers: Mapping[str, str]) -> str:
    """Return the fault's message, with the request's secrets in it where the fault says so."""
    if not fault.echo:
        return fault.message
    secrets = {k: v for k, v in headers.items() if k.lower() in {"authorization", "api-key"}}
    return f"{fault.message} {json.dumps(secrets)}"
