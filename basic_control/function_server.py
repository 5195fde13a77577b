"""Serve functions of this process to a run: on loopback, with a token that is valid for this run only.

A call is a connection with one JSON line each way. Functions are called one after another in the thread that
started the run, as if it called them itself; up to `concurrency` at a time in threads beside it. Coroutines share a
loop of their own, the same one in all runs.
"""

import asyncio
import hmac
import inspect
import json
import os
import queue
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from typing import Any

_REQUEST_S = 60.0
"""How long a connection may take to send its line."""


@dataclass(frozen=True, slots=True)
class ServedFunction:
    """A user's function as a run calls it.

    `call` takes what is offered and returns the function's value, or a coroutine of it; `write` makes a message of
    that.
    """

    function: Callable[..., Any]
    call: Callable[[Mapping[str, Any]], Any]
    write: Callable[[Any], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call of a function with what is offered to it, and its answer to come."""

    function: ServedFunction
    offered: Mapping[str, Any]
    answer: Future[dict[str, Any]] = field(default_factory=Future)


class FunctionServer:
    """Serves functions by name until `close`; `serve` calls them."""

    def __init__(self, functions: Mapping[str, ServedFunction], concurrency: int = 1) -> None:
        """Listen, and begin the threads beside the caller's."""
        self._functions = functions
        self._concurrency = concurrency
        self._token = secrets.token_urlsafe(32)
        self._calls: queue.SimpleQueue[PendingCall | None] = queue.SimpleQueue()
        self._listener: socket.socket | None = None
        # Nobody listens where nothing is served.
        if functions:
            self._listener = socket.create_server(("127.0.0.1", 0))
            start_thread(self._accept, self._listener)
            # The caller's thread is one more: it calls `serve`.
            for _ in range(concurrency - 1):
                start_thread(self._answer_calls)

    @property
    def address(self) -> str:
        """Where the functions are served, as `tasks.models.functions.CALLER` holds it; '' if there are none."""
        if self._listener is None:
            return ""
        return f"{self._listener.getsockname()[1]}:{self._token}"

    def serve(self) -> None:
        """Call functions in this thread until `close`."""
        self._answer_calls()

    def _answer_calls(self) -> None:
        while call := self._calls.get():
            if call.answer.set_running_or_notify_cancel():
                call.answer.set_result(self._answer(call))

    def close(self) -> None:
        """End `serve`, in all threads, and refuse further calls."""
        if self._listener:
            self._listener.shutdown(socket.SHUT_RDWR)  # `close` alone would leave a thread in `accept`
            self._listener.close()
        while not self._calls.empty():
            call = self._calls.get()
            if call:
                call.answer.cancel()
        for _ in range(self._concurrency):
            self._calls.put(None)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # closed
                return
            start_thread(self._receive, connection)

    def _receive(self, connection: socket.socket) -> None:
        """Read a call from a connection, have it made, and send the answer."""
        with connection, connection.makefile("rb") as lines:
            connection.settimeout(_REQUEST_S)
            try:
                message = json.loads(lines.readline())
                is_known = hmac.compare_digest(str(message["token"]).encode(), self._token.encode())
                if not is_known:
                    return
                connection.settimeout(None)
                call = PendingCall(self._functions[message["function"]], message["offered"])
                self._calls.put(call)
                connection.sendall(json.dumps(call.answer.result()).encode() + b"\n")
            except (OSError, ValueError, KeyError, TypeError, CancelledError):
                return  # no caller of ours, or one that no longer waits

    def _answer(self, call: PendingCall) -> dict[str, Any]:
        """Return a function's answer, or what it raised; an interrupt ends its thread's serving."""
        from basic_control.tasks.models.python_child import describe_exception

        try:
            value = call.function.call(call.offered)
            if inspect.isawaitable(value):
                value = asyncio.run_coroutine_threadsafe(_await(value), _open_loop()).result()
        except KeyboardInterrupt as error:
            call.answer.set_result(describe_exception(error, ""))
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a user's function raises fails this call only
            code = getattr(inspect.unwrap(call.function.function), "__code__", None)
            return describe_exception(error, getattr(code, "co_filename", ""))
        return call.function.write(value)


_LOOPS: dict[int, asyncio.AbstractEventLoop] = {}
"""The loop of this process, by its id: a fork has none of its parent's threads."""
_OPENING_LOOP = threading.Lock()


def _open_loop() -> asyncio.AbstractEventLoop:
    """Return the loop in which coroutines of all evaluations run, which lasts as long as the process.

    It is ours, since the caller's may be the one that waits for us; and the same one each time, since a client that
    the caller made once keeps connections of the loop in which it was first used.
    """
    with _OPENING_LOOP:
        if os.getpid() not in _LOOPS:
            _LOOPS[os.getpid()] = asyncio.new_event_loop()
            start_thread(_LOOPS[os.getpid()].run_forever)
        return _LOOPS[os.getpid()]


async def _await(value: Any) -> Any:
    return await value


def start_thread(act: Callable[..., Any], *arguments: Any) -> threading.Thread:
    """Start a thread that ends with the process."""
    thread = threading.Thread(target=act, args=arguments, name="basic-control", daemon=True)
    thread.start()
    return thread
