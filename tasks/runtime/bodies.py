"""Decode response bodies incrementally, with a size limit."""

import zlib
from collections.abc import AsyncIterable

ACCEPTED = "gzip"
_PACKED = {"gzip", "x-gzip", "deflate"}


class TooLarge(Exception):  # noqa: N818 - said of a body
    """A body that exceeds the limit, as sent or as decoded; the message is an outcome."""


class Undecodable(Exception):  # noqa: N818 - said of a body
    """A body in an unsupported encoding; the message is a reason for `judge_outcome`."""


async def read_body(stream: AsyncIterable[bytes], encoding: str, limit: int) -> bytes:
    """Read a whole body, decoded incrementally, never holding more than `limit` bytes.

    Raises:
        TooLarge: it has more bytes than `limit`, sent or decoded.
        Undecodable: its encoding is unsupported, or its data is invalid.
    """
    encoding = encoding.strip().lower()
    if encoding not in {"", "identity", *_PACKED}:
        raise Undecodable("an encoding that is not read")
    packed = None
    if encoding in _PACKED:
        # Of either header: some servers send deflate, which is zlib's form, unasked.
        packed = zlib.decompressobj(zlib.MAX_WBITS | 32)
    body, count = bytearray(), 0
    async for data in stream:
        count += len(data)
        piece, room = data, limit - len(body)
        if packed and count <= limit:
            try:
                piece = b"" if packed.eof else packed.decompress(data, room + 1)
            except zlib.error as error:
                raise Undecodable("broken reply") from error
        if count > limit or len(piece) > room:
            raise TooLarge("larger than is read")
        body += piece
    if packed and not packed.eof:
        raise Undecodable("broken reply")
    return bytes(body)
