"""The reply cache: every answered call, by the hash of its whole identity, in any SQL database.

SQLite (in WAL mode) for one machine; Postgres for several. A reply is durable once `remember` returns. Claims keep
two workers from asking the same request: the holder asks, the others wait for the reply, for the claim to be
released, or for its lease to expire. A failed call releases its claim too, without a reply: its failure is kept for
the other askers of the same run, and means nothing to any other run.

A damaged, emptied or deleted SQLite file is replaced when it is opened, with a warning. The new one's replies come
from the rows before the first unreadable one (each verified by its checksum), then from the responses tables of the
store. What is in neither is asked again. A damaged file is kept.
"""

import fcntl
import json
import logging
import os
import shutil
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any

import polars as pl
import sqlalchemy as sa

from basic_control.data.draw import format_canonical
from basic_control.data.errors import InputError, plural
from basic_control.data.records import Reply
from basic_control.data.tables import RESPONSES
from basic_control.tasks.store.databases import (
    PATIENCE_S,
    DamagedFile,
    find_file,
    find_log,
    find_mark,
    hide_password,
    is_damage,
)
from basic_control.tasks.store.owners import describe_owner, has_ended, name_owner
from basic_control.tasks.store.reply_tables import (
    COLUMNS,
    FailedCall,
    Remembered,
    ReplyDatabase,
    Row,
    read_row,
    write_failure_row,
    write_row,
)
from basic_control.tasks.store.tables import Damaged, Store, explain_error

CHECKED = 512_000_000
"""Maximum bytes of a file that is checked completely at opening: a second or two at most."""
WAIT_S = 60.0
"""How long a run waits for others to release a damaged file."""
AGAIN_S = 0.05
"""How long to wait before the others are looked for again."""
TOGETHER = 1000
"""Rows written at once."""
MAGIC = b"SQLite format 3\0"


class FileLock:
    """This process's lock on a file, shared until `close`; whoever replaces the file needs it alone.

    SQLite must not have a database file moved away while any connection to it is open: closing such a connection
    would delete the new file's log. So every user of the file holds a shared lock on `<file>.lock` for as long.
    """

    def __init__(self, path: Path) -> None:
        """Take a shared lock, waiting for a replacement in progress; without a lock if none can be created."""
        self._lock: IO[bytes] | None = None
        # A read-only location has none, and nothing will be replaced there either.
        with suppress(OSError):
            # A file object, so that a forgotten lock is released with it.
            self._lock = path.with_name(path.name + ".lock").open("ab")
            self.share()

    def share(self) -> None:
        """Share the file with others, waiting for a replacement in progress."""
        if self._lock is not None:
            fcntl.flock(self._lock, fcntl.LOCK_SH)

    def take(self) -> bool:
        """Try to have the file alone, which the caller has closed; return whether it is so.

        If not, nothing is held: two that both want the file alone would wait for each other's shared lock.
        """
        if self._lock is None:
            return True
        fcntl.flock(self._lock, fcntl.LOCK_UN)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def read_rows(file: Path) -> Iterator[Row]:
    """Yield the intact rows of a reply cache in order, up to the first that SQLite cannot read."""
    url = f"{file.resolve().as_uri()}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(url, uri=True)) as opened:
        query = f"SELECT {', '.join(COLUMNS)} FROM replies NOT INDEXED"  # noqa: S608 - our own words
        yield from filter(_is_intact, opened.execute(query))


def _is_intact(row: Row) -> bool:
    *_, model, answered_at, _, _ = row
    return isinstance(model, str) and isinstance(answered_at, float) and read_row(row) is not None


def read_responses(store: Store, request_ids: Collection[str] | None = None) -> Iterator[list[Remembered]]:
    """Yield the answered calls of every intact responses table of a store, the newest table first.

    `request_ids` limits them to some.
    """
    for table in sorted(store.entries(), key=lambda table: -table.modified):
        with suppress(Damaged, pl.exceptions.PolarsError):
            frame = store.read_if_kind(table.digest, RESPONSES)
            if frame is None:
                continue
            if request_ids is not None:
                frame = frame.filter(pl.col("request_id").is_in(list(request_ids)))
            yield list_answered_calls(frame)


