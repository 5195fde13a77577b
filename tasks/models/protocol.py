"""The client protocol between `query` and a provider's package."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from basic_control.data.records import Call, Reply
from basic_control.tasks.runtime.secrets import hide

ErrorKind = Literal[
    "connection",      # no connection, or it broke; a cut body; retried
    "rate_limit",      # 429; retried, the concurrency is halved
    "server",  # 408, 409, 5xx, or a body that violates the protocol; retried
    "timeout",         # the call's total deadline passed
    "auth",            # 401, 403: wrong or missing key; fails at once
    "unknown_model",   # the server does not have the model; fails at once
    "quota",           # the account or a day's quota is exhausted; fails at once
    "parameter",       # the server refuses a parameter that the configuration sets; fails at once
    "invalid",         # the server refuses the request itself (400, context too long); fails at once
    "filtered",        # a content filter refused it; fails at once, and is no fault of the endpoint
    "empty",           # the server answered without an answer; tried again a few times
    "missing",         # a replay file does not hold the reply; fails at once
    "not asked",       # the model or its server was given up before the call's turn
    "stopped",         # the run was stopped before the call was answered
    "budget",          # the run's budget is spent
    "submitted",       # it waits in a batch at the server
    "expired",         # its batch's time passed before its turn
    "cancelled",       # its batch was cancelled
]  # fmt: skip

RETRIED: frozenset[ErrorKind] = frozenset({"connection", "rate_limit", "server"})
"""Kinds worth a retry within the call's deadline."""

TRIES: Mapping[ErrorKind, int] = {"empty": 3}
"""Tries in all of a call that fails in such a way: another may succeed, but often none does."""

UNASKED: frozenset[ErrorKind] = frozenset({"submitted", "budget"})
"""Kinds of requests that have not failed, but are still to be answered: by a batch, or by a run that goes on."""

FATAL: frozenset[ErrorKind] = frozenset({"auth", "unknown_model", "quota", "parameter"})
"""Kinds that every later call of the same model would fail with as well: a few in a row give it up."""

LOST: frozenset[ErrorKind] = frozenset({"connection", "rate_limit", "server", "timeout"})
"""Kinds that pass: many in a row, over minutes, give a model up."""

NOT_ASKED: ErrorKind = "not asked"


class CallError(Exception):
    """A call that was not answered.

    `message` says what happened and what to do, and contains no key; `retry_after_s` is the wait requested by the
    server, in seconds.
    """

    def __init__(self, kind: ErrorKind, message: str, retry_after_s: float | None = None) -> None:
        message, _ = hide(message)
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.message = message
        self.retry_after_s = retry_after_s


class BrokenResponse(CallError):  # noqa: N818 - said of a server
    """Something came from the address, but no whole HTTP response: it is not what the address should be."""


class Client(Protocol):
    """One endpoint and model. A client makes one attempt per `ask`: retries belong to `query`.

    One whose package is slow to import does that in a method `prepare()`, called before its first `ask`. One with a
    method `expect(calls)` is told what it will be asked; by `doubts(call, reply)` a kept reply is asked for again.
    One that can put several typed questions about one text in a request has a method `ask_together(calls)`, which
    returns a reply or a CallError for each.
    """

    async def identity(self) -> Mapping[str, str]:
        """Return what identifies the model beyond its name: provider, model, digest, server version.

        Part of every request's id, so that another model behind the same name is not taken for this one.

        Raises:
            CallError: the server cannot be reached, or does not have the model.
        """

    async def ask(self, call: Call) -> Reply:
        """Ask once.

        Raises:
            CallError: no usable reply came; its kind says whether another try makes sense.
        """

    async def close(self) -> None:
        """Close connections and processes."""


def find_server_digest(identity: Mapping[str, str]) -> str:
    """Return the model digest in a server's identity; '' if there is none."""
    return identity.get("digest", "") if "server" in identity else ""


@dataclass(frozen=True, slots=True)
class BatchState:
    """The state of a batch at a server: `over` when no more results come, `files` with the results.

    `seconds` from creation to end, `done` requests so far, `message` the server's error text, `faults` the raw
    errors.
    """

    status: str
    over: bool
    files: tuple[str, ...] = ()
    seconds: float = 0.0
    done: int = 0
    message: str = ""
    faults: tuple[Mapping[str, Any], ...] = ()
