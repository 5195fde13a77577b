"""The databases that can hold the reply cache: SQLite for one machine, Postgres for several.

Each operation is safe to repeat, so transient errors (a lost connection, a lock, a deadlock) are retried.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
import stamina

from data.commands import typed
from data.errors import InputError
from data.extras import installing
from tasks.store.statements import COLUMNS, Row, failures, metadata, statements, words_of

T = TypeVar("T")

PATIENCE_S = 60.0
"""How long a database may be unreachable or busy before a run ends: a restart takes seconds."""
LOCKED_S = 20.0
"""How long a Postgres statement waits for another session's lock: that session's host may be gone."""
ALIVE = {
    "keepalives": 1,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""A dead Postgres host is detected after half a minute; by default the kernel takes hours."""
OLDEST_SQLITE = (3, 35)
"""The first version with INSERT ... RETURNING."""
DAMAGED = ("malformed", "not a database", "corrupt", "encrypted")
"""Words in SQLite's errors about a damaged file."""
PORTION = 16_000_000
"""Characters of replies in one statement: far below any server's limit, and enough for thousands of replies."""


class DamagedFile(Exception):  # noqa: N818 - said of a database
    """An SQLite file that is not, or no longer, an intact database."""


def portions(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Yield rows in lists whose texts fit one statement."""
    portion: list[Row] = []
    size = 0
    for row in rows:
        weight = sum(len(value) for value in row if isinstance(value, str))
        if portion and size + weight > PORTION:
            yield portion
            portion, size = [], 0
        portion.append(row)
        size += weight
    if portion:
        yield portion


class Database:
    """One database behind an SQLAlchemy URL; safe to share between threads.

    Once it is open, permanent errors are raised as `InputError`.
    """

    def __init__(self, url: str) -> None:
        """Open the database, creating missing tables.

        Raises:
            InputError: the URL names no usable database.
            DamagedFile: an SQLite file is damaged.
            SQLAlchemyError: it cannot be opened.
        """
        parsed = parse(url)
        self.url = url
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        # One writing thread per file: SQLite would make the others sleep and poll, in no order, for seconds.
        self._writing = threading.Lock() if self.is_sqlite else nullcontext()
        self._listed = words_of(is_sqlite=self.is_sqlite).listed
        self._statements = statements(is_sqlite=self.is_sqlite)
        self._engine = _sqlite_engine(parsed) if self.is_sqlite else _postgres_engine(parsed)
        # A missing server is reported at once; a file that another process is creating is a transient error.
        if self.is_sqlite:
            self._do(self._create)
        else:
            self._create_on_server()

    def _create(self, connection: sa.Connection) -> bool:
        """Create missing tables and columns; return whether anything was missing."""
        there = sa.inspect(connection)
        # Checked first: users of the tables need not have the permission to create them.
        missing = [table for table in metadata.sorted_tables if not there.has_table(table.name)]
        for table in missing:
            connection.execute(sa.schema.CreateTable(table, if_not_exists=True))
        if "extra" not in {column["name"] for column in sa.inspect(connection).get_columns("replies")}:
            connection.exec_driver_sql("ALTER TABLE replies ADD COLUMN extra text")  # of an earlier version
        return bool(missing)

    def _create_on_server(self) -> None:
        with self._engine.connect() as plain:
            connection = plain.execution_options(isolation_level="READ COMMITTED")
            with connection.begin():
                # Concurrent creation of one table would fail for both; concurrent clients wait for each other.
                connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7236121)")
                if self._create(connection):
                    # Claims come and go at the same rate: autovacuum's default share of the table is far too rare.
                    connection.exec_driver_sql(
                        "ALTER TABLE claims SET (autovacuum_vacuum_scale_factor = 0, "
                        "autovacuum_vacuum_threshold = 10000)"
                    )

    def _do(self, work: Callable[[sa.Connection], T]) -> T:
        """Run a repeatable operation in one transaction, retrying while the database is unreachable."""
        for attempt in stamina.retry_context(
            on=_passing, attempts=None, timeout=PATIENCE_S, wait_initial=0.05, wait_max=2.0, wait_jitter=0.1
        ):
            with attempt:
                try:
                    with self._engine.begin() as connection:
                        return work(connection)
                except sa.exc.DBAPIError as error:
                    said, of_file = str(error.orig), isinstance(error.orig, sqlite3.Error)
                    if of_file and any(word in said for word in DAMAGED):
                        raise DamagedFile(said.splitlines()[0]) from error
                    raise
        raise AssertionError("unreachable: the loop ends by return or raise")

    def _work(self, work: Callable[[sa.Connection], T], *, writes: bool = True) -> T:
        """Run a repeatable operation.

        Raises:
            InputError: the database refuses, or its file is damaged.
        """
        try:
            with self._writing if writes else nullcontext():
                return self._do(work)
        except DamagedFile as error:
            raise InputError(
                f"reply cache {shown(self.url)} is damaged ({error}). `{typed('store repair')}` saves what can be "
                "read; then run again."
            ) from error
        except sa.exc.SQLAlchemyError as error:
            raise explained(self.url, error) from error

    def rows(self, name: str, **values: Any) -> list[Row]:
        """Return a statement's rows, none for empty `ids`; a list among the values is one parameter."""
        if not values.get("ids", True):
            return []
        text, given = self._asked(name, values)
        found = self._work(lambda connection: connection.exec_driver_sql(text, given).all(), writes=name == "claim")
        return list(map(tuple, found))

    def run(self, name: str, **values: Any) -> int:
        """Execute a statement and return how many rows it changed, 0 for empty `ids`."""
        if not values.get("ids", True):
            return 0
        text, given = self._asked(name, values)
        return self._work(lambda connection: connection.exec_driver_sql(text, given).rowcount)

    def _asked(self, name: str, values: Mapping[str, Any]) -> tuple[str, Any]:
        statement = self._statements[name]
        plain = (str, int, float)
        given = {key: one if isinstance(one, plain) else self._listed(one) for key, one in values.items()}
        return statement.text, statement.given(given)

    def insert(self, rows: Sequence[Row]) -> None:
        """Insert rows of `COLUMNS`, keeping the first of each id, and delete the claims on their ids."""
        self._insert(rows, COLUMNS, "insert", "answered")

    def fail(self, rows: Sequence[Row], *, holder: str) -> None:
        """Insert rows of `failures`, and delete the holder's claims on their ids."""
        self._insert(rows, tuple(failures.c.keys()), "insert failures", "failed", holder=holder)

    def _insert(self, rows: Sequence[Row], columns: Sequence[str], insert: str, ended: str, **more: Any) -> None:
        # In order, so that concurrent writers of the same rows wait for one another without a deadlock.
        for portion in portions(sorted(rows, key=lambda row: str(row[0]))):
            given = {"ids": [row[0] for row in portion], **more}
            if self.is_sqlite:
                self._work(partial(self._insert_sqlite, insert, portion, *self._asked(ended, given)))
            else:
                listed = zip(columns, zip(*portion, strict=True), strict=True)
                self.run(ended, **given, **{f"every_{name}": values for name, values in listed})

    def _insert_sqlite(
        self, insert: str, rows: list[Row], ended: str, given: Any, connection: sa.Connection
    ) -> None:
        connection.exec_driver_sql(self._statements[insert].text, rows)
        connection.exec_driver_sql(ended, given)

    def count(self) -> int:
        """Return the number of replies."""
        return int(self.rows("count")[0][0])

    def walk(self, size: int = 2000) -> Iterator[list[Row]]:
        """Yield all replies in the order of their ids, as lists of rows of `COLUMNS`."""
        last = ""
        while rows := self.rows("walk", last=last, size=size):
            yield rows
            last = rows[-1][0]

    def faults(self, most: int = 5) -> list[str]:
        """Return what SQLite's integrity check finds wrong, indexes included; nothing for Postgres.

        Raises:
            DamagedFile: it cannot be checked.
        """
        if not self.is_sqlite:
            return []
        check = f"PRAGMA integrity_check({most})"
        found = self._do(lambda connection: connection.exec_driver_sql(check).scalars().all())
        said = [" ".join(str(one).split()) for one in found]
        return [] if said == ["ok"] else said

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()


def parse(url: str) -> sa.URL:
    """Return the URL of a database, with its driver.

    Raises:
        InputError: it names no usable database.
    """
    expected = (
        "Expected an SQLAlchemy URL: sqlite:///folder/replies.sqlite or postgresql+psycopg://user@host/name "
        f"({installing('postgres')})."
    )
    try:
        parsed = sa.make_url(url)
        if parsed.drivername in {"postgresql", "postgres"}:
            parsed = parsed.set(drivername="postgresql+psycopg")
        parsed.get_dialect().import_dbapi()
    except (sa.exc.ArgumentError, ModuleNotFoundError) as error:
        raise InputError(f"store.cache: {shown(url)}: cannot be used ({error}). {expected}") from error
    if parsed.get_backend_name() not in {"sqlite", "postgresql"}:
        raise InputError(f"store.cache: {shown(url)}: cannot be used (neither SQLite nor Postgres). {expected}")
    return parsed


def file_of(url: str) -> Path | None:
    """Return the file of an SQLite URL; None for another database, or one in memory."""
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        return None
    if parsed.get_backend_name() != "sqlite" or not parsed.database or parsed.database == ":memory:":
        return None
    return Path(parsed.database)


def log_of(file: Path) -> Path:
    """Return the path of a file's SQLite write-ahead log."""
    return file.with_name(file.name + "-wal")


def _sqlite_engine(url: sa.URL) -> sa.Engine:
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise InputError(
            f"the reply cache needs SQLite {'.'.join(map(str, OLDEST_SQLITE))} or later; this Python has "
            f"{sqlite3.sqlite_version}. Use a newer Python, or Postgres with --set store.cache=postgresql+psycopg://…"
        )
    engine = sa.create_engine(url, connect_args={"timeout": PATIENCE_S})

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.create_function("clock_s", 0, time.monotonic)
        # Damaged text must be found by the checksums, not fail in the decoder.
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        connection.execute("PRAGMA journal_mode=WAL")
        # Survives the death of the process; a power cut may cost the last replies, never the file.
        connection.execute("PRAGMA synchronous=NORMAL")

    return engine


def _postgres_engine(url: sa.URL) -> sa.Engine:
    engine = sa.create_engine(
        url,
        pool_size=4,
        max_overflow=4,
        # Each operation is one statement; an explicit transaction would add two round trips to the server.
        isolation_level="AUTOCOMMIT",
        connect_args={"connect_timeout": 10, "client_encoding": "utf8", **ALIVE},
    )

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.execute(f"SET lock_timeout = '{LOCKED_S:g}s'")
        connection.commit()

    return engine


def shown(url: str) -> str:
    """Return an SQLAlchemy URL without its password, for messages."""
    try:
        return sa.make_url(url).render_as_string(hide_password=True)
    except sa.exc.ArgumentError:
        return "(not an SQLAlchemy URL)"


PASSING = ("08", "40", "57P", "53300", "55P03")
"""Prefixes of transient SQLSTATEs: connection, rollback requested (serialization, deadlock), shutdown, locks."""


def _passing(error: Exception) -> bool:
    """Return whether a retry may help."""
    if isinstance(error, sa.exc.TimeoutError):
        return True
    if not isinstance(error, sa.exc.DBAPIError):
        return False
    if isinstance(error.orig, sqlite3.Error):
        # A duplicate column: another process has just added it.
        return any(word in str(error.orig) for word in ("locked", "busy", "duplicate column"))
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return error.connection_invalidated or isinstance(error, sa.exc.OperationalError)
    return str(state).startswith(PASSING)


def explained(url: str, error: sa.exc.SQLAlchemyError) -> InputError:
    """Return a database error as a message for the user."""
    original = getattr(error, "orig", None)
    said = str(original or error).strip()
    if "full" in said or "No space left" in said:
        todo = "The disk is full: free some space and run again; everything answered so far is kept."
    elif "readonly" in said or "unable to open" in said:
        todo = "No permission to write there: choose another place with --set store.root=…."
    elif not isinstance(original, sqlite3.Error) and isinstance(error, sa.exc.OperationalError):
        todo = "Is the server there, and does it let this user in? Everything answered so far is kept; run again."
    else:
        todo = "Everything answered so far is kept; fix this and run again."
    return InputError(f"reply cache {shown(url)}: {said.splitlines()[0] if said else error}. {todo}")
