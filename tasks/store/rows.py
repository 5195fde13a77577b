"""A remembered reply as a row of the cache's table, proved by its checksum."""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from data.draw import canonical
from data.records import Reply
from tasks.store.databases import Row


@dataclass(frozen=True, slots=True)
class Remembered:
    """A reply as the cache keeps it: with the latency in seconds of the call that brought it."""

    request_id: str
    reply: Reply
    latency_s: float
    model: str = ""


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call that ended without a reply: the kind of its error (`tasks.models.protocol`), and what was said."""

    request_id: str
    kind: str
    message: str


def failure_row(failure: FailedCall, run: str, way: str) -> Row:
    """Return a failure as a row of the cache's table of them."""
    return (failure.request_id, run, way, failure.kind, _storable(failure.message), time.time())


def row_of(entry: Remembered) -> Row:
    """Return an entry as a row of `COLUMNS`."""
    reply = entry.reply
    extra = _storable(canonical(reply.extra)) if reply.extra else None
    content = (
        _storable(reply.text),
        _storable(reply.reasoning),
        reply.finish_reason,
        reply.tokens_in,
        reply.tokens_out,
        float(entry.latency_s),
    )
    checksum = _checksum(entry.request_id, content, extra)
    return (entry.request_id, *content, entry.model, time.time(), checksum, extra)


def entry_of(row: Row) -> Remembered | None:
    """Return a row of `COLUMNS` as an entry, or None where its content does not match its checksum."""
    request_id, text, reasoning, finish_reason, tokens_in, tokens_out, latency_s, model, _, checksum, extra = row
    content = (text, reasoning, finish_reason, tokens_in, tokens_out, latency_s)
    try:
        if _checksum(request_id, content, extra) != checksum:
            return None
    except (TypeError, ValueError):
        # A damaged page may give bytes where text was.
        return None
    beside = json.loads(extra) if extra else {}
    reply = Reply(text, reasoning, finish_reason, tokens_in, tokens_out, beside)
    return Remembered(request_id, reply, latency_s, model)


def _storable(text: str) -> str:
    """Return text that every database and UTF-8 can hold: no NUL, no lone surrogate."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _checksum(request_id: str, content: Sequence[Any], extra: str | None) -> str:
    """Return the checksum of a row; one without an extra has that of earlier versions."""
    whole = (request_id, *content) if extra is None else (request_id, *content, extra)
    return hashlib.sha256(canonical(whole).encode()).hexdigest()[:16]
