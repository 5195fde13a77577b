"""Download a public data set to the data folder: `basic-control fetch gsm8k` (or mgsm, mgsm_en, nq …)."""

import hashlib
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from basic_control.data.errors import InputError
from basic_control.data.sources import GROUPS, SOURCES, PublicFile, local_path

if TYPE_CHECKING:
    from http.client import HTTPResponse

TIMEOUT_S = 30.0
BLOCK = 1 << 16
"""Bytes read at a time."""
MARGIN = 1 << 20
"""Bytes accepted beyond the known size before the download is aborted."""
Progress = Callable[[str, int, int], None]
"""Progress callback: the data set's name, bytes downloaded, and total bytes."""


def fetch(name: str, *, base: str = "", progress: Progress | None = None) -> list[Path]:
    """Download the files of a data set and return their paths; files already there and intact are kept.

    An interrupted download is resumed. `base` replaces the server's address: another mirror of the same paths
    (https, or http on the loopback).

    Raises:
        InputError: no such data set, no network, an answer other than the file, or a file with a wrong hash (which
            is deleted).
    """
    names = GROUPS.get(name, (name,))
    if unknown := [one for one in names if one not in SOURCES]:
        raise InputError(f"unknown data set {unknown[0]!r}; expected one of {', '.join((*SOURCES, *GROUPS))}.")
    return [_fetch(one, SOURCES[one], base, progress or (lambda *_: None)) for one in names]


def _fetch(name: str, source: PublicFile, base: str, progress: Progress) -> Path:
    path = local_path(name)
    if path.is_file() and not _fault(path, source):
        progress(name, source.size, source.size)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    if part.is_file() and part.stat().st_size >= source.size:
        part.unlink()
    url = _mirrored(source.url, base) if base else source.url
    _download(url, part, source.size, lambda done: progress(name, done, source.size))
    if fault := _fault(part, source):
        part.unlink()
        raise InputError(
            f"{url}: {fault} ({source.size} bytes). It was deleted. Try again; if the error persists, "
            "the server has another file."
        )
    part.replace(path)
    return path


def _mirrored(url: str, base: str) -> str:
    """Return the address of a mirror: https, or http on the loopback only."""
    from urllib.parse import urlsplit

    parts = urlsplit(base)
    local = parts.scheme == "http" and parts.hostname in {"127.0.0.1", "::1", "localhost"}
    if parts.scheme != "https" and not local:
        raise InputError(f"base {base!r}: expected an https address (http on the loopback only).")
    return base.rstrip("/") + urlsplit(url).path


def _download(url: str, part: Path, size: int, told: Callable[[int], None]) -> None:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    there = part.stat().st_size if part.is_file() else 0
    request = Request(url, headers={"User-Agent": "basic-control", "Accept-Encoding": "identity"})  # noqa: S310 - https, or http on the loopback: see _mirrored
    if there:
        request.add_header("Range", f"bytes={there}-")
    try:
        with urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310 - as above
            begins = (response.headers.get("Content-Range") or "").startswith(f"bytes {there}-")
            resumed = response.status == HTTPStatus.PARTIAL_CONTENT and begins
            _write(response, part, there if resumed else 0, size, told)
    except HTTPError as error:
        if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and there:
            part.unlink()
            _download(url, part, size, told)
            return
        raise InputError(f"{url}: the server returned {error.code} {error.reason} instead of the file.") from error
    except (URLError, OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        got = part.stat().st_size if part.is_file() else 0
        raise InputError(
            f"{url}: download failed ({reason}) after {got} of {size} bytes. Check the network or the proxy "
            f"(HTTPS_PROXY) and run the command again to resume, or save the file as {part.with_suffix('')}."
        ) from error


def _write(response: "HTTPResponse", part: Path, there: int, size: int, told: Callable[[int], None]) -> None:
    with part.open("r+b" if there else "wb") as file:
        file.seek(there)
        while block := response.read(BLOCK):
            file.write(block)
            there += len(block)
            told(there)
            if there > size + MARGIN:
                break
        file.truncate()
    if there < size:
        raise ConnectionError(f"connection lost after {there} of {size} bytes")


def _fault(path: Path, source: PublicFile) -> str:
    """Return a file's actual hash if it is wrong; '' if it is right."""
    for name, expected, begin in (
        ("sha256", source.sha256, hashlib.sha256),
        ("git blob id", source.blob, lambda: hashlib.sha1(b"blob %d\0" % path.stat().st_size)),  # noqa: S324 - git's own
    ):
        if expected:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, begin).hexdigest()
            if found != expected:
                return f"found a file with {name} {found}, expected {expected}"
    return ""
