"""The reply cache's tables, rows and statements, in the SQL of SQLite or of Postgres.

A cached reply is a row verified by its checksum.

SQLAlchemy compiles each statement once per database; it is then run as text, since each runs once for every few
replies. A list is one parameter, however long it is.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from data.draw import canonical
from data.records import Reply

Row = tuple[Any, ...]

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
COLUMNS = tuple(replies.c.keys())


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as text; `places` lists its parameters in order if the driver takes them by position."""

    text: str
    places: Sequence[str] | None
    fixed: Mapping[str, Any]

    def given(self, values: Mapping[str, Any]) -> Any:
        """Return the parameters as the driver takes them."""
        every = {**self.fixed, **values}
        return every if self.places is None else tuple(every[name] for name in self.places)


@dataclass(frozen=True, slots=True)
class _Words:
    """The differences between the two databases' SQL.

    `each` is a list as rows of the column `value`, `among` a test for membership; `now` is a clock in seconds that
    all who share the database read alike and nobody sets.
    """

    dialect: sa.Dialect
    insert: Callable[..., Any]
    each: Callable[[str], sa.TableValuedAlias]
    among: Callable[[sa.Column[str], str], sa.ColumnElement[bool]]
    now: sa.ColumnElement[float]
    listed: Callable[[Sequence[str]], Any]


def _rows(name: str) -> sa.TableValuedAlias:
    return sa.func.json_each(sa.bindparam(name)).table_valued("value")


def _array(name: str, kind: sa.types.TypeEngine[Any] | None = None) -> sa.Cast[Any]:
    from sqlalchemy.dialects import postgresql

    return sa.cast(sa.bindparam(name), postgresql.ARRAY(kind or sa.Text()))


SQLITE = _Words(
    sqlite.dialect(),
    sqlite.insert,
    _rows,
    lambda column, name: column.in_(sa.select(_rows(name).c.value)),
    # Python registers `clock_s` as the machine's monotonic clock: setting the wall clock ends no lease.
    sa.func.clock_s(type_=sa.Float(53)),
    lambda values: json.dumps(list(values)),
)


@cache
def words_of(*, is_sqlite: bool) -> _Words:
    """Return the SQL of a database; Postgres's is imported only when used."""
    if is_sqlite:
        return SQLITE
    from sqlalchemy.dialects import postgresql

    return _Words(
        postgresql.psycopg.dialect(),
        postgresql.insert,
        lambda name: sa.func.unnest(_array(name)).table_valued("value").render_derived(),
        lambda column, name: column == sa.any_(_array(name)),
        sa.cast(sa.extract("epoch", sa.func.clock_timestamp()), sa.Float(53)),
        list,
    )


@cache
def statements(*, is_sqlite: bool) -> Mapping[str, Statement]:
    """Return the cache's statements, by name."""
    words = words_of(is_sqlite=is_sqlite)
    replied, claimed = words.among(replies.c.request_id, "ids"), words.among(claims.c.request_id, "ids")
    mine, expiry = claims.c.owner == sa.bindparam("holder"), words.now + sa.bindparam("lease_s", type_=sa.Float(53))
    after = sa.select(replies).where(replies.c.request_id > sa.bindparam("last"))
    answered, ended = sa.delete(claims).where(claimed), sa.delete(claims).where(claimed, mine)
    here, way = failures.c.run == sa.bindparam("run"), failures.c.way == sa.bindparam("way")
    known = sa.select(failures.c.request_id, failures.c.kind, failures.c.message)
    old = failures.c.failed_at < sa.bindparam("before", type_=sa.Float(53))
    every = {
        "lookup": sa.select(replies).where(replied),
        "delete": sa.delete(replies).where(replied),
        "answered": answered if is_sqlite else answered.add_cte(_inserted(replies).cte("kept")),
        "failed": ended if is_sqlite else ended.add_cte(_inserted(failures).cte("kept")),
        "failures": known.where(words.among(failures.c.request_id, "ids"), here, way),
        "forgive": sa.delete(failures).where(sa.or_(here, old)),
        "claim": _claim(words, expiry),
        "owners": sa.select(claims.c.owner).distinct().where(claimed),
        "renew": sa.update(claims).values(expires_at=expiry).where(mine),
        "release": ended,
        "count": sa.select(sa.func.count()).select_from(replies),
        "walk": after.order_by(replies.c.request_id).limit(sa.bindparam("size")),
    }
    if is_sqlite:
        every["insert"] = sqlite.insert(replies).on_conflict_do_nothing()
        every["insert failures"] = sqlite.insert(failures).on_conflict_do_nothing()
    compiled = {name: one.compile(dialect=words.dialect) for name, one in every.items()}
    return {name: Statement(str(one), one.positiontup, one.params) for name, one in compiled.items()}


