"""A damaged reply cache is mended in passing: every sound row is saved, the store's tables bring back the rest."""

import json
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from artifacts import repair, sqlite_pages
from artifacts.gate import Gate, InUse
from artifacts.replies import Remembered, ReplyCache, entry_of, owner
from artifacts.store import Store
from data.errors import InputError
from data.records import Reply
from data.tables import RESPONSES
from tasks import logs
from tests.conftest import Run
from tests.flows.test_full_eval import TWO, at, results
from tests.servers.running import serve_openai

PAGE = 4096
IDS = [f"{n:064x}" for n in range(300)]


def text_of(number: int) -> str:
    """A reply of its own, some of them far longer than a page, some not in ASCII."""
    return f"reply {number}: " + ("Ж" if number % 7 == 0 else "x") * (number * 37 % 9000)


ENTRIES = {i: Remembered(i, Reply(text_of(n), "", "stop", n, 2), n / 4, "m") for n, i in enumerate(IDS)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A cache of 300 replies, a part of them still in the write-ahead log, as a killed process leaves it."""
    made, copy = tmp_path / "made", tmp_path / "store"
    cache = ReplyCache(f"sqlite:///{made}/replies.sqlite")
    cache.remember([ENTRIES[i] for i in IDS[:200]])
    with sqlite3.connect(made / "replies.sqlite") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    cache.remember([ENTRIES[i] for i in IDS[200:]])
    shutil.copytree(made, copy)
    cache.close()
    assert (copy / "replies.sqlite-wal").stat().st_size > 100 * 1000
    return copy / "replies.sqlite"


def opened(file: Path, tables: Store | None = None) -> ReplyCache:
    return ReplyCache(f"sqlite:///{file}", tables=tables)


def hit(file: Path, start: int, content: bytes) -> None:
    with file.open("rb+") as opened_file:
        opened_file.seek(start)
        opened_file.write(content)


def wreck_header(file: Path, size: int = 100) -> None:
    """Wreck the first bytes, also where the log holds them anew."""
    hit(file, 0, b"\xff" * size)
    log = sqlite_pages.log_of(file)
    content = log.read_bytes()
    for start in range(32, len(content), 24 + PAGE):
        if content[start : start + 4] == b"\0\0\0\1":
            hit(log, start + 24, b"\xff" * size)


def wreck_first_page(file: Path) -> None:
    wreck_header(file, PAGE)


def cut(file: Path) -> None:
    with file.open("rb+") as opened_file:
        opened_file.truncate(file.stat().st_size * 2 // 3)


def fill_with_zeros(file: Path) -> None:
    for path in (file, sqlite_pages.log_of(file)):
        path.write_bytes(bytes(path.stat().st_size))


def test_every_row_is_read_from_the_pages_of_a_sound_file_and_its_log(file: Path) -> None:
    found = {row[0]: entry_of(row) for row in repair.rows_in(file)}
    assert found == ENTRIES


@pytest.mark.parametrize("frame", [0, 3, 20])
def test_a_damaged_log_is_not_taken_for_a_shorter_one(file: Path, frame: int) -> None:
    log = sqlite_pages.log_of(file)
    assert not sqlite_pages.log_is_cut(file)
    hit(log, 32 + frame * (24 + PAGE) + 1000, b"\xaa" * 10)
    assert sqlite_pages.log_is_cut(file)
    cache = opened(file)
    known = cache.lookup(IDS)
    assert all(known[i] == ENTRIES[i] for i in known)
    assert len(known) >= 295, "only rows of the one page may be lost"
    cache.close()


def test_a_log_that_ends_within_a_transaction_is_sound(file: Path) -> None:
    log = sqlite_pages.log_of(file)
    with log.open("rb+") as opened_file:
        opened_file.truncate(log.stat().st_size - 3 * (24 + PAGE) - 100)
    assert not sqlite_pages.log_is_cut(file)


@pytest.mark.parametrize("page_size", [512, 1024, 8192, 65536])
def test_rows_are_read_at_every_page_size(tmp_path: Path, page_size: int) -> None:
    with sqlite3.connect(tmp_path / "x.sqlite") as connection:
        connection.execute(f"PRAGMA page_size = {page_size}")
        connection.execute("CREATE TABLE t (a TEXT, b INTEGER, c REAL, d BLOB)")
        kept = [("x" * n * 100, n**7 - n * 10, n / 3, None) for n in range(200)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", kept)
        connection.commit()
        wanted = set(connection.execute("SELECT a, b, c, d FROM t"))
    read = {readings[0] for readings in sqlite_pages.rows(tmp_path / "x.sqlite")}
    assert wanted <= read, "a whole number in a REAL column reads as an integer, which is equal to it"


@pytest.mark.parametrize("wreck", [wreck_header, wreck_first_page])
def test_a_wrecked_header_or_schema_costs_no_reply(file: Path, wreck: Callable[[Path], None]) -> None:
    wreck(file)
    cache = opened(file)
    assert cache.lookup(IDS) == ENTRIES
    cache.close()


@pytest.mark.parametrize("wreck", [cut, fill_with_zeros])
def test_what_a_file_has_lost_comes_back_from_the_stores_tables(file: Path, wreck: Callable[[Path], None]) -> None:
    store = Store(str(file.parent))
    rows = [
        {
            "request_id": e.request_id,
            "text": e.reply.text,
            "reasoning": "",
            "finish_reason": "stop",
            "tokens_in": e.reply.tokens_in,
            "tokens_out": 2,
            "latency_s": e.latency_s,
            "cached": False,
        }
        for e in ENTRIES.values()
    ]
    store.write(RESPONSES, RESPONSES.frame(rows[:250]))
    store.write(RESPONSES, RESPONSES.frame([{"request_id": "f", "error": "refused", "error_kind": "invalid"}]))
    store.write(RESPONSES, RESPONSES.frame([{"request_id": "g", "text": "a data set's own", "cached": True}]))
    wreck(file)
    cache = opened(file, store)
    known = cache.lookup(IDS)
    assert set(IDS[:250]) <= set(known)
    assert {i: (e.reply, e.latency_s) for i, e in known.items()} == {
        i: (ENTRIES[i].reply, ENTRIES[i].latency_s) for i in known
    }
    assert cache.lookup(["f", "g"]) == {}, "neither a failure nor what was never asked becomes a reply"
    cache.close()


def test_an_emptied_file_is_filled_from_the_stores_tables(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    row = {"request_id": "a", "text": "four", "reasoning": "", "finish_reason": "", "latency_s": 1.0}
    store.write(RESPONSES, RESPONSES.frame([{**row, "cached": False}]))
    (tmp_path / "replies.sqlite").touch()
    cache = opened(tmp_path / "replies.sqlite", store)
    assert cache.lookup(["a"])["a"].reply.text == "four"
    cache.close()


def test_any_page_may_be_hit_and_all_other_rows_are_saved(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Twelve files, each with a page of noise at a place of its own: no row is lost that did not lie there."""
    file.with_name("replies.sqlite-wal").unlink()
    sound = file.read_bytes()
    in_file = {row[0] for row in repair.rows_in(file)}
    assert len(in_file) == 200
    draw = random.Random(5)
    for start in draw.sample(range(0, len(sound), PAGE), 12):
        file.write_bytes(sound)
        hit(file, start, draw.randbytes(PAGE))
        cache = opened(file)
        known = cache.lookup(IDS)
        cache.close()
        assert all(known[i] == ENTRIES[i] for i in known)
        # The longest reply takes four pages; a page of its table holds no more than a few short ones.
        assert len(in_file - set(known)) <= 20, f"page {start // PAGE}"
    assert "was damaged" in caplog.text
    assert "replies were saved from the file" in caplog.text


def test_damage_that_comes_while_a_run_has_the_cache_open_is_mended_too(file: Path) -> None:
    cache = opened(file)
    assert len(cache.lookup(IDS[:5])) == 5
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    pages = file.stat().st_size // PAGE
    for page in range(1, pages, 3):
        hit(file, page * PAGE, b"\xaa" * PAGE)
    cache._database.close()  # type: ignore[union-attr] # so that SQLite's page cache does not hide the damage
    left = cache.lookup(IDS)
    assert all(left[i] == ENTRIES[i] for i in left)
    cache.remember(list(ENTRIES.values()))
    assert cache.lookup(IDS) == ENTRIES
    assert cache.claim(IDS[:1], holder=owner(), lease_s=1) == {IDS[0]}
    cache.close()


def test_a_reply_that_fails_its_checksum_comes_back_from_the_stores_tables(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(str(file.parent))
    kept = ENTRIES[IDS[3]]
    row = {"request_id": IDS[3], "text": kept.reply.text, "finish_reason": "stop", "tokens_in": 3, "tokens_out": 2}
    store.write(RESPONSES, RESPONSES.frame([{**row, "reasoning": "", "latency_s": 0.75, "cached": False}]))
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE replies SET text = 'forged' WHERE request_id IN (?, ?)", (IDS[3], IDS[4]))
    cache = opened(file, store)
    assert set(cache.lookup(IDS[:6])) == set(IDS[:6]) - {IDS[4]}
    assert cache.lookup([IDS[3]])[IDS[3]].reply == kept.reply
    assert "2 replies failed their checksums; 1 were brought back" in caplog.text
    cache.close()


def test_a_file_that_another_process_uses_is_not_replaced(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("artifacts.replies.WAIT_S", 0.1)
    other = Gate(file)
    wreck_header(file)
    damaged = file.read_bytes()
    with pytest.raises(InputError, match="another process uses it"):
        opened(file)
    assert file.read_bytes() == damaged
    other.close()
    cache = opened(file)
    assert cache.count() == 300
    cache.close()


def test_two_who_find_the_damage_at_once_mend_it_once(file: Path) -> None:
    wreck_header(file)
    script = (
        "import sys\nfrom artifacts.replies import ReplyCache\n"
        "print(ReplyCache('sqlite:///' + sys.argv[1]).count())"
    )
    command = [sys.executable, "-c", script, str(file)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0].strip() for process in both] == ["300", "300"]
    assert len(list(file.parent.glob("replies.sqlite.damaged-????????_??????"))) == 1


@pytest.mark.parametrize("step", ["mending", "moved log", "moved file"])
def test_a_repair_that_was_killed_is_brought_to_its_end(file: Path, tmp_path: Path, step: str) -> None:
    mended = tmp_path / "mended.sqlite"
    shutil.copy(file, mended)
    shutil.copy(f"{file}-wal", f"{mended}-wal")
    opened(mended).close()
    wreck_header(file)
    if step == "mending":
        file.with_name("replies.sqlite.mending").write_bytes(b"half of a file")
    else:
        shutil.copy(mended, file.with_name("replies.sqlite.mended"))
        file.with_name("replies.sqlite-wal").rename(file.with_name("replies.sqlite.damaged-1-wal"))
        if step == "moved file":
            file.rename(file.with_name("replies.sqlite.damaged-1"))
    cache = opened(file)
    assert cache.lookup(IDS) == ENTRIES
    cache.close()
    assert not repair.pending(file)
    assert not file.with_name("replies.sqlite.mending").exists()


def test_who_replaces_a_file_waits_for_who_is_inside(tmp_path: Path) -> None:
    gate = Gate(tmp_path / "x")
    order: list[str] = []
    entered = threading.Event()

    def replace() -> None:
        entered.wait()
        with gate.alone(1.0):
            order.append("alone")

    thread = threading.Thread(target=replace)
    thread.start()
    with gate.inside(), gate.inside():
        entered.set()
        order.append("inside")
    thread.join()
    assert order == ["inside", "alone"]
    other = Gate(tmp_path / "x")
    with pytest.raises(InUse), gate.alone(0.0):
        pass
    other.close()
    with gate.alone(0.0):
        pass
    gate.close()


def test_a_repair_is_one_json_line_where_json_is_asked_for(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(logs.VARIABLE, "json")
    logs.begin()
    try:
        wreck_header(file)
        opened(file).close()
        lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    finally:
        monkeypatch.delenv(logs.VARIABLE)
        logs.begin()
    assert [(line["level"], line["event"]) for line in lines] == [("warning", "message")]
    assert "300 replies were saved" in lines[0]["message"]


@pytest.mark.slow
def test_a_run_whose_cache_is_damaged_says_so_and_asks_nothing_again(run: Run, tmp_path: Path) -> None:
    cache = tmp_path / "store" / "replies.sqlite"
    with serve_openai("ANSWER: 4") as server:
        sets = (at(server), TWO, "suites=[basic_control]", "basic_control.n_items=20")
        arguments = [part for one in sets for part in ("--set", one)]
        done = run(*arguments)
        assert "40 asked now, 0 failed" in done.stdout, done.stderr
        content = cache.read_bytes()
        cache.write_bytes(bytes(PAGE) + random.Random(3).randbytes(len(content) // 2) + content[-2 * PAGE :])
        again = run(*arguments)
    assert "No model call was made" in again.stdout, again.stderr
    assert "was damaged" in again.stderr
    assert "the damaged file is kept" in again.stderr
    assert len(server.requests) == 40
    first, second = (results(folder) for folder in sorted((tmp_path / "runs").iterdir()))
    assert first == second


def test_pages_that_lie_about_themselves_end_in_bounded_time(tmp_path: Path) -> None:
    """Leaves with counts, lengths and overflow chains of noise: nothing is read outside the file, nothing loops."""
    draw = random.Random(1)
    pages = [b"\x0d" + draw.randbytes(2) + b"\x01\xff" + draw.randbytes(PAGE - 5) for _ in range(60)]
    (tmp_path / "x.sqlite").write_bytes(b"".join(pages))
    assert list(repair.rows_in(tmp_path / "x.sqlite")) == []
