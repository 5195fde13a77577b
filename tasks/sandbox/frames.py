"""The pipe between the pool and a worker: frames of JSON, each a line."""

import json
from typing import Any

LARGEST = 8 << 20
"""Bytes in a frame: all replies to one program, escaped at worst. Nobody reads past it."""


def pack(content: Any) -> bytes:
    """Return a frame."""
    line = json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    if len(line) > LARGEST:
        raise ValueError(f"a frame of {len(line)} bytes: at most {LARGEST} may be sent")
    return line


def unpack(line: bytes | bytearray) -> Any:
    """Return a frame's content.

    Raises:
        ValueError: it is no JSON, or nested too deep to be read.
    """
    try:
        return json.loads(line)
    except RecursionError as error:
        raise ValueError("a frame that is nested too deep") from error
