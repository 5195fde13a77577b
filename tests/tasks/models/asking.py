"""How the tests ask: one call in an event loop of its own, with the client closed after it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from basic_control.config.settings import Model
from basic_control.data.records import Call, Message, Reply
from basic_control.tasks.models import open_client
from basic_control.tasks.models.protocol import CallError, Client

T = TypeVar("T")


def call(prompt: str = "Say it.", **fields: Any) -> Call:
    """Return a call with one user message."""
    return Call(messages=(Message("user", prompt),), **fields)


def using(model: Model, act: Callable[[Client], Awaitable[T]]) -> T:
    """Open the model's client, act, and close it, in one event loop."""

    async def run() -> T:
        client = open_client(model)
        try:
            return await act(client)
        finally:
            await client.close()

    return asyncio.run(run())


def ask(model: Model, *calls: Call) -> list[Reply | CallError]:
    """Ask one after another; an error stands in its reply's place."""

    async def act(client: Client) -> list[Reply | CallError]:
        heard: list[Reply | CallError] = []
        for one in calls or (call(),):
            try:
                heard.append(await client.ask(one))
            except CallError as error:
                heard.append(error)
        return heard

    return using(model, act)


def reply_of(model: Model, one: Call | None = None) -> Reply:
    """Ask once and expect a reply."""
    (heard,) = ask(model, one or call())
    assert isinstance(heard, Reply), heard
    return heard


def error_of(model: Model, one: Call | None = None) -> CallError:
    """Ask once and expect an error."""
    (heard,) = ask(model, one or call())
    assert isinstance(heard, CallError), heard
    return heard
