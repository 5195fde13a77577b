"""Downloads from the Hugging Face hub, or from one that speaks like it (HF_ENDPOINT)."""

import hashlib
import math
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx

from config.settings import Model
from data.errors import InputError
from tasks.models.errors import tls_error
from tasks.models.weights import check_digest, hub_parts, hub_path
from tasks.store.lock import FileLock

ENDPOINT = "https://huggingface.co"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_DIGITS = 18
_TIMEOUT = httpx.Timeout(60.0, connect=30.0)


def download(model: Model, stopped: threading.Event) -> Path:
    """Download a model's file unless it is there already, and check its SHA-256.

    What was downloaded before a break is kept and resumed. The digest is the configuration's `sha256`, else the
    one that the hub tells of a large file. A progress bar on stderr shows where it is.

    Raises:
        InputError: the hub cannot be reached, does not have the file or does not give it, the disk is full, or
            the digest is wrong.
    """
    path = hub_path(model)
    owner, repository, revision, file = hub_parts(model)
    endpoint = (os.environ.get("HF_ENDPOINT") or ENDPOINT).rstrip("/")
    url = f"{endpoint}/{owner}/{repository}/resolve/{revision}/{file}"
    token = os.environ.get("HF_TOKEN", "").strip()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # What was packed would be unpacked here, to any size.
        headers["Accept-Encoding"] = "identity"
        hooks = {"response": [_leave_unread]}
        opened = httpx.Client(follow_redirects=True, timeout=_TIMEOUT, headers=headers, event_hooks=hooks)
        with closing(FileLock(path)) as lock, lock.exclusive(math.inf), opened as client:
            if not path.exists():
                _fetch(client, url, path, model, stopped)
    except httpx.HTTPStatusError as error:
        raise InputError(f"model {model.name!r}: {url}: {_reason(error.response.status_code)}") from None
    except httpx.HTTPError as error:
        if failed := tls_error(error, endpoint):
            raise InputError(f"model {model.name!r}: {failed.message}") from None
        said = str(error) or type(error).__name__
        raise InputError(
            f"model {model.name!r}: {url} cannot be downloaded: {said}; run it again to resume, set HF_ENDPOINT "
            f"to a hub that can be reached, or put the file at {path}"
        ) from None
    except OSError as error:
        raise InputError(f"model {model.name!r}: {path} cannot be written: {error.strerror or error}") from None
    return path


def _fetch(client: httpx.Client, url: str, path: Path, model: Model, stopped: threading.Event) -> None:
    """Fetch into a `.part` file named by the content, so that a changed file is never resumed with the old one."""
    head = client.head(url)
    head.raise_for_status()
    told = [answer.headers for answer in (*head.history, head)]
    tag = next((h["x-linked-etag"] for h in told if "x-linked-etag" in h), head.headers.get("etag", ""))
    tag = tag.removeprefix("W/").strip('"')
    expected = model.sha256.lower() or (tag if _SHA256.fullmatch(tag) else "")
    linked = (h["x-linked-size"] for h in told if "x-linked-size" in h)
    said = next(linked, head.headers.get("content-length", ""))
    if not (said.isascii() and said.isdecimal()):
        raise InputError(f"model {model.name!r}: {url}: the hub does not say how large the file is")
    size = int(said[:_DIGITS])
    part = path.with_name(f"{path.name}.{hashlib.sha256(tag.encode()).hexdigest()[:16]}.part")
    done = part.stat().st_size if part.exists() else 0
    if size - done > (free := shutil.disk_usage(path.parent).free):
        raise InputError(
            f"model {model.name!r}: {url}: {size - done} bytes are to come, and {path.parent} has room for {free}"
        )
    if done < size:
        _append(client, url, part, size, stopped)
    try:
        digest = check_digest(model, part, expected)
    except InputError:
        part.unlink()
        raise
    part.replace(path)
    check_digest(model, path, digest)


def _append(client: httpx.Client, url: str, part: Path, size: int, stopped: threading.Event) -> None:
    """Append what is missing, and no more; a server that does not resume is taken from the start."""
    done = part.stat().st_size if part.exists() else 0
    with client.stream("GET", url, headers={"Range": f"bytes={done}-"} if done else {}) as answer:
        answer.raise_for_status()
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            raise httpx.DecodingError("it comes packed, though it was asked for as it is")
        resumed = answer.status_code == httpx.codes.PARTIAL_CONTENT
        done = done if resumed else 0
        with part.open("ab" if resumed else "wb") as file, _bar(part.name, size, done) as bar:
            for block in answer.iter_raw():
                if stopped.is_set():
                    raise httpx.ReadError("stopped")
                done += len(block)
                if done > size:
                    break
                file.write(block)
                bar(len(block))
    if done > size:
        part.unlink()
        raise httpx.ReadError(f"more than the {size} bytes came that the hub tells of")
    if done != size:
        raise httpx.ReadError(f"{done} of {size} bytes came")


def _leave_unread(response: httpx.Response) -> None:
    """Put nothing in the place of a redirect's or a refusal's body, which could be endless."""
    if not response.is_success:
        response.stream.close()  # pyrefly: ignore[missing-attribute] # a synchronous client's
        response.stream = httpx.ByteStream(b"")


def _reason(status: int) -> str:
    if status in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
        return (
            f"HTTP {status}: the hub does not give this file to everyone; accept its terms on the hub and set "
            "HF_TOKEN, or check its name"
        )
    if status == httpx.codes.NOT_FOUND:
        return "HTTP 404: the hub has no such file; check owner, repository, revision and file name"
    return f"HTTP {status}; try again later"


@contextmanager
def _bar(name: str, size: int, done: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on stderr, of bytes."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        task = progress.add_task(name.rsplit(".", 2)[0], total=size or None, completed=done)
        yield lambda n: progress.advance(task, n)
