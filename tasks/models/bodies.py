"""Limit the size of response bodies, whichever HTTP package reads them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from tasks.models.protocol import CallError
from tasks.web.bodies import ACCEPTED, TooLarge, Undecodable, read_body

__all__ = ["ACCEPTED", "MOST_OF_ERROR", "BoundedBody", "bound"]

MOST_OF_ERROR = 1_000_000
"""Decoded bytes read of an error or a redirect; a larger body is not read at all."""


FLOOR_BYTES, WINDOW_S = 1000, 30.0
"""A body that has begun must bring this many bytes in this many seconds, or end."""


async def floored(stream: AsyncIterator[bytes], where: str) -> AsyncIterator[bytes]:
    """Yield a body's chunks while they arrive fast enough: a slow drip could hold a call until its deadline.

    Until the first non-whitespace byte only the deadline counts: servers send whitespace to keep a connection alive
    while a model thinks.

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
    """A response body that is decoded here and abandoned if it is too large or too slow.

    A mixin for the stream class of the HTTP package. The packages' own decoders unpack whatever arrives at once,
    however large, and block the event loop meanwhile.
    """

    def __init__(self, stream: Any, encoding: str, most: int, where: str, *, refused: bool) -> None:
        self._stream = stream
        self._encoding = encoding
        self._most = min(most, MOST_OF_ERROR) if refused else most
        self._where = where
        self._refused = refused

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the decoded body in one piece; nothing if it is an error's body that cannot be read.

        Raises:
            CallError: it is too large, cannot be decoded, or arrives too slowly.
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
        """Release the connection."""
        await self._stream.aclose()


def bound(stream: Callable[..., Any], most: int, where: str) -> Callable[[Any], Awaitable[None]]:
    """Return a response hook that limits bodies to `most` decoded bytes; `stream`: the package's BoundedBody."""

    async def hold(response: Any) -> None:
        encoding = response.headers.pop("content-encoding", "")
        response.stream = stream(response.stream, encoding, most, where, refused=not response.is_success)

    return hold
