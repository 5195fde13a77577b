"""A reply cache on a real Postgres server: many writers and workers; nothing lost, doubled or asked twice."""

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from basic_control.config.settings import Model, StoreSettings
from basic_control.data.batches import Cell
from basic_control.data.errors import InputError
from basic_control.data.records import Reply
from basic_control.tasks.models.scheduler import BatchProgress
from basic_control.tasks.query import ask, watch
from basic_control.tasks.store import databases
from basic_control.tasks.store.reply_cache import Remembered, ReplyCache, name_owner
from basic_control.tasks.store.submissions import Submissions
from tests.conftest import TOP, Run, free_port
from tests.helpers.requests import NUMBERS, model_at, prompts_seen, requests_of
from tests.helpers.runs import TWO, at
from tests.helpers.told import Told, processes, said_by
from tests.servers.postgres import Postgres
from tests.servers.running import serve_openai

WRITER = """
import sys, threading
from basic_control.tasks.store.reply_cache import Remembered, ReplyCache
from basic_control.data.records import (Reply)
from basic_control.data.batches import (Cell)
url, first, writers, every, total = sys.argv[1], *map(int, sys.argv[2:])
failed = []
def write(writer):
    # Each writer has a share of its own and half of its neighbour's.
    share = total // every
    numbers = [n % total for n in range(writer * share, writer * share + share * 3 // 2)]
    try:
        cache = ReplyCache(url)
        for start in range(0, len(numbers), 250):
            cache.remember([
                Remembered(f"{n:064x}", Reply(f"reply {n} by {writer}", "", "stop", n, 1), n / 8, "m")
                for n in numbers[start : start + 250]
            ])
    except BaseException as error:
        failed.append(error)
        raise
    cache.close()
threads = [threading.Thread(target=write, args=(first + k,)) for k in range(writers)]
for thread in threads: thread.start()
for thread in threads: thread.join()
sys.exit(bool(failed))
"""


WORKER = """
import json, sys
from basic_control.tasks.store.reply_cache import ReplyCache
from basic_control.config.settings import Model
from basic_control.data.records import Call, Message
from basic_control.tasks.models.scheduler import ask_all, event_loop_thread
from basic_control.tasks.models import open_client
print("ready", flush=True)
for line in sys.stdin:
    base_url, url = line.split()
    told = {"name": "m", "provider": "openai", "base_url": base_url, "max_concurrency": 4}
    model = Model.model_validate(told)
    calls = [(f"{n:064x}", Call((Message("user", str(n)),))) for n in range(200)]
    cache = ReplyCache(url)
    async def work():
        return await ask_all(calls, model=model, client=open_client(model), cache=cache)
    _, tally = event_loop_thread().call(work())
    cache.close()
    print(json.dumps([tally.answered, tally.cached, tally.failed]), flush=True)
"""


def entry(number: int, text: str = "four") -> Remembered:
    return Remembered(f"{number:064x}", Reply(text, finish_reason="stop"), 0.5)


