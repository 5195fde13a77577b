"""Repair: rebuild a damaged SQLite cache in a new file, or restore replies from the store's tables.

Two sources, in order: the rows before the first unreadable one (each verified by its checksum), and the responses
tables of the store. What is in neither will be asked again. The damaged file is kept beside the new one.
"""

import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any

import polars as pl
import sqlalchemy as sa

from data.commands import typed
from data.errors import InputError, plural
from data.records import Reply
from data.tables import RESPONSES
from tasks.store.databases import DamagedFile, file_of
from tasks.store.statements import COLUMNS, Remembered, ReplyDatabase, Row, entry_of, row_of
from tasks.store.tables import Damaged, Store, explain

TOGETHER = 1000
"""Rows written at once."""
COMPANIONS = ("", "-wal", "-shm")
"""Suffixes of the files of one SQLite database."""
MAGIC = b"SQLite format 3\0"


class InUse(Exception):  # noqa: N818 - said of a file
    """Another process uses the file, so it cannot be replaced now."""


class FileLock:
    """This process's shared lock on a file, held until `close`; replacing the file needs it `exclusive`.

    SQLite must not have a database file moved away while any connection to it is open: closing such a connection
    would delete the new file's log. So every user of the file holds a shared lock on `<file>.lock` for as long, and
    whoever replaces it needs an exclusive lock.
    """

    def __init__(self, path: Path) -> None:
        """Take a shared lock, waiting for a replacement in progress; without a lock if none can be created."""
        self._lock: IO[bytes] | None = None
        try:
            # A file object, so that a forgotten lock is released with it.
            self._lock = path.with_name(path.name + ".lock").open("ab")
            fcntl.flock(self._lock, fcntl.LOCK_SH)
        except OSError:
            # A read-only location, where nothing will be replaced either.
            self.close()

    @contextmanager
    def exclusive(self, patience_s: float) -> Iterator[None]:
        """Hold the exclusive lock, to replace the file; the caller has closed it.

        Raises:
            InUse: others still used it after `patience_s` seconds.
        """
        if self._lock is None:
            yield
            return
        until = time.monotonic() + patience_s
        try:
            # Release first: two that both want exclusive access would otherwise wait for each other's shared lock.
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            while not _alone(self._lock):
                if time.monotonic() >= until:
                    raise InUse
                time.sleep(0.05)
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_SH)

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _alone(lock: IO[bytes]) -> bool:
    """Try to take an exclusive lock; return whether it is held now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def rows_in(file: Path) -> Iterator[Row]:
    """Yield the intact rows of a reply cache in order, up to the first that SQLite cannot read."""
    url = f"{file.resolve().as_uri()}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(url, uri=True)) as opened:
        # A file of an earlier version lacks the last column.
        there = {column[1] for column in opened.execute("PRAGMA table_info(replies)")}
        names = ", ".join(name if name in there else "NULL" for name in COLUMNS)
        query = f"SELECT {names} FROM replies NOT INDEXED"  # noqa: S608 - our own words
        yield from filter(_sound, opened.execute(query))


def _sound(row: Row) -> bool:
    *_, model, answered_at, _, _ = row
    return isinstance(model, str) and isinstance(answered_at, float) and entry_of(row) is not None


def responses_in(store: Store, wanted: Collection[str] | None = None) -> Iterator[list[Remembered]]:
    """Yield the answered calls of every intact responses table of a store, the newest table first.

    `wanted` limits them to some request ids.
    """
    for entry in sorted(store.entries(), key=lambda one: -one.modified):
        with suppress(Damaged, pl.exceptions.PolarsError):
            frame = store.of_kind(entry.digest, RESPONSES)
            if frame is not None:
                asked = pl.lit(value=True) if wanted is None else pl.col("request_id").is_in(list(wanted))
                yield answered(frame.filter(asked))


def answered(frame: pl.DataFrame) -> list[Remembered]:
    """Return the answered calls of a responses table, without replies that came with a data set."""
    asked = frame.filter(
        pl.col("error").is_null() & pl.col("text").is_not_null() & pl.col("latency_s").is_not_null()
    )
    return [remembered(row) for row in asked.iter_rows(named=True)]


def remembered(row: Mapping[str, Any]) -> Remembered:
    """Return an answered row of a responses table as a cache entry."""
    reply = Reply(
        row["text"] + (row["stop_tokens"] or ""),
        row["reasoning"] or "",
        row["finish_reason"] or "",
        row["tokens_in"],
        row["tokens_out"],
        json.loads(row["extra"]) if row["extra"] else {},
    )
    return Remembered(row["request_id"], reply, row["latency_s"])


def recall(store: Store, wanted: Collection[str]) -> dict[str, Remembered]:
    """Return the replies to these requests found in the store's responses tables."""
    found: dict[str, Remembered] = {}
    for entries in responses_in(store, wanted):
        for entry in entries:
            found.setdefault(entry.request_id, entry)
    return found


