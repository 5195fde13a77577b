"""Nobody waits for the dead, and what failed is asked once by each run: claims end with their calls."""

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.settings import Model, StoreSettings
from basic_control.data.batches import Cell
from basic_control.tasks.models.rate_limits import REFUSED_IN_A_ROW
from basic_control.tasks.models.scheduler import BatchProgress
from basic_control.tasks.query import ask, share_failures, watch
from basic_control.tasks.store.owners import describe_owner
from basic_control.tasks.store.reply_cache import FailedCall, ReplyCache, name_owner
from tests.conftest import TOP
from tests.helpers.requests import NUMBERS, model_at, prompts_seen, requests_of
from tests.helpers.told import Told, processes, said_by
from tests.servers.running import serve_openai
from tests.servers.script import Answer, Fault

REFUSED = Fault("status", status=400, message="not this one")


def odd_refused(body: dict[str, Any]) -> Answer | Fault:
    """Refuse every second question."""
    return REFUSED if int(body["messages"][-1]["content"]) % 2 else Answer("yes")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0000")


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> StoreSettings:
    """Return an empty store, its replies in each kind of database."""
    cache = request.getfixturevalue("empty").url if request.param == "postgres" else ""
    return StoreSettings(root=str(tmp_path), cache=cache)


def test_a_failure_is_of_its_run_and_gives_the_claim_back(cache: ReplyCache) -> None:
    one, other = name_owner() + ":1", name_owner() + ":2"
    cache.claim(["a", "b"], holder=one, lease_s=60)
    failure = FailedCall("a", "invalid", "nul \x00, \ud800")
    cache.remember_failures([failure], holder=one, run="r", way="w")
    assert cache.claim(["a", "b"], holder=other, lease_s=60) == {"a"}
    kept = {"a": FailedCall("a", "invalid", "nul \ufffd, ?")}
    assert cache.failures(["a", "b"], run="r", way="w") == kept
    assert cache.failures(["a"], run="another", way="w") == {}
    assert cache.failures(["a"], run="r", way="another key") == {}
    cache.remember_failures([failure], holder=one, run="r", way="w")
    assert cache.claim(["a"], holder=one, lease_s=60) == set(), "another's claim is not given back"
    cache.forgive("another")
    assert cache.failures(["a"], run="r", way="w") == kept
    cache.forgive("r")
    assert cache.failures(["a"], run="r", way="w") == {}


def crossing(store: StoreSettings, models: list[Model], run: str) -> list[BatchProgress]:
    """Ask all numbers twice side by side, from the first on and from the last on."""
    ways = [NUMBERS, NUMBERS[::-1]]
    work = zip(models, ways, strict=True)
    with ThreadPoolExecutor(2) as pool:
        begun = [pool.submit(ask, requests_of(m, way), m, store, Cell("x"), run=run) for m, way in work]
        return [one.result()[1] for one in begun]


@pytest.mark.parametrize("names", [("m", "m"), ("shown so", "and so")], ids=["two batches", "two entries"])
def test_two_who_want_each_others_failed_calls_both_end(store: StoreSettings, names: tuple[str, str]) -> None:
    """Of one model, or of two entries of one name at one server: each question is asked once."""
    with serve_openai(odd_refused, latency_s=0.02) as server:
        models = [model_at(server, name=name, model="served", max_concurrency=2) for name in names]
        with share_failures(store, "r"):
            tallies = crossing(store, models, "r")
    assert [(tally.answered + tally.cached, tally.failed) for tally in tallies] == [(20, 20)] * 2
    assert prompts_seen(server) == Counter(NUMBERS)


def test_what_failed_in_one_run_is_asked_by_the_next_and_not_again_by_the_same(store: StoreSettings) -> None:
    with serve_openai(odd_refused) as server:
        model = model_at(server)
        requests = requests_of(model, NUMBERS[:4])
        first = ask(requests, model, store, Cell("x"), run="r")[0]
        again = ask(requests, model, store, Cell("x"), run="r")[0]
        assert again.drop("cached").equals(first.drop("cached")), "with the same words"
        assert prompts_seen(server) == Counter(NUMBERS[:4])
        ask(requests, model, store, Cell("x"), run="another")
    assert prompts_seen(server) == Counter({"0": 1, "1": 2, "2": 1, "3": 2})


