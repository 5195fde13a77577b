"""The databases that can hold cached replies and pending batches: SQLite for one machine, Postgres for several.

Each operation is safe to repeat, so transient errors (a lost connection, a lock, a deadlock) are retried.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
import stamina

from basic_control.data.errors import InputError
from basic_control.data.extras import format_install

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


class DamagedFile(InputError):  # noqa: N818 - said of a database
    """An SQLite file that is not, or no longer, an intact database; `fault` says what is wrong with it."""

    def __init__(self, message: str, fault: str = "") -> None:
        super().__init__(message)
        self.fault = fault or message


class Database:
    """Tables in one database behind an SQLAlchemy URL; safe to share between threads.

    `if_damaged` says what to do about a damaged file.
    """

    if_damaged = "Move the file away, and run again."

    def __init__(self, url: str, tables: sa.MetaData, *, synchronous: str = "NORMAL") -> None:
        """Open the database, creating missing tables; `synchronous` is SQLite's own setting.

        Raises:
            DamagedFile: an SQLite file is damaged.
            InputError: the URL names no usable database, or it cannot be opened.
        """
        parsed = parse(url)
        self.url = url
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        self._dialect = import_module(f"sqlalchemy.dialects.{parsed.get_backend_name()}")
        self._tables = tables
        # One writing thread per file: SQLite would make the others sleep and poll, in no order, for seconds.
        self._writing = threading.Lock() if self.is_sqlite else nullcontext()
        caller = stamina.RetryingCaller(
            attempts=None, timeout=PATIENCE_S, wait_initial=0.05, wait_max=2.0, wait_jitter=0.1
        )
        self._retrying = caller.on(_is_transient)
        self.engine = _sqlite_engine(parsed, synchronous) if self.is_sqlite else _postgres_engine(parsed)
        with self._explain_errors():
            # A missing server is reported at once; what other processes are creating is waited for.
            opening = self._retrying if self.is_sqlite else caller.on(_is_locked)
            opening(self._run_in_transaction, self._create)

    def _create(self, connection: sa.Connection) -> None:
        """Create missing tables."""
        if not self.is_sqlite:
            # Concurrent creation of one table would fail for both; concurrent clients wait for each other.
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(7236121)))
        self._tables.create_all(connection)

    def _run_in_transaction(self, operation: Callable[[sa.Connection], T]) -> T:
        with self.engine.begin() as connection:
            return operation(connection)

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            yield
        except sa.exc.SQLAlchemyError as error:
            explanation = explain_refusal(self.url, error, self.if_damaged)
            file = find_file(self.url)
            if file and isinstance(explanation, DamagedFile):
                with suppress(OSError):
                    find_mark(file).touch()
            raise explanation from error

    def run_operation(self, operation: Callable[[sa.Connection], T], *, writes: bool = True) -> T:
        """Run a repeatable operation in one transaction, retrying while the database is unreachable or busy.

        Raises:
            DamagedFile: its file is damaged.
            InputError: the database refuses.
        """
        with self._explain_errors(), self._writing if writes else nullcontext():
            return self._retrying(self._run_in_transaction, operation)

    def insert_into(self, table: sa.Table) -> Any:
        """Return the dialect's own INSERT, which has ON CONFLICT."""
        return self._dialect.insert(table)

    def select_elements(self, name: str) -> sa.Select[Any]:
        """Return a query of the elements of a list, which is one parameter, however long it is."""
        if self.is_sqlite:
            return sa.select(sa.func.json_each(sa.bindparam(name, type_=sa.JSON())).table_valued("value").c.value)
        array = sa.bindparam(name, type_=self._dialect.ARRAY(sa.Text()))
        return sa.select(sa.func.unnest(array).table_valued("value").render_derived().c.value)

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()


