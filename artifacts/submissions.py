"""Requests that wait in batches at a server: which, in which batch, durable before and after it is made.

What is to be submitted is written down first, under a token that goes to the server with the batch: whoever is
killed in between finds the batch there by its token. Beside the reply cache: a file of its own for SQLite, tables
of the same database for Postgres.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from artifacts.databases import explained, file_of, parse
from artifacts.replies import batched

FILE = "batches.sqlite"
CHUNK = 500
"""Ids in one statement."""

_metadata = sa.MetaData()
_batches = sa.Table(
    "batches",
    _metadata,
    sa.Column("token", sa.String(64), primary_key=True),
    sa.Column("endpoint", sa.String, nullable=False),
    sa.Column("batch_id", sa.String),
    sa.Column("submitted_at", sa.Float(53), nullable=False),
)
_submissions = sa.Table(
    "submissions",
    _metadata,
    sa.Column("request_id", sa.String(64), primary_key=True),
    sa.Column("token", sa.String(64), nullable=False, index=True),
)


@dataclass(frozen=True, slots=True)
class Submitted:
    """A batch and those of the requests asked about that are in it; no `batch_id` while it is being made."""

    token: str
    batch_id: str | None
    submitted_at: float
    request_ids: tuple[str, ...]


class Submissions:
    """The batches that wait, beside the reply cache at `url`. Safe to share between threads and processes."""

    def __init__(self, url: str) -> None:
        """Open them, making the tables where they are missing.

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
        except sa.exc.SQLAlchemyError as error:
            raise explained(url, error) from error

    def waiting(self, request_ids: Sequence[str], endpoint: str) -> list[Submitted]:
        """Return the batches at an endpoint in which these requests wait."""
        rows: dict[tuple[str, str | None, float], list[str]] = {}
        columns = (_submissions.c.request_id, _batches.c.token, _batches.c.batch_id, _batches.c.submitted_at)
        joined = sa.select(*columns).join(_batches, _batches.c.token == _submissions.c.token)
        with self._work() as connection:
            for ids in batched(list(request_ids), CHUNK):
                here = joined.where(_submissions.c.request_id.in_(ids), _batches.c.endpoint == endpoint)
                for request_id, *batch in connection.execute(here):
                    rows.setdefault((batch[0], batch[1], batch[2]), []).append(request_id)
        return [Submitted(*batch, tuple(ids)) for batch, ids in rows.items()]

    def begin(self, token: str, endpoint: str, request_ids: Sequence[str]) -> None:
        """Write down that these requests are about to be submitted under a token, and are in no other batch."""
        insert = sqlite.insert if self._sqlite else postgresql.insert
        now = time.time()
        row = {"token": token, "endpoint": endpoint, "batch_id": None, "submitted_at": now}
        with self._work() as connection:
            connection.execute(insert(_batches).values(row).on_conflict_do_nothing())
            rows = [{"request_id": one, "token": token} for one in request_ids]
            put = insert(_submissions)
            put = put.on_conflict_do_update(index_elements=["request_id"], set_={"token": put.excluded.token})
            connection.execute(put, rows)

    def submitted(self, token: str, batch_id: str) -> None:
        """Write down which batch a token's requests are in."""
        with self._work() as connection:
            change = sa.update(_batches).where(_batches.c.token == token)
            connection.execute(change.values(batch_id=batch_id))

    def end(self, request_ids: Sequence[str]) -> None:
        """Forget requests whose replies are durable, or that will not be answered there."""
        with self._work() as connection:
            for ids in batched(list(request_ids), CHUNK):
                connection.execute(sa.delete(_submissions).where(_submissions.c.request_id.in_(ids)))
            left = sa.select(_submissions.c.token)
            connection.execute(sa.delete(_batches).where(_batches.c.token.not_in(left)))

    @contextmanager
    def _work(self) -> Iterator[sa.Connection]:
        """Begin one transaction, whose refusal is told as one of the reply cache."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except sa.exc.SQLAlchemyError as error:
            raise explained(self._url, error) from error

    def close(self) -> None:
        """Let go of the connections."""
        self._engine.dispose()