def test_a_failure_is_nothing_to_who_asks_with_another_key_or_patience(
    store: StoreSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_KEY", "sk-other")
    with serve_openai("yes", key="sk-other") as server:
        wrong = model_at(server)
        right = model_at(server, api_key_env="OTHER_KEY")
        requests = requests_of(wrong, ["a"])
        assert ask(requests, wrong, store, Cell("x"), run="r")[0]["error_kind"].to_list() == ["auth"]
        assert ask(requests, right, store, Cell("x"), run="r")[0]["text"].to_list() == ["yes"]


def test_an_endpoint_that_was_given_up_is_tried_again_by_the_next_run(store: StoreSettings) -> None:
    """In one process, as a notebook does: the account was topped up in between."""
    faults = [Fault("status", status=402, message="no credit")] * REFUSED_IN_A_ROW
    asked = NUMBERS[: REFUSED_IN_A_ROW + 2]
    with serve_openai("yes", faults=faults) as server:
        model = model_at(server, max_concurrency=1)
        for run, has_failed in ("first", True), ("second", False):
            with share_failures(store, run):
                answers = ask(requests_of(model, asked), model, store, Cell("x"), run=run)[0]
            assert {kind is not None for kind in answers["error_kind"]} == {has_failed}
    calls = sum(prompts_seen(server).values())
    assert calls == REFUSED_IN_A_ROW + len(asked), "the last questions were not asked by the first run"


HOLDER = """
import sys, time
from basic_control.tasks.store.reply_cache import ReplyCache, name_owner
ReplyCache(sys.argv[1]).claim(sys.argv[2:], holder=name_owner() + ':1', lease_s=3600)
print("held", flush=True)
time.sleep(3600)
"""


def test_a_holder_that_is_killed_is_not_waited_for_and_until_then_is_named(store: StoreSettings) -> None:
    """Its parent has not even asked for its exit code."""
    from basic_control.tasks.runtime.storage import find_cache_url

    said: set[tuple[int, tuple[str, ...]]] = set()
    with serve_openai("yes") as server:
        model = model_at(server)
        requests = requests_of(model, NUMBERS[:2])
        ReplyCache(find_cache_url(store)).close()
        command = [sys.executable, "-c", HOLDER, find_cache_url(store), requests["request_id"][0]]
        holder = subprocess.Popen(command, cwd=TOP, stdout=subprocess.PIPE, text=True)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"

        def kill(cell: Cell, tally: BatchProgress) -> None:
            if cell.suite == "killing" and tally.elsewhere:
                said.add((tally.elsewhere, tally.holders))
                holder.send_signal(signal.SIGKILL)

        watch(kill)
        _, tally = ask(requests, model, store, Cell("killing"))
        holder.communicate()
    assert said == {(1, (f"process {holder.pid}",))}
    assert (tally.answered, tally.elsewhere, tally.holders) == (2, 0, ())


def test_a_holder_on_another_host_is_waited_for_no_longer_than_its_lease(store: StoreSettings) -> None:
    from basic_control.tasks.runtime.storage import find_cache_url

    with serve_openai("yes") as server:
        model = model_at(server)
        requests = requests_of(model, NUMBERS[:2])
        cache = ReplyCache(find_cache_url(store))
        elsewhere = "elsewhere@00000000+1:1:1:1" if store.cache else "elsewhere:1:1:1"
        cache.claim(requests["request_id"].to_list(), holder=elsewhere, lease_s=1.0)
        assert cache.holders(requests["request_id"].to_list()) == ["process 1 on elsewhere"]
        _, tally = ask(requests, model, store, Cell("x"))
        cache.close()
    assert tally.answered == 2


def test_a_claims_owner_is_told_in_words() -> None:
    machine = name_owner().split(":")[0]
    assert describe_owner(f"{name_owner()}:ab") == "another batch of this run"
    assert describe_owner(f"{machine}:1:5:ab") == "process 1"
    assert describe_owner("far.example@12345678+9:77:5:ab") == "process 77 on far.example"


def test_those_who_ask_first_at_once_share_one_thread() -> None:
    """Two loops with the same clients would lose each other's wake-ups."""
    script = """
import threading
from basic_control.tasks.models.scheduler import event_loop_thread
together = threading.Barrier(16)
found = []
def first():
    together.wait()
    found.append(event_loop_thread())
threads = [threading.Thread(target=first) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(set(map(id, found))))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=TOP, stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "1\n"


ROUNDS = 10
EACH = 20
SOAKED = """
import json, os, sys
from concurrent.futures import ThreadPoolExecutor
from basic_control.config.settings import StoreSettings
from basic_control.data.batches import Cell
from basic_control.tasks.query import ask, share_failures
from tests.helpers.requests import requests_of
from basic_control.config.settings import Model
each = sys.argv[1]
print("ready", flush=True)
for line in sys.stdin:
    base_url, root, cache, number = json.loads(line)
    told = {"name": "m", "provider": "openai", "base_url": base_url, "max_concurrency": 4}
    model, store = Model.model_validate(told), StoreSettings(root=root, cache=cache)
    questions = [str(number * int(each) + n) for n in range(int(each))]
    run = f"{os.getpid()} {number} {base_url}"
    # Two batches side by side that meet in the middle.
    with share_failures(store, run), ThreadPoolExecutor(2) as pool:
        orders = [requests_of(model, order) for order in (questions, questions[::-1])]
        begun = [pool.submit(ask, one, model, store, Cell("x"), run=run) for one in orders]
        tallies = [one.result()[1] for one in begun]
    print(json.dumps([[t.answered, t.cached, t.failed] for t in tallies]), flush=True)
"""


def failing(question: str) -> bool:
    """Say whether a question is among the 5 % that the server refuses."""
    return int(question) % 20 == 7


@pytest.fixture(scope="module")
def soaked() -> Iterator[Told]:
    """Start two processes that ask, round by round, whom and with which store they are told."""
    with processes(SOAKED, 2, str(EACH)) as started:
        yield started


@pytest.mark.slow
def test_two_runs_on_one_store_with_failures_end_ten_times_of_ten(store: StoreSettings, soaked: Told) -> None:
    """Each question is asked once, and one that is refused once by each run, whoever else wants it there."""
    with serve_openai(
        lambda body: REFUSED if failing(body["messages"][-1]["content"]) else Answer("yes"), latency_s=0.005
    ) as server:
        with ThreadPoolExecutor(2) as pool:
            for number in range(ROUNDS):
                told = json.dumps([server.base_url, store.root, store.cache, number]) + "\n"
                ended = [json.loads(said) for said in pool.map(said_by, soaked, [told] * 2)]
                batches = [batch for found in ended for batch in found]
                refused = EACH // 20
                assert [failed for _, _, failed in batches] == [refused] * 4
                assert sum(answered for answered, _, _ in batches) == EACH - refused
                assert sum(cached for _, cached, _ in batches) == 3 * (EACH - refused)
        asked = prompts_seen(server)
    questions = [str(n) for n in range(ROUNDS * EACH)]
    assert asked == Counter({question: 2 if failing(question) else 1 for question in questions})