@pytest.mark.slow
def test_of_32_000_replies_by_64_writers_none_is_lost_and_none_is_doubled(empty: Postgres) -> None:
    """Four processes of sixteen connections each; half of all replies are written by two of them."""
    total, every = 32_000, 64
    commands = [
        [sys.executable, "-c", WRITER, empty.url, str(first), "16", str(every), str(total)]
        for first in range(0, every, 16)
    ]
    writers = [subprocess.Popen(command, cwd=TOP) for command in commands]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    with psycopg.connect(empty.dsn) as connection:
        rows = connection.execute("SELECT count(*), count(DISTINCT request_id) FROM replies").fetchone()
    share = total // every
    written = {n % total for w in range(every) for n in range(w * share, w * share + share * 3 // 2)}
    assert rows == (len(written), len(written))
    assert len(written) == total
    cache = ReplyCache(empty.url)
    known = cache.lookup([f"{n:064x}" for n in sorted(written)])
    cache.close()
    for number in written:
        found = known[f"{number:064x}"]
        assert (found.reply.tokens_in, found.latency_s) == (number, number / 8)
        writer = int(found.reply.text.removeprefix(f"reply {number} by "))
        assert (number - writer * share) % total < share * 3 // 2


def test_writers_of_the_same_replies_in_any_order_do_not_deadlock(empty: Postgres) -> None:
    """Also where the database isolates transactions most strictly, and refuses some in passing."""
    with psycopg.connect(empty.dsn, autocommit=True) as connection:
        connection.execute("ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'")
    entries = [entry(n) for n in range(300)]
    ids = [e.request_id for e in entries]

    def work(seed: int) -> set[str]:
        draw = random.Random(seed)
        cache = ReplyCache(empty.url)
        mine: set[str] = set()
        for _ in range(5):
            chosen = draw.sample(entries, 200)
            wanted = draw.sample(ids, 200)
            mine |= cache.claim(wanted, holder=f"{name_owner()}:{seed}", lease_s=60)
            cache.remember(chosen)
            cache.release(wanted, holder=f"{name_owner()}:{seed}")
        cache.close()
        return mine

    with ThreadPoolExecutor(8) as pool:
        granted = list(pool.map(work, range(8)))
    assert set().union(*granted) == set(ids)
    cache = ReplyCache(empty.url)
    cache.remember(entries)
    assert len(cache.lookup(ids)) == cache.count() == 300
    assert cache.claim(ids, holder="last:1", lease_s=1) == set(ids), "nobody's claim is left behind"
    cache.close()


def test_two_who_open_a_new_database_at_once_both_can(empty: Postgres) -> None:
    with ThreadPoolExecutor(8) as pool:
        caches = list(pool.map(lambda _: ReplyCache(empty.url), range(8)))
    assert [cache.count() for cache in caches] == [0] * 8
    for cache in caches:
        cache.close()


def test_leases_run_by_the_servers_clock(empty: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose clock is a day ahead takes no claim from another."""
    cache = ReplyCache(empty.url)
    assert cache.claim(["a"], holder="elsewhere:1:1:1", lease_s=60) == {"a"}
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 86_400)
    monkeypatch.setattr(time, "monotonic", lambda: real() + 86_400)
    assert cache.claim(["a"], holder=name_owner(), lease_s=60) == set()
    cache.close()


@pytest.mark.parametrize(
    "url", ["postgresql+psycopg://u:secret@127.0.0.1:{port}/x", "postgresql://u:secret@127.0.0.1:{port}/x"]
)
@pytest.mark.parametrize("use", [ReplyCache, Submissions])
def test_a_server_that_is_not_there_is_one_message_at_once(url: str, use: Callable[[str], object]) -> None:
    """Of a run, of a dry run's look, and of batches; a URL without a driver means ours."""
    with pytest.raises(InputError, match="Check that the server is running") as caught:
        use(url.format(port=free_port()))
    assert "secret" not in str(caught.value)


def test_what_another_session_holds_for_ever_is_not_waited_for(
    empty: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one whose machine was lost in the middle of a statement."""
    monkeypatch.setattr(databases, "LOCKED_S", 0.1)
    monkeypatch.setattr(databases, "PATIENCE_S", 0.5)
    cache = ReplyCache(empty.url)
    with psycopg.connect(empty.dsn) as lost:
        lost.execute("INSERT INTO claims VALUES ('a', 'elsewhere:1:1:1', 0)")
        with pytest.raises(InputError, match="lock timeout"):
            cache.claim(["a"], holder=name_owner(), lease_s=60)
        lost.rollback()
    assert cache.claim(["a"], holder=name_owner(), lease_s=60) == {"a"}
    cache.close()


def test_a_cache_that_many_open_at_once_is_waited_for(empty: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the last of 64 waits longer for those before it than a lock may take."""
    monkeypatch.setattr(databases, "LOCKED_S", 0.1)
    with psycopg.connect(empty.dsn) as before, ThreadPoolExecutor(1) as pool:
        before.execute("SELECT pg_advisory_xact_lock(7236121)")
        opening = pool.submit(ReplyCache, empty.url)
        time.sleep(1)
        assert not opening.done()
        before.rollback()
        opening.result().close()


def test_a_server_that_is_restarted_in_the_middle_loses_nothing_and_nothing_is_asked_twice(
    empty: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0000")
    store = StoreSettings(root="memory://restarted", cache=empty.url)
    restarts: list[threading.Thread] = []

    def restart() -> None:
        empty.stop()
        empty.start()

    def bounce(cell: Cell, tally: BatchProgress) -> None:
        if cell.suite == "restart" and tally.answered == 10 and not restarts:
            restarts.append(threading.Thread(target=restart))
            restarts[0].start()

    watch(bounce)
    with serve_openai("yes", latency_s=0.02) as server:
        model: Model = model_at(server, max_concurrency=4)
        _, tally = ask(requests_of(model, NUMBERS), model, store, Cell("restart"))
        restarts[0].join()
        assert (tally.answered, tally.failed) == (40, 0)
        assert prompts_seen(server) == Counter(NUMBERS)
        _, again = ask(requests_of(model, NUMBERS), model, store, Cell("again"))
    assert again.cached == 40


@pytest.fixture(scope="module")
def workers() -> Iterator[Told]:
    """Start three processes that ask, each time that they are told whom and with which cache."""
    with processes(WORKER, 3) as started:
        yield started


@pytest.mark.parametrize("database", [pytest.param("postgres", marks=pytest.mark.slow), "sqlite"])
def test_three_workers_at_once_share_the_asking(
    request: pytest.FixtureRequest, tmp_path: Path, workers: Told, database: str
) -> None:
    """Three processes, each with all 200 requests before it, start together: each is asked by one of them."""
    url = request.getfixturevalue("empty").url if database == "postgres" else f"sqlite:///{tmp_path}/replies.sqlite"
    with serve_openai("yes", latency_s=0.05) as server:
        with ThreadPoolExecutor(3) as pool:
            said = list(pool.map(lambda worker: said_by(worker, f"{server.base_url} {url}\n"), workers))
        assert prompts_seen(server) == Counter(str(n) for n in range(200))
    ended = [json.loads(text) for text in said]
    assert sum(answered for answered, _, _ in ended) == 200
    assert [answered + cached for answered, cached, _ in ended] == [200] * 3
    assert [failed for _, _, failed in ended] == [0] * 3
    assert sum(answered > 0 for answered, _, _ in ended) > 1, "none of them has all the work"


@pytest.mark.slow
def test_two_evaluations_at_once_never_ask_the_same_request_twice(empty: Postgres, run: Run) -> None:
    with serve_openai("ANSWER: 4", latency_s=0.2) as server:
        sets = (at(server, max_concurrency=2), TWO, "suites=[basic_control]", "basic_control.n_items=40")
        arguments = [part for one in (*sets, f"store.cache={empty.url}") for part in ("--set", one)]
        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(lambda _: run(*arguments, apart=True), range(2)))
        asked = Counter(json.dumps(seen.body["messages"], sort_keys=True) for seen in server.requests)
    assert [d.returncode for d in done] == [0, 0], done[0].stderr + done[1].stderr
    assert all("0 failed" in d.stdout or "No model call was made" in d.stdout for d in done)
    assert set(asked.values()) == {1}
    assert len(asked) == 80
    assert claims_on(empty) == 0


def claims_on(server: Postgres) -> Any:
    with psycopg.connect(server.dsn) as connection:
        row = connection.execute("SELECT count(*) FROM claims").fetchone()
        assert row is not None
        return row[0]
