"""Requests in pending batches: which request is in which batch, durable before and after its creation.

A submission is written first, under a token that goes to the server with the batch: after a kill in between, the
batch is found there by its token. Stored beside the reply cache: in a separate file for SQLite, in tables of the
same database for Postgres. The request form that a model has refused is stored here too: the run that collects a
batch is seldom the one that submitted it.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tasks.store.databases import explained, file_of, parse
from tasks.store.replies import batched
from tasks.store.statements import words_of

FILE = "batches.sqlite"
CHUNK = 500
"""Ids in one statement."""
KEPT_S = 30 * 86_400.0
"""How long a refusal is remembered: a server may be updated."""

_metadata = sa.MetaData()
_batches = sa.Table(
    "batches",
    _metadata,
    sa.Column("token", sa.String(64), primary_key=True),
    sa.Column("endpoint", sa.String, nullable=False),
    sa.Column("batch_id", sa.String),
    sa.Column("submitted_at", sa.Float(53), nullable=False),
    # Null in batches of an earlier version.
    sa.Column("form", sa.Text),
    sa.Column("again", sa.Integer),
)
_TOLD = ("token", "batch_id", "submitted_at", "form", "again")
_submissions = sa.Table(
    "submissions",
    _metadata,
    sa.Column("request_id", sa.String(64), primary_key=True),
    sa.Column("token", sa.String(64), nullable=False, index=True),
)
_forms = sa.Table(
    "forms",
    _metadata,
    sa.Column("endpoint", sa.String, primary_key=True),
    sa.Column("form", sa.Text, nullable=False),
    sa.Column("learned_at", sa.Float(53), nullable=False),
)


@dataclass(frozen=True, slots=True)
class Submitted:
    """A batch and those of the requested ids that are in it; no `batch_id` while it is being created.

    `submitted_at`: Unix time at which the server was last asked to create it. `form`: the form of its requests.
    `again`: they were in an earlier batch, which was lost.
    """

    token: str
    batch_id: str | None
    submitted_at: float
    form: str
    again: bool
    request_ids: tuple[str, ...]


class Submissions:
    """The pending batches, beside the reply cache at `url`. Safe to share between threads and processes."""

    def __init__(self, url: str) -> None:
        """Open the database, creating missing tables.

        Raises:
            InputError: the database cannot be used.
        """
        self._url = url
        file = file_of(url)
        beside = parse(url) if file is None else sa.URL.create("sqlite", database=str(file.with_name(FILE)))
        self._sqlite = beside.get_backend_name() == "sqlite"
        if file is not None:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
        try:
            self._engine = sa.create_engine(beside, **({"connect_args": {"timeout": 60}} if self._sqlite else {}))
            _metadata.create_all(self._engine)
            self._complete()
        except sa.exc.SQLAlchemyError as error:
            raise explained(url, error) from error

    def _complete(self) -> None:
        """Add the columns that a table of an earlier version lacks."""
        there = {column["name"] for column in sa.inspect(self._engine).get_columns(_batches.name)}
        for column in _batches.c:
            if column.name not in there:
                kind = column.type.compile(self._engine.dialect)
                added = f"ALTER TABLE {_batches.name} ADD COLUMN {column.name} {kind}"
                try:
                    with self._engine.begin() as connection:
                        connection.exec_driver_sql(added)
                except sa.exc.DBAPIError as error:
                    if column.name not in str(error.orig):  # another process has just added it
                        raise

    def waiting(self, request_ids: Sequence[str], endpoint: str) -> list[Submitted]:
        """Return the batches at an endpoint that contain these requests."""
        rows: dict[str, tuple[Any, list[str]]] = {}
        columns = (_submissions.c.request_id, *(_batches.c[name] for name in _TOLD))
        joined = sa.select(*columns).join(_batches, _batches.c.token == _submissions.c.token)
        with self._work() as connection:
            for ids in batched(list(request_ids), CHUNK):
                here = joined.where(_submissions.c.request_id.in_(ids), _batches.c.endpoint == endpoint)
                for request_id, *batch in connection.execute(here):
                    rows.setdefault(batch[0], (batch, []))[1].append(request_id)
        return [
            Submitted(token, batch_id, submitted_at, form or "", bool(again), tuple(ids))
            for (token, batch_id, submitted_at, form, again), ids in rows.values()
        ]

    def begin(
        self, token: str, endpoint: str, request_ids: Sequence[str], *, form: str = "", again: bool = False
    ) -> None:
        """Record that these requests are about to be submitted under a token, and are in no other batch."""
        insert = words_of(is_sqlite=self._sqlite).insert
        row = {"token": token, "endpoint": endpoint, "batch_id": None, "submitted_at": time.time()}
        with self._work() as connection:
            made = insert(_batches).values(**row, form=form, again=int(again))
            connection.execute(made.on_conflict_do_nothing())
            rows = [{"request_id": one, "token": token} for one in request_ids]
            put = insert(_submissions)
            put = put.on_conflict_do_update(index_elements=["request_id"], set_={"token": put.excluded.token})
            connection.execute(put, rows)
            self._clear(connection)

    def asked(self, token: str) -> None:
        """Record that the server is now asked to create a token's batch."""
        self._change(token, submitted_at=time.time())

    def submitted(self, token: str, batch_id: str) -> None:
        """Record the batch of a token's requests."""
        self._change(token, batch_id=batch_id)

    def _change(self, token: str, **values: Any) -> None:
        with self._work() as connection:
            connection.execute(sa.update(_batches).where(_batches.c.token == token).values(**values))

    def end(self, request_ids: Sequence[str]) -> None:
        """Delete requests whose replies are durable, or that will not be answered in a batch."""
        with self._work() as connection:
            for ids in batched(list(request_ids), CHUNK):
                connection.execute(sa.delete(_submissions).where(_submissions.c.request_id.in_(ids)))
            self._clear(connection)

    @staticmethod
    def _clear(connection: sa.Connection) -> None:
        """Delete batches without pending requests."""
        connection.execute(sa.delete(_batches).where(_batches.c.token.not_in(sa.select(_submissions.c.token))))

    def form(self, endpoint: str) -> str:
        """Return the learned request form of a model; '' if it has refused nothing, or long ago."""
        known = sa.select(_forms.c.form).where(
            _forms.c.endpoint == endpoint, _forms.c.learned_at > time.time() - KEPT_S
        )
        with self._work() as connection:
            return str(connection.execute(known).scalar() or "")

    def learn(self, endpoint: str, form: str) -> None:
        """Store the request form of a model for later calls."""
        insert = words_of(is_sqlite=self._sqlite).insert
        put = insert(_forms).values(endpoint=endpoint, form=form, learned_at=time.time())
        taken = {"form": put.excluded.form, "learned_at": put.excluded.learned_at}
        with self._work() as connection:
            connection.execute(put.on_conflict_do_update(index_elements=["endpoint"], set_=taken))

    @contextmanager
    def _work(self) -> Iterator[sa.Connection]:
        """Begin one transaction, reporting errors as the reply cache does."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except sa.exc.SQLAlchemyError as error:
            raise explained(self._url, error) from error

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()
