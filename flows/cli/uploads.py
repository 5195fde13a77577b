"""Files that a browser sends to `view`: written into a folder of ours, by names of ours."""

import mmap
import re
from collections.abc import Iterator
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp
from typing import BinaryIO

from starlette.requests import Request

from data.errors import InputError
from tasks.exchange.source import FORMS, LARGEST

_STRANGE = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST = 80
_CHUNK = 1 << 20


async def receive(request: Request, folder: Path) -> list[Path]:
    """Write a form's files, each into a folder of its own in `folder`; of their names letters and digits stay.

    Raises:
        InputError: the form is too large, or holds no file of a known ending.
    """
    told = EmailMessage()
    told["content-type"] = request.headers.get("content-type", "")
    boundary = told.get_boundary() or ""
    with TemporaryFile() as body:
        async for part in request.stream():
            body.write(part)
            if body.tell() > LARGEST:
                raise InputError(f"the files are too large: expected at most {LARGEST >> 20} MB together.")
        found = [*_files(body, boundary.encode(), folder)] if boundary and body.tell() else []
    if not found:
        raise InputError(f"found no file, expected one or two of another tool's results ({', '.join(FORMS)}).")
    return found


def _files(body: BinaryIO, boundary: bytes, folder: Path) -> Iterator[Path]:
    body.flush()
    mark = b"--" + boundary
    with mmap.mmap(body.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        at = whole.find(mark)
        while at >= 0:
            start, end = whole.find(b"\r\n\r\n", at), whole.find(b"\r\n" + mark, at)
            if not at < start < end:
                return
            head = BytesParser().parsebytes(whole[at + len(mark) + 2 : start])
            if name := head.get_filename():
                path = Path(mkdtemp(dir=folder)) / _name(name)
                with path.open("wb") as out:
                    for first in range(start + 4, end, _CHUNK):
                        out.write(whole[first : min(first + _CHUNK, end)])
                yield path
            at = end + 2


def _name(given: str) -> str:
    """Return a file's name without what could mean anything but itself."""
    kept = _STRANGE.sub("_", given)[-_LONGEST:].lstrip(".")
    if not kept.lower().removesuffix(".gz").endswith(FORMS):
        raise InputError(f"{kept}: found another ending, expected one of {', '.join(FORMS)}.")
    return kept