def _inserted(table: sa.Table) -> Any:
    """Return the insert of rows given as one list per column; the first of each id is kept."""
    from sqlalchemy.dialects import postgresql

    # Unlimited text: a cast to a shorter type would truncate it.
    kinds = [sa.Text() if isinstance(column.type, sa.String) else column.type for column in table.c]
    names = tuple(table.c.keys())
    lists = [_array(f"every_{name}", kind) for name, kind in zip(names, kinds, strict=True)]
    given = sa.func.unnest(*lists).table_valued(*names).render_derived()
    return postgresql.insert(table).from_select(names, sa.select(given)).on_conflict_do_nothing()


def _claim(words: _Words, expiry: sa.ColumnElement[float]) -> Any:
    # Without a condition, SQLite would parse ON CONFLICT as part of a join.
    wanted = sa.select(words.each("ids").c.value, sa.bindparam("holder", type_=sa.Text()), expiry).where(sa.true())
    fresh = words.insert(claims).from_select(claims.c.keys(), wanted)
    free = sa.or_(
        claims.c.owner == fresh.excluded.owner,
        claims.c.expires_at < words.now,
        claims.c.expires_at > words.now + LONGEST_S,
        words.among(claims.c.owner, "gone"),
    )
    taken = {"owner": fresh.excluded.owner, "expires_at": fresh.excluded.expires_at}
    held = fresh.on_conflict_do_update(index_elements=["request_id"], set_=taken, where=free)
    return held.returning(claims.c.request_id)


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


def failure_row(failure: FailedCall, run: str, way: str) -> Row:
    """Return a failure as a row of the cache's failures table."""
    return (failure.request_id, run, way, failure.kind, _storable(failure.message), time.time())


def row_of(entry: Remembered) -> Row:
    """Return an entry as a row of `COLUMNS`."""
    reply = entry.reply
    extra = _storable(canonical(reply.extra)) if reply.extra else None
    content = (
        _storable(reply.text),
        _storable(reply.reasoning),
        reply.finish_reason,
        reply.tokens_in,
        reply.tokens_out,
        float(entry.latency_s),
    )
    checksum = _checksum(entry.request_id, content, extra)
    return (entry.request_id, *content, entry.model, time.time(), checksum, extra)


def entry_of(row: Row) -> Remembered | None:
    """Return a row of `COLUMNS` as an entry, or None if its content does not match its checksum."""
    request_id, text, reasoning, finish_reason, tokens_in, tokens_out, latency_s, model, _, checksum, extra = row
    content = (text, reasoning, finish_reason, tokens_in, tokens_out, latency_s)
    try:
        if _checksum(request_id, content, extra) != checksum:
            return None
    except (TypeError, ValueError):
        # A damaged page may yield bytes instead of text.
        return None
    beside = json.loads(extra) if extra else {}
    reply = Reply(text, reasoning, finish_reason, tokens_in, tokens_out, beside)
    return Remembered(request_id, reply, latency_s, model)


def _storable(text: str) -> str:
    """Return text that every database and UTF-8 can hold: no NUL, no lone surrogate."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _checksum(request_id: str, content: Sequence[Any], extra: str | None) -> str:
    """Return the checksum of a row; without an extra it equals that of earlier versions."""
    whole = (request_id, *content) if extra is None else (request_id, *content, extra)
    return hashlib.sha256(canonical(whole).encode()).hexdigest()[:16]
