"""Download a public data set to the data folder: `basic-control fetch gsm8k` (or mgsm, mgsm_en, nq …)."""

import hashlib
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from basic_control.data.errors import InputError
from basic_control.data.public_sets import GROUPS, SOURCES, PublicFile, local_path

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
    unknown = [name for name in names if name not in SOURCES]
    if unknown:
        raise InputError(f"unknown data set {unknown[0]!r}; expected one of {', '.join((*SOURCES, *GROUPS))}.")
    if progress is None:
        progress = _ignore_progress
    return [_fetch_file(name, SOURCES[name], base, progress) for name in names]


def _ignore_progress(_name: str, _done: int, _size: int) -> None:
    """Report nothing."""


def _fetch_file(name: str, source: PublicFile, base: str, progress: Progress) -> Path:
    path = local_path(name)
    if path.is_file() and not _find_fault(path, source):
        progress(name, source.size, source.size)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    # A part that is as long as the file and was not renamed is not the file.
    if part.is_file() and part.stat().st_size >= source.size:
        part.unlink()
    url = source.url
    if base:
        url = _build_mirror_url(url, base)
    _download(url, part, source.size, lambda done: progress(name, done, source.size))
    fault = _find_fault(part, source)
    if fault:
        part.unlink()
        raise InputError(
            f"{url}: {fault} ({source.size} bytes). It was deleted. Try again; if the error persists, "
            "the server has another file."
        )
    part.replace(path)
    return path


def _build_mirror_url(url: str, base: str) -> str:
    """Return the address of a mirror: https, or http on the loopback only."""
    from urllib.parse import urlsplit

    parts = urlsplit(base)
    is_loopback = parts.scheme == "http" and parts.hostname in {"127.0.0.1", "::1", "localhost"}
    if parts.scheme != "https" and not is_loopback:
        raise InputError(f"base {base!r}: expected an https address (http on the loopback only).")
    return base.rstrip("/") + urlsplit(url).path


def _download(url: str, part: Path, size: int, progress: Callable[[int], None]) -> None:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    size_before = _measure_size(part)
    request = Request(url, headers={"User-Agent": "basic-control", "Accept-Encoding": "identity"})  # noqa: S310 - https, or http on the loopback: see _build_mirror_url
    if size_before:
        request.add_header("Range", f"bytes={size_before}-")
    try:
        with urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310 - as above
            content_range = response.headers.get("Content-Range") or ""
            is_partial = response.status == HTTPStatus.PARTIAL_CONTENT
            # A server that resumes nothing sends the whole file, which then replaces the part.
            if not (is_partial and content_range.startswith(f"bytes {size_before}-")):
                size_before = 0
            _write_blocks(response, part, size_before, size, progress)
    except HTTPError as error:
        if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and size_before:
            part.unlink()
            _download(url, part, size, progress)
            return
        raise InputError(f"{url}: the server returned {error.code} {error.reason} instead of the file.") from error
    except (URLError, OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        size_after = _measure_size(part)
        raise InputError(
            f"{url}: download failed ({reason}) after {size_after} of {size} bytes. Check the network or the proxy "
            f"(HTTPS_PROXY) and run the command again to resume, or save the file as {part.with_suffix('')}."
        ) from error


def _measure_size(path: Path) -> int:
    """Return a file's size in bytes; 0 if there is none."""
    return path.stat().st_size if path.is_file() else 0


def _write_blocks(
    response: "HTTPResponse", part: Path, written: int, size: int, progress: Callable[[int], None]
) -> None:
    with part.open("r+b" if written else "wb") as file:
        file.seek(written)
        while block := response.read(BLOCK):
            file.write(block)
            written += len(block)
            progress(written)
            if written > size + MARGIN:
                break
        file.truncate()
    if written < size:
        raise ConnectionError(f"connection lost after {written} of {size} bytes")


def _find_fault(path: Path, source: PublicFile) -> str:
    """Return a file's actual hash if it is wrong; '' if it is right."""
    for name, expected, begin in (
        ("sha256", source.sha256, hashlib.sha256),
        ("git blob id", source.blob, lambda: hashlib.sha1(b"blob %d\0" % path.stat().st_size)),  # noqa: S324 - git's own
    ):
        if expected:
            with path.open("rb") as file:
                actual = hashlib.file_digest(file, begin).hexdigest()
            if actual != expected:
                return f"found a file with {name} {actual}, expected {expected}"
    return ""
