"""Functions that answer: of a plug-in's provider, in this process; of the Python process that started the run."""

import hashlib
import inspect
import json
import os
import socket
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from basic_control.config.settings import Model
from basic_control.data.characters import make_visible
from basic_control.data.errors import InputError
from basic_control.data.records import Call, Reply
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.models.python_child import describe_exception, write_answer
from basic_control.tasks.models.replies import FIELDS, build_offer, read_answer
from basic_control.tasks.models.server_errors import clean_error
from basic_control.tasks.models.threads import run_in_thread

CALLER = "BASIC_CONTROL_CALLER"
"""The variable that says where the functions of the process that started a run are served: PORT:TOKEN."""
HOST = "127.0.0.1"


def read_message(message: Mapping[str, Any], name: str) -> Reply:
    """Return the reply in the message of the function `name`, as `write_answer` or `describe_exception` makes it.

    Raises:
        CallError: it raised, or returned neither a text nor a mapping of the known fields.
    """
    if "raised" in message:
        raise CallError("invalid", f"{name} raised {clean_error(message['raised'])}{make_visible(message['at'])}")
    try:
        answer = json.loads(message.get("answer", ""))
    except (ValueError, RecursionError) as error:
        value = message.get("returned", f"a mapping that is no JSON ({error})")
        text = f"{name} returned {clean_error(value)}, expected a string or a mapping with `text`"
        raise CallError("invalid", text) from None
    unknown = [key[:40] for key in answer if key not in FIELDS]
    if unknown:
        text = f"{name} returned the unknown key {unknown[0]!r}; expected only {', '.join(FIELDS)}"
        raise CallError("invalid", text)
    return read_answer(answer, {field: f"{name} returned {field}" for field in FIELDS})


def call_caller(function: str, offered: Mapping[str, Any]) -> Any:
    """Return the message of a function of the process that started the run, called with what is offered to it.

    Raises:
        OSError, ValueError: that process does not answer.
    """
    port, _, token = os.environ[CALLER].partition(":")
    line = json.dumps({"token": token, "function": function, "offered": offered}, default=str).encode() + b"\n"
    with socket.create_connection((HOST, int(port))) as connection, connection.makefile("rb") as lines:
        connection.sendall(line)
        return json.loads(lines.readline())


class FunctionClient:
    """Calls a function of a plug-in with the prompt, in a thread, or on the loop if it is a coroutine."""

    def __init__(self, model: Model, function: Callable[..., Any], identity: Mapping[str, str]) -> None:
        self._model = model
        self._function = function
        self._identity = {**identity, "model": model.server_name}
        self._takes = inspect.signature(function).parameters

    async def identity(self) -> Mapping[str, str]:
        """Return the provider's name and version, the model, and its options."""
        return {**self._identity, "options": json.dumps(self._model.options, sort_keys=True, default=str)}

    async def ask(self, call: Call) -> Reply:
        """Call the function once.

        Raises:
            CallError: it raised, or returned neither a text nor a mapping.
        """
        offers = {**build_offer(call), "model": self._model.server_name, **self._model.options}
        values = {name: offers[name] for name in self._takes if name in offers}
        try:
            value = await self._call(values)
        except Exception as error:  # noqa: BLE001 - a user's own function may raise anything
            source = getattr(getattr(self._function, "__code__", None), "co_filename", "")
            return read_message(describe_exception(error, source), self._function.__name__)
        if isinstance(value, Reply):
            return value
        return read_message(write_answer(value), self._function.__name__)

    async def close(self) -> None:
        """Close nothing."""

    async def _call(self, values: Mapping[str, Any]) -> Any:
        if inspect.iscoroutinefunction(self._function):
            return await self._function(**values)
        value = await run_in_thread(partial(self._function, **values), "provider")
        return await value if inspect.isawaitable(value) else value


class CallerClient:
    """Calls a function of the Python process that started the run, over loopback."""

    def __init__(self, model: Model) -> None:
        self._model = model
        if not os.environ.get(CALLER):
            raise InputError(
                f"model {model.name!r}: it is a function of the Python process that started its run; call "
                "bc.evaluate or bc.run again."
            )

    async def identity(self) -> Mapping[str, str]:
        """Return the function's name and version; without a version it is new in each run."""
        identity = {"provider": "callable", "model": self._model.server_name}
        version = str(self._model.options["version"])
        if version:
            return {**identity, "version": version}
        # A mark as of --fresh: requests differ from all cached ones, and the model is the same one.
        return {**identity, "fresh": hashlib.sha256(os.environ[CALLER].partition(":")[2].encode()).hexdigest()[:16]}

    async def ask(self, call: Call) -> Reply:
        """Call the function once.

        Raises:
            CallError: it raised, returned neither a text nor a mapping, or its process has ended.
        """
        name = self._model.name
        try:
            message = await run_in_thread(partial(call_caller, name, build_offer(call)), "caller")
        except (OSError, ValueError) as error:
            raise CallError("connection", f"{name}: its process does not answer ({error})") from None
        return read_message(message, name)

    async def close(self) -> None:
        """Close nothing."""
