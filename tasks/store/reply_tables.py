"""The reply cache's tables, rows and statements; a cached reply is a row verified by its checksum."""

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from basic_control.data.draw import format_canonical
from basic_control.data.records import Reply
from basic_control.tasks.store.databases import Database

Row = Sequence[Any]

LONGEST_S = 2_000_000
"""A lease with more time left than this was given by another clock, and is ignored."""

metadata = sa.MetaData()
replies = sa.Table(
    "replies",
    metadata,
    sa.Column("request_id", sa.String(64), primary_key=True),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("reasoning", sa.Text, nullable=False),
    sa.Column("finish_reason", sa.String, nullable=False),
    sa.Column("tokens_in", sa.BigInteger),
    sa.Column("tokens_out", sa.BigInteger),
    sa.Column("latency_s", sa.Float(53), nullable=False),
    sa.Column("model", sa.String, nullable=False),
    sa.Column("answered_at", sa.Float(53), nullable=False),
    sa.Column("checksum", sa.String(16), nullable=False),
    sa.Column("extra", sa.Text),
)
claims = sa.Table(
    "claims",
    metadata,
    sa.Column("request_id", sa.String(64), primary_key=True),
    sa.Column("owner", sa.String, nullable=False),
    sa.Column("expires_at", sa.Float(53), nullable=False),
)
failures = sa.Table(
    "failures",
    metadata,
    sa.Column("request_id", sa.String(64), primary_key=True),
    sa.Column("run", sa.String(64), primary_key=True),
    sa.Column("way", sa.String(64), primary_key=True),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.Column("failed_at", sa.Float(53), nullable=False),
)
identities = sa.Table(
    "identities",
    metadata,
    sa.Column("access", sa.String(64), primary_key=True),
    sa.Column("identity", sa.Text, nullable=False),
    sa.Column("identified_at", sa.Float(53), nullable=False),
)
COLUMNS = tuple(replies.c.keys())


def compile_statements(database: Database) -> dict[str, Any]:
    """Return the compiled statements of the cache, by name."""
    # A clock, in seconds, that all who share the database read alike and nobody sets: on SQLite, the monotonic one.
    if database.is_sqlite:
        now: sa.ColumnElement[float] = sa.func.clock_s(type_=sa.Float(53))
    else:
        now = sa.cast(sa.extract("epoch", sa.func.clock_timestamp()), sa.Float(53))
    expiry = now + sa.bindparam("lease_s", type_=sa.Float(53))
    ids = database.select_elements("ids")
    is_requested = replies.c.request_id.in_(ids)
    is_claimed = claims.c.request_id.in_(ids)
    is_holders = claims.c.owner == sa.bindparam("holder")
    is_in_run, is_asked_so = failures.c.run == sa.bindparam("run"), failures.c.way == sa.bindparam("way")
    failure_columns = sa.select(failures.c.request_id, failures.c.kind, failures.c.message)
    is_old = failures.c.failed_at < sa.bindparam("before", type_=sa.Float(53))
    replies_after = sa.select(replies).where(replies.c.request_id > sa.bindparam("last"))
    # Without a condition, SQLite would parse ON CONFLICT as part of a join.
    new_claims = sa.select(ids.subquery().c.value, sa.bindparam("holder", type_=sa.Text()), expiry).where(sa.true())
    insertion = database.insert_into(claims).from_select(claims.c.keys(), new_claims)
    new_values = {"owner": insertion.excluded.owner, "expires_at": insertion.excluded.expires_at}
    is_free = sa.or_(
        claims.c.owner == insertion.excluded.owner,
        claims.c.expires_at < now,
        claims.c.expires_at > now + LONGEST_S,
        claims.c.owner.in_(database.select_elements("gone")),
    )
    claim = insertion.on_conflict_do_update(index_elements=["request_id"], set_=new_values, where=is_free)
    identification = database.insert_into(identities)
    new_identity = {name: identification.excluded[name] for name in ("identity", "identified_at")}
    by_name = {
        "lookup": sa.select(replies).where(is_requested),
        "insert": database.insert_into(replies).on_conflict_do_nothing(),
        "delete": sa.delete(replies).where(is_requested),
        "insert failures": database.insert_into(failures).on_conflict_do_nothing(),
        "failures": failure_columns.where(failures.c.request_id.in_(ids), is_in_run, is_asked_so),
        "forgive": sa.delete(failures).where(sa.or_(is_in_run, is_old)),
        "claim": claim.returning(claims.c.request_id),
        "owners": sa.select(claims.c.owner).distinct().where(is_claimed),
        "renew": sa.update(claims).values(expires_at=expiry).where(is_holders),
        "end": sa.delete(claims).where(is_claimed),
        "release": sa.delete(claims).where(is_claimed, is_holders),
        "identify": identification.on_conflict_do_update(index_elements=["access"], set_=new_identity),
        "identity": sa.select(identities).where(identities.c.access == sa.bindparam("of")),
        "count": sa.select(sa.func.count()).select_from(replies),
        "walk": replies_after.order_by(replies.c.request_id).limit(sa.bindparam("size")),
    }
    # Compiled once: SQLAlchemy caches no INSERT with ON CONFLICT, and compiling takes longer than executing.
    return {name: statement.compile(database.engine) for name, statement in by_name.items()}


