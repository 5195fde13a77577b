"""What an application returned beside its text is kept with it, in new caches and tables and in those of before."""

import hashlib
import json
import sqlite3
import subprocess
import sys
from itertools import chain
from pathlib import Path

import polars as pl
import pytest
import sqlalchemy as sa

from basic_control.data.records import Reply
from basic_control.data.tables import RESPONSES
from basic_control.tasks.store import repair
from basic_control.tasks.store.reply_cache import Remembered, ReplyCache
from basic_control.tasks.store.reply_tables import read_row
from basic_control.tasks.store.tables import Store

EXTRA = {"retrieved_contexts": ["Paris is the capital.", "Столица: Париж"], "citations": [{"url": "u", "page": 3}]}
WITH = Remembered("a", Reply("Paris", "", "stop", 5, 1, EXTRA), 0.25, "m")
PLAIN = Remembered("b", Reply("four", "two and two", "stop", 5, 1), 0.25, "m")
EARLIER = (
    "CREATE TABLE replies (request_id VARCHAR(64) NOT NULL PRIMARY KEY, text TEXT NOT NULL, "
    "reasoning TEXT NOT NULL, finish_reason VARCHAR NOT NULL, tokens_in BIGINT, tokens_out BIGINT, "
    "latency_s {real} NOT NULL, "
    "model VARCHAR NOT NULL, answered_at {real} NOT NULL, checksum VARCHAR(16) NOT NULL)"
)
CHECKSUM = hashlib.sha256(b'["b","four","two and two","stop",5,1,0.25]').hexdigest()[:16]
INSERT = f"INSERT INTO replies VALUES ('b', 'four', 'two and two', 'stop', 5, 1, 0.25, 'm', 1.0, '{CHECKSUM}')"  # noqa: S608 - our own words


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """A cache as the version before wrote it, with one reply."""
    file = tmp_path / "replies.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute(EARLIER.format(real="FLOAT"))
        connection.execute(INSERT)
    connection.close()
    return file


def test_what_came_beside_the_text_comes_back(cache: ReplyCache) -> None:
    cache.remember([WITH, PLAIN])
    assert cache.lookup(["a", "b"]) == {"a": WITH, "b": PLAIN}


def test_a_changed_extra_is_asked_anew(cache: ReplyCache) -> None:
    cache.remember([WITH, PLAIN])
    with sa.create_engine(cache.url).begin() as connection:
        connection.exec_driver_sql("UPDATE replies SET extra = '{}'")
    assert not cache.lookup(["a", "b"])


def test_a_cache_of_before_serves_its_replies_and_takes_new_ones(earlier: Path) -> None:
    cache = ReplyCache(f"sqlite:///{earlier}")
    assert cache.lookup(["b"]) == {"b": PLAIN}
    cache.remember([WITH])
    cache.close()
    assert ReplyCache(f"sqlite:///{earlier}").lookup(["a", "b"]) == {"a": WITH, "b": PLAIN}


def test_a_postgres_cache_of_before_does_so_too(empty: object) -> None:
    url = str(empty.url)  # pyrefly: ignore[missing-attribute] # a fixture of this folder
    with sa.create_engine(url).begin() as connection:
        connection.exec_driver_sql(EARLIER.format(real="double precision"))
        connection.exec_driver_sql(INSERT)
    cache = ReplyCache(url)
    cache.remember([WITH])
    assert cache.lookup(["a", "b"]) == {"a": WITH, "b": PLAIN}
    cache.close()


@pytest.mark.slow
def test_several_processes_may_open_a_cache_of_before_at_once(earlier: Path) -> None:
    script = (
        "import sys\nfrom tasks.store.reply_cache import ReplyCache\nsys.stdin.readline()\nReplyCache(sys.argv[1])"
    )
    command = [sys.executable, "-c", script, f"sqlite:///{earlier}"]
    openers = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(4)]
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.close()
    assert [opener.wait() for opener in openers] == [0] * 4
    assert ReplyCache(f"sqlite:///{earlier}").lookup(["b"]) == {"b": PLAIN}


def test_a_damaged_cache_is_saved_with_rows_of_before_and_extras(earlier: Path) -> None:
    cache = ReplyCache(f"sqlite:///{earlier}")
    cache.remember([WITH])
    cache.close()
    with sqlite3.connect(earlier) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = connection.execute("SELECT rootpage FROM sqlite_schema WHERE type = 'index'").fetchone()[0]
    with earlier.open("rb+") as file:
        file.seek((root - 1) * 4096)
        file.write(bytes(4096))
    mended = ReplyCache(f"sqlite:///{earlier}")
    assert mended.lookup(["a", "b"]) == {"a": WITH, "b": PLAIN}
    assert [*earlier.parent.glob(f"{earlier.name}.damaged-*")]


def test_a_row_of_before_is_read_from_a_file_that_cannot_be_brought_up_to_date(earlier: Path) -> None:
    assert [read_row(row) for row in repair.read_rows(earlier)] == [PLAIN]


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
