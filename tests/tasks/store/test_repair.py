"""A damaged reply cache is mended when it is opened: what neither it nor the store's tables hold is asked again."""

import json
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from basic_control.data.errors import InputError
from basic_control.data.records import Reply
from basic_control.data.tables import RESPONSES
from basic_control.tasks.runtime import logs
from basic_control.tasks.store import databases
from basic_control.tasks.store import reply_cache as repair
from basic_control.tasks.store.databases import find_log
from basic_control.tasks.store.reply_cache import FileLock, Remembered, ReplyCache, name_owner
from basic_control.tasks.store.reply_tables import read_row
from basic_control.tasks.store.tables import Store
from tests.conftest import Run
from tests.helpers.runs import TWO, at, results
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


def tables_of(file: Path, ids: list[str]) -> Store:
    """The store beside a cache, with these replies in a responses table."""
    store = Store(str(file.parent))
    rows = [
        {
            "request_id": i,
            "text": ENTRIES[i].reply.text,
            "reasoning": "",
            "finish_reason": "stop",
            "tokens_in": ENTRIES[i].reply.tokens_in,
            "tokens_out": 2,
            "latency_s": ENTRIES[i].latency_s,
            "cached": False,
        }
        for i in ids
    ]
    store.write(RESPONSES, RESPONSES.frame(rows))
    return store


def replies_of(known: dict[str, Remembered]) -> dict[str, tuple[Reply, float]]:
    """What a table of the store keeps of replies."""
    return {i: (entry.reply, entry.latency_s) for i, entry in known.items()}


def opened(file: Path, store: Store | None = None) -> ReplyCache:
    return ReplyCache(f"sqlite:///{file}", store=store)


def kept(file: Path) -> list[Path]:
    """Return the damaged files that repairs have kept, without their logs."""
    return [path for path in file.parent.glob(f"{file.name}.damaged-*") if not path.name.endswith(("-wal", "-shm"))]


def hit(file: Path, start: int, content: bytes) -> None:
    with file.open("rb+") as opened_file:
        opened_file.seek(start)
        opened_file.write(content)


def wreck_header(file: Path, size: int = 100) -> None:
    """Wreck the first bytes, also where the log holds them again."""
    hit(file, 0, b"\xff" * size)
    log = find_log(file)
    content = log.read_bytes()
    for start in range(32, len(content), 24 + PAGE):
        if content[start : start + 4] == b"\0\0\0\1":
            hit(log, start + 24, b"\xff" * size)


def wreck_first_page(file: Path) -> None:
    wreck_header(file, PAGE)


def page_of(file: Path, kind: str) -> int:
    """Bring the log into the file, and return where the table or its index begins."""
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        found = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE type = ? AND tbl_name = 'replies'", [kind]
        )
        return (int(found.fetchone()[0]) - 1) * PAGE


def wreck_index(file: Path) -> None:
    hit(file, page_of(file, "index"), b"\xff" * PAGE)


