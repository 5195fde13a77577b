"""The pipe between the pool and a worker: frames of JSON, each after its length in four bytes."""

import json
import struct
from typing import Any

HEADER = struct.Struct(">I")

LARGEST = 8 << 20
"""Bytes in a frame: all replies to one program, escaped at worst. Nobody reads past it."""


def pack(content: Any) -> bytes:
    """Return a frame."""
    body = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()
    if len(body) > LARGEST:
        raise ValueError(f"a frame of {len(body)} bytes: at most {LARGEST} may be sent")
    return HEADER.pack(len(body)) + body


def unpack(body: bytes) -> Any:
    """Return a frame's content.

    Raises:
        ValueError: it is no JSON, or nested too deep to be read.
    """
    try:
        return json.loads(body)
    except RecursionError as error:
        raise ValueError("a frame that is nested too deep") from error


def size(header: bytes) -> int:
    """Return the length that a header announces.

    Raises:
        ValueError: it is longer than any frame may be.
    """
    (length,) = HEADER.unpack(header)
    if length > LARGEST:
        raise ValueError(f"a frame of {length} bytes announced: at most {LARGEST} may be sent")
    return int(length)