def list_answered_calls(frame: pl.DataFrame) -> list[Remembered]:
    """Return the answered calls of a responses table, without replies that came with a data set."""
    answered = frame.filter(
        pl.col("error").is_null() & pl.col("text").is_not_null() & pl.col("latency_s").is_not_null()
    )
    return [read_response(row) for row in answered.iter_rows(named=True)]


def read_response(row: Mapping[str, Any]) -> Remembered:
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


def make_ready(file: Path, store: Store | None) -> FileLock:
    """Replace a reply cache that is damaged, emptied or missing, with a warning; return a shared lock on it.

    Raises:
        InputError: another process uses a damaged file, or it cannot be replaced.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file)
    until = time.monotonic() + WAIT_S
    while fault := find_fault(file, CHECKED):
        if lock.take():
            # Another process may just have repaired it.
            fault = find_fault(file, CHECKED)
            outcome = fault and replace(file, store)
            if outcome:
                _log.warning("reply cache %s was made anew (%s): %s.", file, fault, outcome)
            lock.share()
            break
        if time.monotonic() >= until:
            raise InputError(
                f"reply cache {file}: {fault}, and another process uses it, so it cannot be repaired now. Wait for "
                "that run to end, or stop it, and run again; everything answered so far is kept."
            )
        time.sleep(AGAIN_S)
        lock.share()
    find_mark(file).unlink(missing_ok=True)
    return lock


def _append(file: Path, ending: str) -> Path:
    """Return the path of a file's companion in the same folder."""
    return file.with_name(file.name + ending)


def _complete(file: Path) -> Path:
    """Return where a new file is while the damaged one is moved aside."""
    return _append(file, ".mended")


def find_fault(file: Path, largest: int | None = None) -> str:
    """Return what is wrong with a file; '' if it is sound, or cannot be read for another reason than damage.

    It is checked whole if it has at most `largest` bytes (None: of any size), or damage was met in it.
    """
    # Before SQLite opens it, which would delete a log that it cannot read.
    faults = {
        "its repair was interrupted": _complete(file).exists(),
        "the file is missing": not file.exists(),
        "the file is not a database": not _is_sqlite(file),
    }
    fault = next((fault for fault, is_so in faults.items() if is_so), "")
    if fault:
        return fault
    if largest is not None and file.stat().st_size > largest and not find_mark(file).exists():
        return ""
    try:
        with closing(sqlite3.connect(file, timeout=PATIENCE_S)) as opened:
            (result,) = opened.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.Error as error:
        result = str(error)
        return result if is_damage(result) else ""
    if result == "ok":
        return ""
    return " ".join(str(result).split())


def replace(file: Path, store: Store | None) -> str:
    """Put a file with every reply that can be saved in the place of a reply cache; return in words what it has.

    The caller has the file alone. An interrupted replacement is completed by the next. '' if there was nothing.

    Raises:
        InputError: the new file cannot be written, or the file seems never to have been a reply cache.
    """
    if file.name != "replies.sqlite" and file.exists() and file.stat().st_size and not _is_sqlite(file):
        raise InputError(
            f"store.cache: {file} is not an SQLite file. It was left unchanged; choose another file for the cache."
        )
    workshop = _append(file, ".mending")
    from_file = from_tables = 0
    outcome = "its repair was completed"
    try:
        # Written aside, and durable, before anything is moved: a kill at any moment loses no reply.
        if not _complete(file).exists():
            shutil.rmtree(workshop, ignore_errors=True)
            workshop.mkdir()
            from_file, from_tables = _fill(workshop / file.name, file, store)
            outcome = f"{from_file} replies were saved from the file and {from_tables} more from the store's tables"
            with (workshop / file.name).open("rb+") as written:
                os.fsync(written.fileno())
            (workshop / file.name).replace(_complete(file))
        aside = _move_aside(file)
        _complete(file).replace(file)
    except OSError as error:
        raise explain_error(error, f"cannot repair the reply cache {file}") from error
    finally:
        shutil.rmtree(workshop, ignore_errors=True)
    if aside.exists():
        return f"{outcome}; the damaged file is kept as {aside}"
    if not from_tables:
        return ""
    return outcome


def _move_aside(file: Path) -> Path:
    """Move a damaged file with its log to a name with the time, and return it."""
    aside = _append(file, f".damaged-{datetime.now(UTC).astimezone():%Y%m%d_%H%M%S_%f}")
    # The log first: it must never be beside a file that it does not belong to.
    for companion in ("-wal", "-shm", ""):
        with suppress(FileNotFoundError):
            _append(file, companion).rename(f"{aside}{companion}")
    return aside