class ReplyDatabase(Database):
    """The reply cache's tables in a database."""

    if_damaged = "Run again: what can be read is kept, and the tables give the rest."

    def __init__(self, url: str) -> None:
        """Open the database, as any other."""
        super().__init__(url, metadata)
        self._statements = compile_statements(self)

    def rows(self, name: str, **values: Any) -> Sequence[Row]:
        """Return a statement's rows, none for empty `ids`."""
        if not values.get("ids", True):
            return []
        statement = self._statements[name]
        return self.run_operation(
            lambda connection: connection.execute(statement, values).all(), writes=name == "claim"
        )

    def run(self, name: str, **values: Any) -> int:
        """Execute a statement and return how many rows it changed, 0 for empty `ids`."""
        if not values.get("ids", True):
            return 0
        return self.run_operation(lambda connection: connection.execute(self._statements[name], values).rowcount)

    def insert(self, rows: Sequence[Row]) -> None:
        """Insert rows of `COLUMNS`, keeping the first of each id, and delete the claims on their ids."""
        self.insert_rows("insert", [dict(zip(COLUMNS, row, strict=True)) for row in rows], "end", {})

    def insert_rows(
        self, insert: str, rows: Sequence[Mapping[str, Any]], end: str, holder: Mapping[str, str]
    ) -> None:
        """Insert rows by one statement, and by another delete the claims on their ids."""
        if not rows:
            return
        # In order, so that concurrent writers of the same rows wait for one another without a deadlock.
        ordered = sorted(rows, key=lambda row: str(row["request_id"]))
        ids = [row["request_id"] for row in ordered]

        def write(connection: sa.Connection) -> None:
            connection.execute(self._statements[insert], ordered)
            connection.execute(self._statements[end], {"ids": ids, **holder})

        self.run_operation(write)

    def count(self) -> int:
        """Return the number of replies."""
        return int(self.rows("count")[0][0])

    def walk(self, size: int = 2000) -> Iterator[Sequence[Row]]:
        """Yield all replies in the order of their ids, as lists of rows of `COLUMNS`."""
        last = ""
        while rows := self.rows("walk", last=last, size=size):
            yield rows
            last = rows[-1][0]


@dataclass(frozen=True, slots=True)
class Remembered:
    """A cached reply, with the latency in seconds of its original call."""

    request_id: str
    reply: Reply
    latency_s: float
    model: str = ""


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A call that ended without a reply: the kind of its error (`tasks.models.protocol`), and its message."""

    request_id: str
    kind: str
    message: str


def write_failure_row(failure: FailedCall, run: str, way: str) -> dict[str, Any]:
    """Return a failure as a row of the cache's failures table."""
    return {
        "request_id": failure.request_id,
        "run": run,
        "way": way,
        "kind": failure.kind,
        "message": _replace_unstorable(failure.message),
        "failed_at": time.time(),
    }


def write_row(entry: Remembered) -> Row:
    """Return an entry as a row of `COLUMNS`."""
    reply = entry.reply
    extra = _replace_unstorable(format_canonical(reply.extra)) if reply.extra else None
    content = (
        _replace_unstorable(reply.text),
        _replace_unstorable(reply.reasoning),
        reply.finish_reason,
        reply.tokens_in,
        reply.tokens_out,
        float(entry.latency_s),
    )
    checksum = _checksum(entry.request_id, content, extra)
    return (entry.request_id, *content, entry.model, time.time(), checksum, extra)


def read_row(row: Row) -> Remembered | None:
    """Return a row of `COLUMNS` as an entry, or None if its content does not match its checksum."""
    request_id, text, reasoning, finish_reason, tokens_in, tokens_out, latency_s, model, _, checksum, extra = row
    content = (text, reasoning, finish_reason, tokens_in, tokens_out, latency_s)
    try:
        if _checksum(request_id, content, extra) != checksum:
            return None
    except (TypeError, ValueError):
        # A damaged page may yield bytes instead of text.
        return None
    extra_values = json.loads(extra) if extra else {}
    reply = Reply(text, reasoning, finish_reason, tokens_in, tokens_out, extra_values)
    return Remembered(request_id, reply, latency_s, model)


def _replace_unstorable(text: str) -> str:
    """Return text that every database and UTF-8 can hold: no NUL, no lone surrogate."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _checksum(request_id: str, content: Sequence[Any], extra: str | None) -> str:
    """Return the checksum of a row; without an extra it equals that of earlier versions."""
    whole = (request_id, *content) if extra is None else (request_id, *content, extra)
    return hashlib.sha256(format_canonical(whole).encode()).hexdigest()[:16]
