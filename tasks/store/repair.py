"""Repair: bring the replies of a damaged SQLite cache into a new file, and back from the store's tables.

Two sources, in this order: the rows before the first that SQLite cannot read (each proved by its checksum), and the
responses tables of the store. What is in neither will be asked again. The damaged file is kept beside the new one.
"""

import json
import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl
import sqlalchemy as sa

from data.errors import InputError
from data.records import Reply
from data.tables import RESPONSES
from tasks.store.databases import Database, Row
from tasks.store.rows import Remembered, entry_of, row_of
from tasks.store.statements import COLUMNS
from tasks.store.tables import Damaged, Store, explain

TOGETHER = 1000
"""Rows that are written at once."""
COMPANIONS = ("", "-wal", "-shm")
"""What SQLite calls the files of one database, after its name."""
MAGIC = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class RepairedReplies:
    """What a repair brought over: replies from the file itself, and more from the store's tables."""

    from_file: int
    from_tables: int
    aside: Path | None

    def in_words(self) -> str:
        """Return it in words."""
        kept = f"; the damaged file is kept as {self.aside}" if self.aside else ""
        return (
            f"{self.from_file} replies were saved from the file and {self.from_tables} more from the store's "
            f"tables{kept}. What is missing will be asked again."
        )


def rows_in(file: Path) -> Iterator[Row]:
    """Yield the sound rows of a reply cache in their order, up to the first that SQLite cannot read."""
    url = f"{file.resolve().as_uri()}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(url, uri=True)) as opened:
        # One that an earlier version made lacks the last column.
        there = {column[1] for column in opened.execute("PRAGMA table_info(replies)")}
        names = ", ".join(name if name in there else "NULL" for name in COLUMNS)
        query = f"SELECT {names} FROM replies NOT INDEXED"  # noqa: S608 - our own words
        yield from filter(_sound, opened.execute(query))


def _sound(row: Row) -> bool:
    *_, model, answered_at, _, _ = row
    return isinstance(model, str) and isinstance(answered_at, float) and entry_of(row) is not None


def responses_in(store: Store, wanted: Collection[str] | None = None) -> Iterator[list[Remembered]]:
    """Yield the answered calls of every sound responses table of a store, the newest table first.

    `wanted` limits them to some request ids.
    """
    for entry in sorted(store.entries(), key=lambda one: -one.modified):
        with suppress(Damaged, pl.exceptions.PolarsError):
            if not store.holds(entry.digest, RESPONSES):
                continue
            frame = RESPONSES.check(store.frame(entry.digest))
            if wanted is not None:
                frame = frame.filter(pl.col("request_id").is_in(list(wanted)))
            yield answered(frame)


def answered(frame: pl.DataFrame) -> list[Remembered]:
    """Return the answered calls of a responses table; what a data set held was never asked, and is left out."""
    asked = frame.filter(
        pl.col("error").is_null() & pl.col("text").is_not_null() & pl.col("latency_s").is_not_null()
    )
    return [remembered(row) for row in asked.iter_rows(named=True)]


def remembered(row: Mapping[str, Any]) -> Remembered:
    """Return an answered row of a responses table as the cache keeps it."""
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
    """Return the replies to these requests that the store's responses tables hold."""
    found: dict[str, Remembered] = {}
    for entries in responses_in(store, wanted):
        for entry in entries:
            found.setdefault(entry.request_id, entry)
    return found


def _mended(file: Path) -> Path:
    return file.with_name(file.name + ".mended")


def pending(file: Path) -> bool:
    """Say whether a repair was cut short after its new file was whole."""
    return _mended(file).exists()


def replace_damaged(file: Path) -> Path | None:
    """Put the mended file in place; return where the damaged one is kept now.

    Whoever calls holds the file's lock alone. Cut short anywhere, it is brought to its end by the next call.
    """
    stamp = datetime.now(UTC).astimezone().strftime("%Y%m%d_%H%M%S")
    aside = next(
        name
        for n in range(1, 1000)
        if not (name := file.with_name(f"{file.name}.damaged-{stamp}{f'_{n}' if n > 1 else ''}")).exists()
    )
    try:
        for companion in COMPANIONS[1:]:
            # Before the file itself: a log must never stand beside a file that it does not belong to.
            with suppress(FileNotFoundError):
                file.with_name(file.name + companion).rename(f"{aside}{companion}")
        with suppress(FileNotFoundError):
            file.rename(aside)
        with suppress(FileNotFoundError):
            _mended(file).replace(file)
    except OSError as error:
        raise explain(error, f"cannot replace {file} with the repaired reply cache") from error
    return aside if aside.exists() else None


def mend(file: Path, tables: Store | None) -> RepairedReplies:
    """Replace a damaged reply cache by a new one with every reply that can be saved.

    Whoever calls holds the file's lock alone.

    Raises:
        InputError: the new file cannot be written.
        SQLAlchemyError: as above, said by SQLite.
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
    return RepairedReplies(from_file, from_tables, replace_damaged(file))


def is_sqlite(file: Path) -> bool:
    """Say whether a file begins as an SQLite file does."""
    with file.open("rb") as opened:
        return opened.read(len(MAGIC)) == MAGIC


def _refuse_foreign(file: Path, found: int) -> None:
    """Leave a file alone that seems never to have been a reply cache.

    Raises:
        InputError: it does not, by its name, its first bytes or its rows.
    """
    if not found and file.name != "replies.sqlite" and file.exists() and not is_sqlite(file):
        raise InputError(
            f"store.cache: {file} is not an SQLite file of replies. It was not changed; name another file."
        )


def _clear(scratch: Path) -> None:
    for companion in COMPANIONS:
        with suppress(OSError):
            scratch.with_name(scratch.name + companion).unlink()


def _fill(scratch: Path, file: Path, tables: Store | None) -> tuple[int, int]:
    """Write a new cache; return how many replies came from the file, and how many more from tables."""
    database = Database(sa.URL.create("sqlite", database=str(scratch)).render_as_string(hide_password=False))
    try:
        for _, rows in groupby(enumerate(rows_in(file)), lambda one: one[0] // TOGETHER):
            database.insert([row for _, row in rows])
        from_file = database.count()
        for entries in responses_in(tables) if tables else ():
            database.insert([row_of(entry) for entry in entries])
        return from_file, database.count() - from_file
    finally:
        # The last connection's end brings the log into the file.
        database.close()