def _is_sqlite(file: Path) -> bool:
    """Return whether a file begins as an SQLite file does."""
    with suppress(FileNotFoundError), file.open("rb") as opened:
        return opened.read(len(MAGIC)) == MAGIC
    return False


def _fill(new: Path, file: Path, store: Store | None) -> tuple[int, int]:
    """Write a new cache; return how many replies came from the file, and how many more from tables."""
    url = sa.URL.create("sqlite", database=str(new)).render_as_string(hide_password=False)
    # Closing the last connection merges the log into the file.
    with closing(ReplyDatabase(url)) as database:
        rows = read_rows(file)
        while batch := list(islice(rows, TOGETHER)):
            database.insert(batch)
        from_file = database.count()
        if store:
            for entries in read_responses(store):
                database.insert([write_row(entry) for entry in entries])
        return from_file, database.count() - from_file


MEND = "the next run keeps what can be read, and takes the rest from the tables"


def find_reply_faults(url: str) -> tuple[int, list[str]]:
    """Return the number of replies in a cache and its faults, changing nothing; no file is an empty cache.

    Raises:
        InputError: the database cannot be reached.
    """
    file = find_file(url)
    if file is not None and not file.exists() and not _complete(file).exists():
        return 0, []
    with closing(FileLock(file)) if file else nullcontext():
        fault = file and find_fault(file)
        if fault:
            return 0, [f"{fault}; {MEND}"]
        number, wrong = 0, 0
        try:
            with closing(ReplyDatabase(url)) as database:
                for rows in database.walk():
                    number += len(rows)
                    wrong += sum(read_row(row) is None for row in rows)
        except DamagedFile as error:
            return number, [f"{error.fault}; {MEND}"]
    if not wrong:
        return number, []
    return number, [f"{plural(wrong, 'reply')} with a wrong checksum; {MEND}"]


__all__ = ["FailedCall", "Remembered", "ReplyCache", "find_url", "name_owner"]

_log = logging.getLogger(__name__.removeprefix("basic_control."))  # not a child of the events' logger

FORGIVEN_S = 30 * 86_400.0
"""How long the failures of a killed run are kept."""


def find_url(store: Store) -> str:
    """Return the URL of a store's reply cache: a file in its folder, local for a remote store."""
    folder = store.local or Path("artifacts/store")
    return sa.URL.create("sqlite", database=str(folder / "replies.sqlite")).render_as_string(hide_password=False)


