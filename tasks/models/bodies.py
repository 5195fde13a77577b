"""Limit the size of response bodies, whichever HTTP package reads them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from tasks.models.protocol import CallError
from tasks.web.bodies import ACCEPTED, TooLarge, Undecodable, read_body

__all__ = ["ACCEPTED", "MOST_OF_ERROR", "BoundedBody", "bound"]

MOST_OF_ERROR = 1_000_000
"""Decoded bytes read of an error or a redirect; a larger body is not read at all."""


class BoundedBody:
    """A response body that is decoded here and abandoned if it is too large.

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
            CallError: it is too large, or cannot be decoded.
        """
        try:
            yield await read_body(self._stream, self._encoding, self._most)
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