def parse(url: str) -> sa.URL:
    """Return the URL of a database, with its driver.

    Raises:
        InputError: it names no usable database.
    """
    expected = (
        "Expected an SQLAlchemy URL: sqlite:///folder/replies.sqlite or postgresql+psycopg://user@host/name "
        f"(the extra `postgres`: {format_install('postgres')})."
    )
    try:
        parsed = sa.make_url(url)
        if parsed.drivername in {"postgresql", "postgres"}:
            parsed = parsed.set(drivername="postgresql+psycopg")
        parsed.get_dialect().import_dbapi()
    except (sa.exc.ArgumentError, ModuleNotFoundError) as error:
        raise InputError(f"store.cache: {hide_password(url)}: cannot be used ({error}). {expected}") from error
    if parsed.get_backend_name() not in {"sqlite", "postgresql"}:
        raise InputError(
            f"store.cache: {hide_password(url)}: cannot be used (neither SQLite nor Postgres). {expected}"
        )
    return parsed


def find_file(url: str) -> Path | None:
    """Return the file of an SQLite URL; None for another database, or one in memory."""
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        return None
    if parsed.get_backend_name() != "sqlite" or not parsed.database or parsed.database == ":memory:":
        return None
    return Path(parsed.database)


def find_log(file: Path) -> Path:
    """Return the path of a file's SQLite write-ahead log."""
    return file.with_name(file.name + "-wal")


def find_mark(file: Path) -> Path:
    """Return the path of the mark of a file in which damage was met: it is checked when it is opened next."""
    return file.with_name(file.name + ".suspected")


def _sqlite_engine(url: sa.URL, synchronous: str) -> sa.Engine:
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
        # NORMAL survives the death of the process; a power cut may cost the last replies, never the file.
        connection.execute(f"PRAGMA synchronous={synchronous}")

    return engine


def _postgres_engine(url: sa.URL) -> sa.Engine:
    engine = sa.create_engine(
        url,
        pool_size=4,
        max_overflow=4,
        isolation_level="READ COMMITTED",
        connect_args={"connect_timeout": 10, "client_encoding": "utf8", **ALIVE},
    )

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.execute(f"SET lock_timeout = '{LOCKED_S:g}s'")
        connection.commit()

    return engine


def hide_password(url: str) -> str:
    """Return an SQLAlchemy URL without its password, for messages."""
    try:
        return sa.make_url(url).render_as_string(hide_password=True)
    except sa.exc.ArgumentError:
        return "(not an SQLAlchemy URL)"


def is_damage(message: str) -> bool:
    """Return whether an error of SQLite is about a damaged file."""
    return any(word in message for word in DAMAGED)


TRANSIENT = ("08", "40", "57P", "53300", "55P03")
"""Prefixes of transient SQLSTATEs: connection, rollback requested (serialization, deadlock), shutdown, locks."""


def _is_locked(error: Exception) -> bool:
    """Return whether a Postgres server waited too long for a lock."""
    return isinstance(error, sa.exc.DBAPIError) and getattr(error.orig, "sqlstate", None) == "55P03"


def _is_transient(error: Exception) -> bool:
    """Return whether a retry may help."""
    if isinstance(error, sa.exc.TimeoutError):
        return True
    if not isinstance(error, sa.exc.DBAPIError):
        return False
    if isinstance(error.orig, sqlite3.Error):
        # The last: another process has just created it.
        return any(symptom in str(error.orig) for symptom in ("locked", "busy", "already exists"))
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        return error.connection_invalidated or isinstance(error, sa.exc.OperationalError)
    return str(state).startswith(TRANSIENT)


def explain_refusal(url: str, error: sa.exc.SQLAlchemyError, if_damaged: str) -> InputError:
    """Return a database error as a message for the user."""
    original = getattr(error, "orig", None)
    message = str(original or error).strip()
    # The lines after the first repeat the statement.
    summary = (message.splitlines() or [str(error)])[0]
    if isinstance(original, sqlite3.Error) and is_damage(message):
        return DamagedFile(f"{hide_password(url)} is damaged ({summary}). {if_damaged}", summary)
    if "full" in message or "No space left" in message:
        todo = "The disk is full: free some space and run again; everything answered so far is kept."
    elif "readonly" in message or "unable to open" in message:
        todo = "No permission to write there: choose another folder with --set store.root=…."
    elif not isinstance(original, sqlite3.Error) and isinstance(error, sa.exc.OperationalError):
        todo = (
            "Check that the server is running and accepts this user. Everything answered so far is kept; run again."
        )
    else:
        todo = "Everything answered so far is kept; fix this and run again."
    return InputError(f"reply cache {hide_password(url)}: {summary}. {todo}")
