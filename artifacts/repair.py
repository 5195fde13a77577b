"""Repair: bring the replies of a damaged SQLite cache into a new file, and back from the store's tables.

Three sources, in this order: the sound rows of the damaged file (each proved by its checksum), those of its
write-ahead log, and the responses tables of the store. The damaged file is kept beside the new one.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import sqlalchemy as sa

from artifacts import sqlite_pages
from artifacts.databases import COLUMNS, Database, Row
from artifacts.replies import Remembered, ReplyCache, entry_of, row_of
from artifacts.store import Damaged, Store, explain
from data.errors import InputError
from data.records import Reply
from data.tables import RESPONSES

TOGETHER = 1000
"""Rows in one insert."""
COMPANIONS = ("", "-wal", "-shm")
"""What SQLite calls the files of one database, after its name."""


MAGIC = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class Saved:
    """What a repair brought over: replies from the file itself, and more from the store's tables."""

    from_file: int
    from_tables: int
    aside: Path | None

    def told(self) -> str:
        """Return it in words."""
        kept = f"; the damaged file is kept as {self.aside}" if self.aside else ""
        return (
            f"{self.from_file} replies were saved from the file and {self.from_tables} more from the store's "
            f"tables{kept}. What is missing will be asked anew."
        )


def rows_in(file: Path) -> Iterator[Row]:
    """Yield the sound rows of an SQLite reply cache, damaged or not; one id may come more than once."""
    for readings in sqlite_pages.rows(file):
        for reading in readings:
            if row := _sound(reading):
                yield row
                break


def _sound(reading: tuple[Any, ...]) -> Row | None:
    """Return a row of `COLUMNS` if that is what was read."""
    if len(reading) != len(COLUMNS) or not isinstance(reading[0], str):
        return None
    *rest, latency_s, model, answered_at, checksum = reading
    try:
        # SQLite keeps whole numbers of its REAL columns as integers.
        row = (*rest, float(latency_s), model, float(answered_at), checksum)
        return row if isinstance(model, str) and entry_of(row) else None
    except (TypeError, ValueError):
        return None


def responses_in(store: Store, wanted: Collection[str] | None = None) -> Iterator[list[Remembered]]:
    """Yield the answered calls of every sound responses table of a store, the newest table first.

    `wanted` limits them to some request ids. What a data set held was never asked, and is left out.
    """
    for entry in sorted(store.entries(), key=lambda one: -one.modified):
        with suppress(Damaged, pl.exceptions.PolarsError):
            if not store.holds(entry.digest, RESPONSES):
                continue
            frame = store.frame(entry.digest)
            frame = frame.filter(
                pl.col("error").is_null() & pl.col("text").is_not_null() & pl.col("latency_s").is_not_null()
            )
            if wanted is not None:
                frame = frame.filter(pl.col("request_id").is_in(list(wanted)))
            yield [_remembered(row) for row in frame.iter_rows(named=True)]


def _remembered(row: dict[str, Any]) -> Remembered:
    reply = Reply(
        row["text"], row["reasoning"] or "", row["finish_reason"] or "", row["tokens_in"], row["tokens_out"]
    )
    return Remembered(row["request_id"], reply, row["latency_s"])


def recall(store: Store, wanted: Collection[str]) -> dict[str, Remembered]:
    """Return the replies to these requests that the store's responses tables hold."""
    found: dict[str, Remembered] = {}
    for entries in responses_in(store, wanted):
        for entry in entries:
            found.setdefault(entry.request_id, entry)
    return found


def restore(cache: ReplyCache, store: Store) -> tuple[int, int]:
    """Clear an opened cache of rows with wrong checksums and bring back all that the store's tables hold.

    Returns how many rows were wrong, and how many replies there are more than before.
    """
    wrong = [row[0] for row in cache.walk() if entry_of(row) is None]
    cache.forget(wrong)
    before = cache.count()
    for entries in responses_in(store):
        for start in range(0, len(entries), TOGETHER):
            cache.remember(entries[start : start + TOGETHER])
    return len(wrong), cache.count() - before


def _mended(file: Path) -> Path:
    return file.with_name(file.name + ".mended")


def pending(file: Path) -> bool:
    """Say whether a repair was cut short after its new file was whole."""
    return _mended(file).exists()


def swap(file: Path) -> Path | None:
    """Put the mended file in place; return where the damaged one is kept now.

    Whoever calls holds the file's gate alone. Cut short anywhere, it is brought to its end by the next call.
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
        raise explain(error, f"cannot put the mended reply cache in the place of {file}") from error
    return aside if aside.exists() else None


def mend(file: Path, tables: Store | None) -> Saved:
    """Replace a damaged reply cache by a new one with every reply that can be saved.

    Whoever calls holds the file's gate alone.

    Raises:
        InputError: the new file cannot be written.
        SQLAlchemyError: as above, said by SQLite.
    """
    scratch = file.with_name(file.name + ".mending")
    _clear(scratch)
    try:
        from_file, from_tables = _fill(scratch, rows_in(file), tables)
        _refuse_foreign(file, from_file)
        with scratch.open("rb+") as written:
            os.fsync(written.fileno())
        scratch.replace(_mended(file))
    except OSError as error:
        raise explain(error, f"cannot mend the reply cache {file}") from error
    finally:
        _clear(scratch)
    return Saved(from_file, from_tables, swap(file))


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
            f"store.cache: {file} is no SQLite file, and holds no replies. It was left as it is; name another file."
        )


def _clear(scratch: Path) -> None:
    for companion in COMPANIONS:
        with suppress(OSError):
            scratch.with_name(scratch.name + companion).unlink()


def _fill(scratch: Path, rows: Iterable[Row], tables: Store | None) -> tuple[int, int]:
    """Write a new cache; return how many replies came from rows, and how many more from tables."""
    url = sa.URL.create("sqlite", database=str(scratch)).render_as_string(hide_password=False)
    database = Database(url)
    try:
        together: list[Row] = []
        for row in rows:
            together.append(row)
            if len(together) == TOGETHER:
                database.insert(together)
                together = []
        database.insert(together)
        from_file = database.count()
        for entries in responses_in(tables) if tables else ():
            for start in range(0, len(entries), TOGETHER):
                database.insert([row_of(entry) for entry in entries[start : start + TOGETHER]])
        return from_file, database.count() - from_file
    finally:
        # The last connection's end brings the log into the file.
        database.close()
