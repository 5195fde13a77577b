"""Hold what a model's server sends to a size, whichever HTTP package reads it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

from tasks.models.protocol import CallError
from tasks.web.bodies import ACCEPTED, TooLarge, Undecodable, read_body

__all__ = ["ACCEPTED", "MOST_OF_ERROR", "BoundedBody", "bound"]

MOST_OF_ERROR = 1_000_000
"""Decoded bytes: of a refusal or a redirect no more is read, and a larger one is not read at all."""


FLOOR_BYTES, WINDOW_S = 1000, 30.0
"""A body that has begun must bring so many bytes in so many seconds, or end."""


async def floored(stream: AsyncIterator[bytes], where: str) -> AsyncIterator[bytes]:
    """Yield a body's pieces as long as they come quickly enough: one that drips could hold a call to its deadline.

    Until the first byte that is no white space, which servers send to keep a connection alive while a model thinks,
    only the deadline counts.

    Raises:
        CallError: fewer than `FLOOR_BYTES` came in `WINDOW_S` seconds.
    """
    clock = asyncio.get_running_loop().time
    due: float | None = None
    got = 0
    while True:
        try:
            async with asyncio.timeout_at(due):
                piece = await anext(stream, None)
        except TimeoutError:
            if due is not None and clock() >= due:
                said = f"{where} sent less than {FLOOR_BYTES} bytes of its answer in {WINDOW_S:g} s"
                raise CallError("connection", said) from None
            raise
        if piece is None:
            return
        yield piece
        if due is None and not piece.strip():
            continue
        got += len(piece)
        if due is None or got >= FLOOR_BYTES:
            due, got = clock() + WINDOW_S, 0 if due is not None else got


class BoundedBody:
    """A response's body, decoded here and given up once it is larger than is read, or drips.

    To be mixed into the stream class of the package that reads it. The packages' own decoders unpack whatever
    comes at once, however large, and hold the event loop for as long.
    """

    def __init__(self, stream: Any, encoding: str, most: int, where: str, *, refused: bool) -> None:
        self._stream = stream
        self._encoding = encoding
        self._most = min(most, MOST_OF_ERROR) if refused else most
        self._where = where
        self._refused = refused

    @property
    def elapsed(self) -> timedelta | None:
        """What the package's own stream has measured."""
        return getattr(self._stream, "elapsed", None)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body, decoded, in one piece; nothing of a refusal's that cannot be read.

        Raises:
            CallError: it is larger than is read, cannot be decoded, or comes too slowly.
        """
        try:
            yield await read_body(floored(aiter(self._stream), self._where), self._encoding, self._most)
        except (TooLarge, Undecodable) as error:
            if self._refused:
                return
            if isinstance(error, TooLarge):
                said = f"{self._where} sent more than {self._most} bytes (max_response_bytes)"
                raise CallError("invalid", said) from None
            raise CallError("server", f"{self._where} sent a body that cannot be decoded: {error}") from None

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._stream.aclose()


def bound(stream: Callable[..., Any], most: int, where: str) -> Callable[[Any], Awaitable[None]]:
    """Return a response hook that holds bodies to `most` decoded bytes; `stream`: the package's kind of Bounded."""

    async def hold(response: Any) -> None:
        encoding = response.headers.pop("content-encoding", "")
        response.stream = stream(response.stream, encoding, most, where, refused=not response.is_success)

    return hold
