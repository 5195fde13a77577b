"""The databases that can hold the reply cache: SQLite for one machine, Postgres for several.

Each piece of work is safe to repeat, so that whatever a database refuses in passing (a lost connection, a lock, a
deadlock) is tried again.
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
"""How long a database may be away or busy before a run ends: a restart takes seconds."""
LOCKED_S = 20.0
"""How long Postgres has a statement wait for what another session holds: that one's host may be gone."""
ALIVE = {
    "keepalives": 1,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""A Postgres server whose machine is gone is missed after half a minute; by default the kernel takes hours."""
OLDEST_SQLITE = (3, 35)
"""The first that says which rows an insert has taken (RETURNING)."""
DAMAGED = ("malformed", "not a database", "corrupt", "encrypted")
"""Words by which SQLite tells of a damaged file."""
PORTION = 16_000_000
"""Characters of replies in one statement: far below any server's limit, and enough for thousands of replies."""


class DamagedFile(Exception):  # noqa: N818 - said of a database
    """An SQLite file that is not, or no longer, a sound database."""


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

    Once it is open, what does not pass is an `InputError`.
    """

    def __init__(self, url: str) -> None:
        """Open the database, making its tables where they are missing.

        Raises:
            InputError: the URL names no database that can be used.
            DamagedFile: an SQLite file is damaged.
            SQLAlchemyError: it cannot be opened.
        """
        parsed = parse(url)
        self.url = url
        self.is_sqlite = parsed.get_backend_name() == "sqlite"
        # In a file one thread writes at a time: SQLite would have the others sleep and look again, in no order,
        # for seconds.
        self._writing = threading.Lock() if self.is_sqlite else nullcontext()
        self._listed = words_of(is_sqlite=self.is_sqlite).listed
        self._statements = statements(is_sqlite=self.is_sqlite)
        self._engine = _sqlite_engine(parsed) if self.is_sqlite else _postgres_engine(parsed)
        # A server that is not there is told at once; a file that another process is just making passes.
        if self.is_sqlite:
            self._do(self._create)
        else:
            self._create_on_server()

    def _create(self, connection: sa.Connection) -> bool:
        """Make what is missing; say whether anything was."""
        there = sa.inspect(connection)
        # Looked for first: who may use the tables need not be allowed to make them.
        missing = [table for table in metadata.sorted_tables if not there.has_table(table.name)]
        for table in missing:
            connection.execute(sa.schema.CreateTable(table, if_not_exists=True))
        if "extra" not in {column["name"] for column in sa.inspect(connection).get_columns("replies")}:
            connection.exec_driver_sql("ALTER TABLE replies ADD COLUMN extra text")  # made by an earlier version
        return bool(missing)

    def _create_on_server(self) -> None:
        with self._engine.connect() as plain:
            connection = plain.execution_options(isolation_level="READ COMMITTED")
            with connection.begin():
                # Two who make the same table at once would both fail; many who come at once wait for one another.
                connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7236121)")
                if self._create(connection):
                    # As many claims leave as come: by the usual share of the table it is cleaned far too seldom.
                    connection.exec_driver_sql(
                        "ALTER TABLE claims SET (autovacuum_vacuum_scale_factor = 0, "
                        "autovacuum_vacuum_threshold = 10000)"
                    )

    def _do(self, work: Callable[[sa.Connection], T]) -> T:
        """Run a piece of work that may be repeated, in one transaction, again while the database is away."""
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
        """Do a piece of work that may be repeated.

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
        """Return what a statement finds, of `ids` where it has such; a list among its values is one parameter."""
        if not values.get("ids", True):
            return []
        text, given = self._asked(name, values)
        found = self._work(lambda connection: connection.exec_driver_sql(text, given).all(), writes=name == "claim")
        return list(map(tuple, found))

    def run(self, name: str, **values: Any) -> int:
        """Carry a statement out, and return how many rows it changed."""
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
        """Insert rows of `COLUMNS`, the first of one id stays, and delete the claims on their ids."""
        self._insert(rows, COLUMNS, "insert", "answered")

    def fail(self, rows: Sequence[Row], *, holder: str) -> None:
        """Insert rows of `failures`, and delete the holder's claims on their ids."""
        self._insert(rows, tuple(failures.c.keys()), "insert failures", "failed", holder=holder)

    def _insert(self, rows: Sequence[Row], columns: Sequence[str], insert: str, ended: str, **more: Any) -> None:
        # In order, so that two who write the same rows wait for one another and never in a circle.
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
        """Return how many replies there are."""
        return int(self.rows("count")[0][0])

    def walk(self, size: int = 2000) -> Iterator[list[Row]]:
        """Yield all replies in the order of their ids, as lists of rows of `COLUMNS`."""
        last = ""
        while rows := self.rows("walk", last=last, size=size):
            yield rows
            last = rows[-1][0]

    def faults(self, most: int = 5) -> list[str]:
        """Return what SQLite's own check finds wrong with the file, indexes included; nothing for Postgres.

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
        """Let go of the connections."""
        self._engine.dispose()


def parse(url: str) -> sa.URL:
    """Return the URL of a database, with its driver.

    Raises:
        InputError: it names none that can be used.
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
    """Return where SQLite keeps the write-ahead log of a file."""
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
        # Text that is damaged is for the checksums to find, not for the decoder.
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
        # Each piece of work is one statement, so a transaction of its own would be two more trips to the server.
        isolation_level="AUTOCOMMIT",
        connect_args={"connect_timeout": 10, "client_encoding": "utf8", **ALIVE},
    )

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.execute(f"SET lock_timeout = '{LOCKED_S:g}s'")
        connection.commit()

    return engine


def shown(url: str) -> str:
    """Return an SQLAlchemy URL without its password, fit for a message."""
    try:
        return sa.make_url(url).render_as_string(hide_password=True)
    except sa.exc.ArgumentError:
        return "(not an SQLAlchemy URL)"


PASSING = ("08", "40", "57P", "53300", "55P03")
"""How SQLSTATEs begin that pass: connection, rollback asked for (serialization, deadlock), shutdown, locks."""


def _passing(error: Exception) -> bool:
    """Say whether trying again may help."""
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
    """Return a database's refusal as the message that a user needs."""
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
