"""Requests in pending batches: which request is in which batch, durable before and after its creation.

A submission is written first, under a token that goes to the server with the batch: after a kill in between, the
batch is found there by its token. Stored beside the reply cache: in a separate file for SQLite, in tables of the
same database for Postgres. The request form that a model has refused is stored here too: the run that collects a
batch is seldom the one that submitted it.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from basic_control.tasks.store.databases import Database, find_file

FILE = "batches.sqlite"
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
    sa.Column("form", sa.Text, nullable=False),
)
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
_WITHOUT_REQUESTS = sa.delete(_batches).where(_batches.c.token.not_in(sa.select(_submissions.c.token)))
"""Deletes batches without pending requests."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """A batch and those of the requested ids that are in it; no `batch_id` while it is being created.

    `submitted_at`: Unix time at which the server was last asked to create it. `form`: the form of its requests.
    """

    token: str
    batch_id: str | None
    submitted_at: float
    form: str
    request_ids: tuple[str, ...]


class Submissions:
    """The pending batches, beside the reply cache at `url`. Safe to share between threads and processes."""

    def __init__(self, url: str) -> None:
        """Open the database, creating missing tables.

        Raises:
            InputError: the database cannot be used.
        """
        if file := find_file(url):
            file.parent.mkdir(parents=True, exist_ok=True)
            url = sa.URL.create("sqlite", database=str(file.with_name(FILE))).render_as_string(hide_password=False)
        # FULL, to survive a power cut too: a lost submission is paid for twice.
        self._database = Database(url, _metadata, synchronous="FULL")
        self._among_ids = _submissions.c.request_id.in_(self._database.select_elements("ids"))

    def find_pending(self, request_ids: Sequence[str], endpoint: str) -> list[Submitted]:
        """Return the batches at an endpoint that contain these requests."""
        pending = sa.select(*_batches.c, _submissions.c.request_id).join(
            _submissions, _batches.c.token == _submissions.c.token
        )
        query = pending.where(self._among_ids, _batches.c.endpoint == endpoint)
        values = {"ids": list(request_ids)}
        rows = self._database.run_operation(
            lambda connection: connection.execute(query, values).all(), writes=False
        )
        # A row for each request, with the columns of its batch.
        ids: dict[str, list[str]] = {}
        for row in rows:
            ids.setdefault(row.token, []).append(row.request_id)
        row_by_token = {row.token: row for row in rows}
        return [
            Submitted(token, row.batch_id, row.submitted_at, row.form, tuple(ids[token]))
            for token, row in row_by_token.items()
        ]

    def begin(self, token: str, endpoint: str, request_ids: Sequence[str], *, form: str = "") -> None:
        """Record that these requests are about to be submitted under a token, and are in no other batch."""
        insert = self._database.insert_into
        batch = insert(_batches).values(token=token, endpoint=endpoint, submitted_at=time.time(), form=form)
        submission = insert(_submissions)
        moved = submission.on_conflict_do_update(
            index_elements=["request_id"], set_={"token": submission.excluded.token}
        )
        rows = [{"request_id": request_id, "token": token} for request_id in request_ids]

        def record(connection: sa.Connection) -> None:
            connection.execute(batch.on_conflict_do_nothing())
            connection.execute(moved, rows)
            connection.execute(_WITHOUT_REQUESTS)

        self._database.run_operation(record)

    def mark_asked(self, token: str) -> None:
        """Record that the server is now asked to create a token's batch."""
        self._change(token, submitted_at=time.time())

    def mark_submitted(self, token: str, batch_id: str) -> None:
        """Record the batch of a token's requests."""
        self._change(token, batch_id=batch_id)

    def _change(self, token: str, **values: Any) -> None:
        statement = sa.update(_batches).where(_batches.c.token == token).values(**values)
        self._database.run_operation(lambda connection: connection.execute(statement))

    def end(self, request_ids: Sequence[str]) -> None:
        """Delete requests whose replies are durable, or that will not be answered in a batch."""

        def delete(connection: sa.Connection) -> None:
            connection.execute(sa.delete(_submissions).where(self._among_ids), {"ids": list(request_ids)})
            connection.execute(_WITHOUT_REQUESTS)

        self._database.run_operation(delete)

    def form(self, endpoint: str) -> str:
        """Return the learned request form of a model; '' if it has refused nothing, or long ago."""
        query = sa.select(_forms.c.form).where(
            _forms.c.endpoint == endpoint, _forms.c.learned_at > time.time() - KEPT_S
        )
        return (
            self._database.run_operation(lambda connection: connection.execute(query).scalar(), writes=False) or ""
        )

    def learn(self, endpoint: str, form: str) -> None:
        """Store the request form of a model for later calls."""
        row = self._database.insert_into(_forms).values(endpoint=endpoint, form=form, learned_at=time.time())
        new_values = {"form": row.excluded.form, "learned_at": row.excluded.learned_at}
        statement = row.on_conflict_do_update(index_elements=["endpoint"], set_=new_values)
        self._database.run_operation(lambda connection: connection.execute(statement))

    def close(self) -> None:
        """Close the connections."""
        self._database.close()