def _mended(file: Path) -> Path:
    return file.with_name(file.name + ".mended")


def pending(file: Path) -> bool:
    """Return whether a repair was interrupted after its new file was complete."""
    return _mended(file).exists()


def replace_damaged(file: Path) -> Path:
    """Replace a damaged file with the repaired one; return where the damaged one is kept.

    The caller holds the exclusive lock. If interrupted anywhere, the next call completes it.
    """
    stamp = datetime.now(UTC).astimezone().strftime("%Y%m%d_%H%M%S")
    aside = next(
        name
        for n in range(1, 1000)
        if not (name := file.with_name(f"{file.name}.damaged-{stamp}{f'_{n}' if n > 1 else ''}")).exists()
    )
    try:
        for companion in COMPANIONS[1:]:
            # Before the file itself: a log must never be beside a file that it does not belong to.
            with suppress(FileNotFoundError):
                file.with_name(file.name + companion).rename(f"{aside}{companion}")
        with suppress(FileNotFoundError):
            file.rename(aside)
        with suppress(FileNotFoundError):
            _mended(file).replace(file)
    except OSError as error:
        raise explain(error, f"cannot replace {file} with the repaired reply cache") from error
    return aside


def mend(file: Path, tables: Store | None) -> str:
    """Replace a damaged reply cache with a new one with every reply that can be saved; return in words what it has.

    The caller holds the exclusive lock.

    Raises:
        InputError: the new file cannot be written.
    """
    scratch = file.with_name(file.name + ".mending")
    _clear(scratch)
    try:
        from_file, from_tables = _fill(scratch, file, tables)
        _refuse_foreign(file, from_file)
        with scratch.open("rb+") as written:
            os.fsync(written.fileno())
        scratch.replace(_mended(file))
    except OSError as error:
        raise explain(error, f"cannot repair the reply cache {file}") from error
    finally:
        _clear(scratch)
    aside = replace_damaged(file)
    return (
        f"{from_file} replies were saved from the file and {from_tables} more from the store's tables; the damaged "
        f"file is kept as {aside}. What is missing will be asked again."
    )


def is_sqlite(file: Path) -> bool:
    """Return whether a file begins as an SQLite file does."""
    with file.open("rb") as opened:
        return opened.read(len(MAGIC)) == MAGIC


def _refuse_foreign(file: Path, found: int) -> None:
    """Reject a file that seems never to have been a reply cache, by its name, first bytes and rows."""
    if not found and file.name != "replies.sqlite" and file.exists() and not is_sqlite(file):
        raise InputError(
            f"store.cache: {file} is not an SQLite file. It was left unchanged; choose another file for the cache."
        )


def _clear(scratch: Path) -> None:
    for companion in COMPANIONS:
        with suppress(OSError):
            scratch.with_name(scratch.name + companion).unlink()


def _fill(scratch: Path, file: Path, tables: Store | None) -> tuple[int, int]:
    """Write a new cache; return how many replies came from the file, and how many more from tables."""
    database = ReplyDatabase(sa.URL.create("sqlite", database=str(scratch)).render_as_string(hide_password=False))
    try:
        rows = rows_in(file)
        while together := list(islice(rows, TOGETHER)):
            database.insert(together)
        from_file = database.count()
        for entries in responses_in(tables) if tables else ():
            database.insert([row_of(entry) for entry in entries])
        return from_file, database.count() - from_file
    finally:
        # Closing the last connection merges the log into the file.
        database.close()


MEND = f"`{typed('store repair')}` saves what can be read; the next run does so automatically"


def faults_of_replies(url: str) -> tuple[int, list[str]]:
    """Return the number of replies in a cache and its faults, changing nothing; no file is an empty cache.

    Raises:
        InputError: the database cannot be reached.
    """
    file = file_of(url)
    if file is not None and pending(file):
        return 0, [f"a repair was interrupted; {MEND}"]
    if file is not None and not file.exists():
        return 0, []
    with closing(FileLock(file)) if file else nullcontext():
        if file and not is_sqlite(file):
            return 0, [f"the file is not an SQLite database; {MEND}"]
        number, wrong = 0, 0
        try:
            with closing(ReplyDatabase(url)) as database:
                if found := database.faults():
                    return 0, [f"{fault}; {MEND}" for fault in found]
                for rows in database.walk():
                    number += len(rows)
                    wrong += sum(entry_of(row) is None for row in rows)
        except DamagedFile as error:
            return number, [f"{error.found}; {MEND}"]
    return number, [f"{plural(wrong, 'reply')} with a wrong checksum; {MEND}"] if wrong else []