class ReplyCache(ReplyDatabase):
    """The replies behind one SQLAlchemy URL. Safe to share between threads.

    `store` is the one whose responses tables restore what a damaged or deleted file has lost.
    """

    def __init__(self, url: str, *, store: Store | None = None) -> None:
        """Open the cache, creating missing tables, and a new file in place of a damaged or deleted one.

        Raises:
            InputError: the URL cannot be used, or the database cannot be opened.
        """
        self._store = store
        self._file = find_file(url)
        try:
            self._lock = make_ready(self._file, store) if self._file else None
            super().__init__(url)
        except OSError as error:
            raise InputError(
                f"reply cache {hide_password(url)}: cannot be opened ({error}). Choose another with --set "
                "store.root=… or --set store.cache=…."
            ) from error

    def lookup(self, request_ids: Sequence[str]) -> dict[str, Remembered]:
        """Return the cached replies to these requests.

        A row that fails its checksum is restored from the store's tables, or removed, to be asked again.
        """
        replies: dict[str, Remembered] = {}
        damaged: list[str] = []
        for row in self.rows("lookup", ids=request_ids):
            entry = read_row(row)
            if entry:
                replies[entry.request_id] = entry
            else:
                damaged.append(row[0])
        if damaged:
            replies |= self._restore(damaged)
        return replies

    def _restore(self, damaged: list[str]) -> dict[str, Remembered]:
        """Remove damaged rows; return those restored from the store's tables."""
        restored: dict[str, Remembered] = {}
        if self._store:
            # Of several tables with a reply, the newest holds: it comes first.
            for entries in read_responses(self._store, damaged):
                restored = {entry.request_id: entry for entry in entries} | restored
        self.forget(damaged)
        self.remember(list(restored.values()))
        _log.warning(
            "reply cache %s: %d replies failed their checksums; %d were restored from the store's tables, %d "
            "will be asked again.",
            self.safe_url,
            len(damaged),
            len(restored),
            len(damaged) - len(restored),
        )
        return restored

    def remember(self, entries: Sequence[Remembered]) -> None:
        """Store replies durably and release their claims; the first reply to a request is kept."""
        self.insert([write_row(entry) for entry in entries])

    def remember_failures(self, failures: Sequence[FailedCall], *, holder: str, run: str, way: str) -> None:
        """Store failures for those asking in the same way in the same run, and release the holder's claims.

        `way` is a digest of the model's settings that decide how it is reached.
        """
        rows = [write_failure_row(failure, run, way) for failure in failures]
        self.insert_rows("insert failures", rows, "release", {"holder": holder})

    def failures(self, request_ids: Sequence[str], *, run: str, way: str) -> dict[str, FailedCall]:
        """Return these requests' failures in a run when asked in this way."""
        return {row[0]: FailedCall(*row) for row in self.rows("failures", ids=request_ids, run=run, way=way)}

    def forgive(self, run: str) -> None:
        """Delete the failures of a run that has ended, and those of killed ones."""
        self.run("forgive", run=run, before=time.time() - FORGIVEN_S)

    def claim(self, request_ids: Sequence[str], *, holder: str, lease_s: float) -> set[str]:
        """Claim requests for a holder for a time; return those that were free, or whose holder is gone.

        Look claimed requests up once more before asking: another worker may have answered one in between.
        """
        granted = self._claim(sorted(set(request_ids)), holder, lease_s)
        refused = sorted(set(request_ids) - granted)
        # A cache in a file has no other users than this machine's processes.
        is_sole_user = self._file is not None
        gone = [name for name in self._owners(refused) if has_ended(name, is_sole_user=is_sole_user)]
        if gone:
            granted |= self._claim(refused, holder, lease_s, gone)
        return granted

    def _claim(self, ids: Sequence[str], holder: str, lease_s: float, gone: Sequence[str] = ()) -> set[str]:
        """Claim what is free, the holder's own, expired, or claimed by one of `gone`; return what is now held.

        One statement, so that only one of several that find a claim expired gets it.
        """
        claimed = self.rows("claim", ids=ids, holder=holder, lease_s=lease_s, gone=gone)
        return {row[0] for row in claimed}

    def _owners(self, ids: Sequence[str]) -> list[str]:
        return [row[0] for row in self.rows("owners", ids=ids)]

    def holders(self, request_ids: Sequence[str]) -> list[str]:
        """Return the holders of claims on these requests, in words for people."""
        return sorted(set(map(describe_owner, self._owners(request_ids))))

    def renew(self, *, holder: str, lease_s: float) -> None:
        """Extend all claims of a holder."""
        self.run("renew", holder=holder, lease_s=lease_s)

    def release(self, request_ids: Sequence[str], *, holder: str) -> None:
        """Release claims without an answer."""
        self.run("release", ids=request_ids, holder=holder)

    def forget(self, request_ids: Sequence[str]) -> int:
        """Delete replies; return how many there were."""
        return self.run("delete", ids=request_ids)

    def remember_identity(self, access: str, identity: Mapping[str, str]) -> None:
        """Store what identifies the model behind an access, in place of what did; `access` is a digest."""
        self.run("identify", access=access, identity=format_canonical(identity), identified_at=time.time())

    def recall_identity(self, access: str) -> tuple[dict[str, str], float] | None:
        """Return what identified the model behind an access last, and when; None if it never was."""
        rows = self.rows("identity", of=access)
        if not rows:
            return None
        _, identity, identified_at = rows[0]
        return json.loads(identity), float(identified_at)

    def bytes(self) -> int:
        """Return the bytes of the cache's files; 0 if it is on a server."""
        if self._file is None:
            return 0
        return sum(path.stat().st_size for path in (self._file, find_log(self._file)) if path.exists())

    @property
    def safe_url(self) -> str:
        """The cache's URL without its password."""
        return hide_password(self.url)

    def close(self) -> None:
        """Close the connections."""
        super().close()
        if self._lock is not None:
            self._lock.close()
