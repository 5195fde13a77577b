"""Decode bodies as they come in, and stop at a size."""

import zlib
from collections.abc import AsyncIterable

_WINDOWS = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}
ACCEPTED = "gzip, deflate"


class TooLarge(Exception):  # noqa: N818 - said of a body
    """A body that is larger than is read, as sent or as decoded; the message is an outcome."""


class Undecodable(Exception):  # noqa: N818 - said of a body
    """A body in an encoding that is not read; the message is one of `metrics.sources.OUTCOMES`."""


class Decoder:
    """Undo one content encoding, never holding more than the most bytes that are wanted."""

    def __init__(self, encoding: str, most: int) -> None:
        encoding = encoding.strip().lower()
        self._plain = encoding in {"", "identity"}
        if not self._plain and encoding not in _WINDOWS:
            raise Undecodable("an encoding that is not read")
        self._zip = None if self._plain else zlib.decompressobj(_WINDOWS[encoding])
        self._raw = encoding == "deflate"
        self._most = most
        self._got = 0
        self.body = bytearray()

    def feed(self, data: bytes) -> None:
        """Take what came.

        Raises:
            TooLarge: the body is larger than is read.
            Undecodable: it is not in the encoding that it says.
        """
        self._got += len(data)
        room = self._most - len(self.body)
        if self._got > self._most:
            raise TooLarge("larger than is read")
        piece = data if self._zip is None else self._inflate(data, room + 1)
        if len(piece) > room:
            raise TooLarge("larger than is read")
        self.body += piece

    def _inflate(self, data: bytes, room: int) -> bytes:
        assert self._zip is not None  # noqa: S101 - `feed` comes here for compressed bodies only
        if self._zip.eof:
            return b""
        try:
            return self._zip.decompress(data, room)
        except zlib.error as error:
            if not (self._raw and not self.body):
                raise Undecodable("broken reply") from error
        # Some servers send deflate without the zlib header that it should have.
        self._raw, self._zip = False, zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            return self._zip.decompress(data, room)
        except zlib.error as error:
            raise Undecodable("broken reply") from error

    @property
    def cut(self) -> bool:
        """Whether a compressed body ended before its end."""
        return self._zip is not None and not self._zip.eof


async def read_body(stream: AsyncIterable[bytes], encoding: str, most: int) -> bytes:
    """Read a body whole, decoded.

    Raises:
        TooLarge: it has more bytes than `most`, sent or decoded.
        Undecodable: its encoding is not read, or it is not in it.
    """
    decoder = Decoder(encoding, most)
    async for data in stream:
        decoder.feed(data)
    if decoder.cut:
        raise Undecodable("broken reply")
    return bytes(decoder.body)