def cut(file: Path) -> None:
    with file.open("rb+") as opened_file:
        opened_file.truncate(file.stat().st_size * 2 // 3)


def fill_with_zeros(file: Path) -> None:
    for path in (file, find_log(file)):
        path.write_bytes(bytes(path.stat().st_size))


def test_every_row_of_a_sound_file_and_its_log_is_read(file: Path) -> None:
    found = {row[0]: read_row(row) for row in repair.read_rows(file)}
    assert found == ENTRIES
    assert find_log(file).stat().st_size > 100 * 1000, "reading changes nothing"


@pytest.mark.parametrize("frame", [0, 3, 20])
def test_what_a_damaged_log_has_lost_is_asked_again(file: Path, frame: int) -> None:
    """SQLite takes a damaged log for a shorter one: nothing wrong is read, and what the file held is there."""
    hit(find_log(file), 32 + frame * (24 + PAGE) + 1000, b"\xaa" * 10)
    cache = opened(file, tables_of(file, IDS))
    known = cache.lookup(IDS)
    assert known == {i: ENTRIES[i] for i in IDS[: len(known)]}
    assert 200 <= len(known) < 300
    cache.close()


@pytest.mark.parametrize("wreck", [wreck_header, wreck_first_page, cut, fill_with_zeros])
def test_what_a_file_has_lost_comes_back_from_the_stores_tables(file: Path, wreck: Callable[[Path], None]) -> None:
    store = tables_of(file, IDS[:250])
    store.write(RESPONSES, RESPONSES.frame([{"request_id": "f", "error": "refused", "error_kind": "invalid"}]))
    store.write(RESPONSES, RESPONSES.frame([{"request_id": "g", "text": "a data set's own", "cached": True}]))
    wreck(file)
    cache = opened(file, store)
    known = cache.lookup(IDS)
    assert set(IDS[:250]) <= set(known)
    assert replies_of(known) == replies_of({i: ENTRIES[i] for i in known})
    assert cache.lookup(["f", "g"]) == {}, "neither a failure nor what was never asked becomes a reply"
    cache.close()


@pytest.mark.parametrize("wreck", [wreck_header, wreck_first_page, fill_with_zeros])
def test_what_is_in_neither_is_asked_again(file: Path, wreck: Callable[[Path], None]) -> None:
    wreck(file)
    cache = opened(file)
    assert cache.lookup(IDS) == {}
    cache.remember(list(ENTRIES.values()))
    assert cache.lookup(IDS) == ENTRIES
    cache.close()


def test_a_wrecked_index_costs_no_reply(file: Path) -> None:
    wreck_index(file)
    cache = opened(file)
    assert cache.lookup(IDS) == ENTRIES
    cache.close()


def test_text_that_is_no_utf8_fails_its_checksum_and_nothing_else(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute(
            "UPDATE replies SET text = CAST(x'ff61' AS TEXT), model = x'00' WHERE request_id = ?", IDS[3:4]
        )
    cache = opened(file, tables_of(file, IDS[:10]))
    assert replies_of(cache.lookup(IDS)) == replies_of(ENTRIES)
    cache.close()


def test_damage_in_a_file_too_large_to_check_at_once_is_told_when_met_and_mended_by_the_next_run(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for page in range(8, file.stat().st_size // PAGE, 3):
        hit(file, page * PAGE, b"\xaa" * PAGE)
    monkeypatch.setattr("basic_control.tasks.store.reply_cache.CHECKED", 0)
    store = tables_of(file, IDS)
    cache = opened(file, store)
    with pytest.raises(InputError, match=r"is damaged .*Run again: what can be read is kept"):
        cache.lookup(IDS)
    cache.close()
    assert kept(file) == []
    repaired = opened(file, store)
    assert replies_of(repaired.lookup(IDS)) == replies_of(ENTRIES)
    repaired.close()
    assert len(kept(file)) == 1
    assert not databases.find_mark(file).exists()


@pytest.mark.parametrize("emptied", [False, True])
def test_an_emptied_or_deleted_file_is_filled_from_the_stores_tables(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, emptied: bool
) -> None:
    file, store = tmp_path / "replies.sqlite", Store(str(tmp_path))
    row = {"request_id": "a", "text": "four", "reasoning": "", "finish_reason": "", "latency_s": 1.0}
    store.write(RESPONSES, RESPONSES.frame([{**row, "cached": False}]))
    if emptied:
        file.touch()
    cache = opened(file, store)
    assert cache.lookup(["a"])["a"].reply.text == "four"
    cache.close()
    assert "0 replies were saved from the file and 1 more from the store's tables" in caplog.text


def test_a_log_without_its_file_is_moved_aside(file: Path) -> None:
    file.unlink()
    cache = opened(file, tables_of(file, IDS[:250]))
    assert replies_of(cache.lookup(IDS)) == replies_of({i: ENTRIES[i] for i in IDS[:250]})
    cache.close()
    assert [*file.parent.glob("replies.sqlite.damaged-*-wal")]


def test_a_new_cache_says_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    opened(tmp_path / "replies.sqlite", Store(str(tmp_path))).close()
    assert not caplog.text


def test_the_rows_before_the_damage_are_saved_from_the_file(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    page_of(file, "table")
    with sqlite3.connect(file) as connection:
        leaves = connection.execute("SELECT pageno FROM dbstat WHERE name = 'replies' AND pagetype = 'leaf'")
        pages = sorted(page for (page,) in leaves)
    hit(file, (pages[len(pages) // 2] - 1) * PAGE, b"\xff" * PAGE)
    cache = opened(file)
    known = cache.lookup(IDS)
    cache.close()
    assert known == {i: ENTRIES[i] for i in IDS[: len(known)]}
    assert 100 < len(known) < 300
    assert f"{len(known)} replies were saved from the file" in caplog.text


def test_damage_that_comes_while_a_run_has_the_cache_open_is_mended_by_the_next(file: Path) -> None:
    cache = opened(file)
    assert len(cache.lookup(IDS[:5])) == 5
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    pages = file.stat().st_size // PAGE
    for page in range(1, pages, 3):
        hit(file, page * PAGE, b"\xaa" * PAGE)
    cache.engine.dispose()  # so that SQLite's page cache does not hide the damage
    with pytest.raises(InputError, match="Run again"):
        cache.lookup(IDS)
    cache.close()
    cache = opened(file)
    left = cache.lookup(IDS)
    assert all(left[i] == ENTRIES[i] for i in left)
    cache.remember(list(ENTRIES.values()))
    assert cache.lookup(IDS) == ENTRIES
    assert cache.claim(IDS[:1], holder=name_owner(), lease_s=1) == {IDS[0]}
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
    assert "2 replies failed their checksums; 1 were restored" in caplog.text
    cache.close()


def test_a_file_that_another_process_uses_is_not_replaced(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("basic_control.tasks.store.reply_cache.WAIT_S", 0.1)
    other = FileLock(file)
    wreck_index(file)
    damaged = file.read_bytes()
    with pytest.raises(InputError, match="another process uses it"):
        opened(file)
    assert file.read_bytes() == damaged
    other.close()
    cache = opened(file)
    assert cache.count() == 300
    cache.close()


def test_two_who_find_the_damage_at_once_mend_it_once(file: Path) -> None:
    wreck_index(file)
    script = (
        "import sys\nfrom tasks.store.reply_cache import ReplyCache\n"
        "print(ReplyCache('sqlite:///' + sys.argv[1]).count())"
    )
    command = [sys.executable, "-c", script, str(file)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0].strip() for process in both] == ["300", "300"]
    assert len(kept(file)) == 1


def test_who_waits_for_a_repair_goes_on_as_soon_as_it_is_done(file: Path) -> None:
    wreck_index(file)
    script = (
        "import sys\nfrom tasks.store.reply_cache import ReplyCache\n"
        "cache = ReplyCache('sqlite:///' + sys.argv[1])\nprint(cache.count(), flush=True)\nsys.stdin.readline()"
    )
    command = [sys.executable, "-c", script, str(file)]
    both = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:  # each says its number while the other still has the file open
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "300"
    for process in both:
        process.communicate("\n")
    assert len(kept(file)) == 1


@pytest.mark.parametrize("step", ["mending", "moved log", "moved file"])
def test_a_repair_that_was_killed_is_brought_to_its_end(file: Path, tmp_path: Path, step: str) -> None:
    mended = tmp_path / "mended.sqlite"
    shutil.copy(file, mended)
    shutil.copy(f"{file}-wal", f"{mended}-wal")
    opened(mended).close()
    wreck_header(file)
    if step == "mending":
        file.with_name("replies.sqlite.mending").mkdir()
        (file.with_name("replies.sqlite.mending") / file.name).write_bytes(b"half of a file")
    else:
        shutil.copy(mended, file.with_name("replies.sqlite.mended"))
        file.with_name("replies.sqlite-wal").rename(file.with_name("replies.sqlite.damaged-1-wal"))
        if step == "moved file":
            file.rename(file.with_name("replies.sqlite.damaged-1"))
    cache = opened(file, tables_of(file, IDS))
    assert replies_of(cache.lookup(IDS)) == replies_of(ENTRIES)
    cache.close()
    assert not [*file.parent.glob("replies.sqlite.mend*")]


def test_who_replaces_a_file_is_its_only_user(tmp_path: Path) -> None:
    lock, other = FileLock(tmp_path / "x"), FileLock(tmp_path / "x")
    assert not lock.take()
    other.close()
    assert lock.take()
    lock.close()


def test_a_repair_is_one_json_line_where_json_is_asked_for(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(logs.VARIABLE, "json")
    logs.begin()
    try:
        wreck_index(file)
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
        assert "40 calls, 0 failed" in done.stdout, done.stderr
        content = cache.read_bytes()
        cache.write_bytes(bytes(PAGE) + random.Random(3).randbytes(len(content) // 2) + content[-2 * PAGE :])
        again = run(*arguments)
    assert "No model call was made" in again.stdout, again.stderr
    assert "was made anew" in again.stderr
    assert "the damaged file is kept" in again.stderr
    assert len(server.requests) == 40
    first, second = (results(folder) for folder in sorted((tmp_path / "runs").iterdir()))
    assert first == second
