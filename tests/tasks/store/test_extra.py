"""What an application returned beside its text is kept with it, in caches and in tables."""

import hashlib
import json
import sqlite3
from itertools import chain
from pathlib import Path

import polars as pl
import sqlalchemy as sa

from basic_control.data.records import Reply
from basic_control.data.tables import RESPONSES
from basic_control.tasks.store import reply_cache as repair
from basic_control.tasks.store.reply_cache import Remembered, ReplyCache
from basic_control.tasks.store.tables import Store

EXTRA = {"retrieved_contexts": ["Paris is the capital.", "Столица: Париж"], "citations": [{"url": "u", "page": 3}]}
WITH = Remembered("a", Reply("Paris", "", "stop", 5, 1, EXTRA), 0.25, "m")
PLAIN = Remembered("b", Reply("four", "two and two", "stop", 5, 1), 0.25, "m")


def test_what_came_beside_the_text_comes_back(cache: ReplyCache) -> None:
    cache.remember([WITH, PLAIN])
    assert cache.lookup(["a", "b"]) == {"a": WITH, "b": PLAIN}


def test_a_changed_extra_is_asked_anew(cache: ReplyCache) -> None:
    cache.remember([WITH, PLAIN])
    with sa.create_engine(cache.url).begin() as connection:
        connection.exec_driver_sql("UPDATE replies SET extra = '{}'")
    assert not cache.lookup(["a", "b"])


def test_a_damaged_cache_is_saved_with_and_without_extras(tmp_path: Path) -> None:
    file = tmp_path / "replies.sqlite"
    cache = ReplyCache(f"sqlite:///{file}")
    cache.remember([WITH, PLAIN])
    cache.close()
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = connection.execute("SELECT rootpage FROM sqlite_schema WHERE type = 'index'").fetchone()[0]
    with file.open("rb+") as page:
        page.seek((root - 1) * 4096)
        page.write(bytes(4096))
    mended = ReplyCache(f"sqlite:///{file}")
    assert mended.lookup(["a", "b"]) == {"a": WITH, "b": PLAIN}
    assert [*file.parent.glob(f"{file.name}.damaged-*")]


def responses(extra: str | None) -> pl.DataFrame:
    row = {"request_id": "a", "text": "Paris", "finish_reason": "stop", "tokens_in": 5, "tokens_out": 1}
    return RESPONSES.frame([{**row, "reasoning": "", "latency_s": 0.25, "cached": False, "extra": extra}])


def test_a_table_without_extras_is_written_as_before_and_brings_replies_back(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    digest = store.write(RESPONSES, responses(None)).digest
    before = tmp_path / "before"
    responses(None).drop("extra", "stop_tokens").write_parquet(before)
    assert digest == hashlib.sha256(before.read_bytes()).hexdigest()
    found = store.read_if_kind(digest, RESPONSES)
    assert found is not None
    assert found.equals(responses(None))
    assert [entry.reply for entry in chain(*repair.read_responses(store))] == [Reply("Paris", "", "stop", 5, 1)]


def test_the_tables_bring_extras_back(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    store.write(RESPONSES, responses(json.dumps(EXTRA)))
    assert [entry.reply.extra for entry in chain(*repair.read_responses(store, {"a"}))] == [EXTRA]


def test_later_stages_see_an_extra_and_no_change_where_there_is_none(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    plain = store.write(RESPONSES, responses(None))
    assert plain.content != store.write(RESPONSES, responses(json.dumps(EXTRA))).content
    before = responses(None).drop("extra", "stop_tokens").with_columns(cached=pl.lit(None, pl.Boolean()))
    before.write_parquet(tmp_path / "before", compression="zstd", statistics=True)
    assert plain.content == hashlib.sha256((tmp_path / "before").read_bytes()).hexdigest()
