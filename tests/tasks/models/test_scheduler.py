"""Every request ends in a stated way, none is lost, and nothing answered is asked again: over real HTTP."""

import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.settings import Model, StoreSettings
from basic_control.data.batches import Cell
from basic_control.data.errors import Stopped
from basic_control.data.tables import REQUESTS
from basic_control.tasks.models import scheduler
from basic_control.tasks.models.scheduler import BatchProgress, event_loop_thread
from basic_control.tasks.query import ask, identify_model, watch
from basic_control.tasks.runtime.storage import find_cache_url
from basic_control.tasks.store.reply_cache import ReplyCache, name_owner, read_response
from tests.helpers.requests import NUMBERS, model_at, prompts_seen, requests_of
from tests.servers.running import serve_openai
from tests.servers.script import Fault

RATE = Fault("status", status=429, headers={"Retry-After": "1"})


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0000")


def test_everything_is_answered_once_and_then_remembered(tmp_path: Path) -> None:
    store = StoreSettings(root=str(tmp_path))
    with serve_openai(lambda body: "re: " + body["messages"][-1]["content"]) as server:
        model = model_at(server)
        requests = requests_of(model, NUMBERS)
        responses, tally = ask(requests, model, store, Cell("x"))
        again, second = ask(requests, model, store, Cell("x"))
    assert responses["text"].to_list() == [f"re: {n}" for n in NUMBERS]
    assert (tally.answered, tally.cached, tally.failed) == (40, 0, 0)
    assert (second.answered, second.cached, second.failed) == (0, 40, 0)
    assert prompts_seen(server) == Counter(NUMBERS)
    assert again.drop("cached").equals(responses.drop("cached"))


def test_leaked_stop_tokens_are_no_part_of_a_reply_and_the_cache_keeps_it_as_it_came(tmp_path: Path) -> None:
    store = StoreSettings(root=str(tmp_path))
    with serve_openai("ANSWER: 18<|im_end|>\n") as server:
        model = model_at(server)
        requests = requests_of(model, ["hello"])
        for _ in range(2):  # from the server, then from the cache
            responses, _ = ask(requests, model, store, Cell("x"))
            assert responses.select("text", "stop_tokens").row(0) == ("ANSWER: 18", "<|im_end|>\n")
    (request_id,) = requests["request_id"]
    kept = ReplyCache(find_cache_url(store)).lookup([request_id])[request_id].reply
    assert kept.text == "ANSWER: 18<|im_end|>\n"
    assert read_response(responses.row(0, named=True)).reply.text == kept.text


def test_equal_requests_are_asked_once_and_repeats_each(tmp_path: Path) -> None:
    with serve_openai("yes") as server:
        model = model_at(server)
        same = requests_of(model, ["hello"] * 10)
        assert same["request_id"].n_unique() == 1
        ask(same, model, StoreSettings(root=str(tmp_path)), Cell("x"))
        assert len(server.requests) == 1
        ask(requests_of(model, ["hello"], repeats=3), model, StoreSettings(root=str(tmp_path)), Cell("x"))
    assert len(server.requests) == 3


def test_repeats_are_asked_with_a_seed_each(tmp_path: Path) -> None:
    """A server that goes by the seed would give every repeat the same answer."""
    with serve_openai(lambda body: str(body["seed"])) as server:
        model = model_at(server, temperature=0.7, seed=7)
        responses, _ = ask(
            requests_of(model, ["hello"], repeats=3), model, StoreSettings(root=str(tmp_path)), Cell("x")
        )
    assert responses["text"][0] == "7"
    assert responses["text"].n_unique() == 3


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": 0.5},
        {"seed": 7},
        {"max_tokens": 9},
        {"system": "Be brief."},
        {"extra": {"top_p": 0.5}},
    ],
)
def test_every_sampling_parameter_is_part_of_a_requests_identity(change: dict[str, Any]) -> None:
    plain = Model(name="m", provider="openai")
    other = Model.model_validate({"name": "m", "provider": "openai", **change})
    assert requests_of(plain, ["a"])["request_id"][0] != requests_of(other, ["a"])["request_id"][0]


def test_concurrency_speed_limits_and_prices_are_not_part_of_it() -> None:
    plain = Model(name="m", provider="openai")
    other = Model(name="shown as", model="m", provider="openai", max_concurrency=99, deadline_s=1, price_in=3)
    assert requests_of(plain, ["a"])["request_id"][0] == requests_of(other, ["a"])["request_id"][0]


@pytest.mark.parametrize(
    "fault",
    [
        RATE,
        Fault("status", status=500),
        Fault("status", status=408),
        Fault("status", status=409),
        Fault("cut"),
        Fault("reset"),
        Fault("broken_json"),
        Fault("empty"),
        Fault("slow"),
    ],
    ids=lambda f: f"{f.kind} {f.status}" if f.kind == "status" else f.kind,
)
def test_a_passing_fault_loses_nothing(tmp_path: Path, fault: Fault) -> None:
    with serve_openai("yes", faults=[None, fault, None, fault]) as server:
        model = model_at(server, max_concurrency=2)
        responses, tally = ask(requests_of(model, NUMBERS[:8]), model, StoreSettings(root=str(tmp_path)), Cell("x"))
    assert responses["text"].is_in(["yes", "a good answer"]).all()
    assert tally.answered == 8


def test_no_more_calls_are_in_flight_than_allowed(tmp_path: Path) -> None:
    with serve_openai("yes", latency_s=0.02) as server:
        model = model_at(server, max_concurrency=3)
        ask(requests_of(model, NUMBERS), model, StoreSettings(root=str(tmp_path)), Cell("x"))
    assert server.peak == 3


def test_requests_a_minute_are_spaced(tmp_path: Path) -> None:
    """Also where another model of the same server, without such a limit, was asked first."""
    times: list[float] = []

    def reply(_body: dict[str, Any]) -> str:
        times.append(time.monotonic())
        return "yes"

    with serve_openai(reply) as server:
        store, other = StoreSettings(root=str(tmp_path)), model_at(server, model="other")
        ask(requests_of(other, ["first"]), other, store, Cell("x"))
        model = model_at(server, requests_per_minute=600)
        begun = time.monotonic()  # not the first arrival, which may be late
        ask(requests_of(model, NUMBERS[:11]), model, store, Cell("x"))
    assert times[-1] - begun >= 0.95, "eleven calls at ten a second take a second"


def test_a_hang_ends_with_the_deadline_and_the_others_are_answered(tmp_path: Path) -> None:
    with serve_openai(
        "yes", faults=lambda _n, body: Fault("hang") if body["messages"][-1]["content"] == "3" else None
    ) as server:
        model = model_at(server, deadline_s=1.0)
        responses, tally = ask(requests_of(model, NUMBERS[:8]), model, StoreSettings(root=str(tmp_path)), Cell("x"))
    assert tally.failed == 1
    assert responses["error_kind"].to_list() == [None, None, None, "timeout", None, None, None, None]
    assert "no reply within 1 s (deadline_s)" in responses["error"][3]


def test_a_failure_is_never_remembered(tmp_path: Path) -> None:
    store = StoreSettings(root=str(tmp_path))
    with serve_openai("yes", faults=[Fault("hang")]) as server:
        model = model_at(server, deadline_s=0.5)
        requests = requests_of(model, ["a"])
        assert ask(requests, model, store, Cell("x"))[1].failed == 1
        assert ask(requests, model, store, Cell("x"))[0]["text"].to_list() == ["yes"]


def test_a_parameter_of_one_entry_that_is_refused_stops_no_other_of_its_model(tmp_path: Path) -> None:
    """Such as one model with and without thinking."""
    store, heard = StoreSettings(root=str(tmp_path)), []
    with serve_openai("yes", refuse={"think": "Unsupported parameter: 'think'"}) as server:
        for extra in ({"think": True}, {}):
            model = model_at(server, extra=extra)
            responses, _ = ask(requests_of(model, NUMBERS[:4]), model, store, Cell("x"), run="r")
            heard.append(set(responses["error_kind"]))
    assert heard == [{"parameter"}, {None}]


def test_what_failed_in_one_run_is_asked_in_the_next(tmp_path: Path) -> None:
    """Also by a worker of a cluster, which hears of no run's end."""
    store = StoreSettings(root=str(tmp_path))
    with serve_openai("yes", faults=[Fault("status", status=401, message="bad key")] * 3) as server:
        model = model_at(server, max_concurrency=1)
        requests = requests_of(model, NUMBERS[:3])
        tallies = [ask(requests, model, store, Cell("x"), run=run)[1] for run in ("one", "one", "two")]
    assert [(tally.failed, tally.answered) for tally in tallies] == [(3, 0), (3, 0), (0, 3)]


def test_a_request_that_the_server_refuses_fails_alone(tmp_path: Path) -> None:
    def fault(_number: int, body: dict[str, Any]) -> Fault | None:
        return Fault("status", status=400, message="too long") if body["messages"][-1]["content"] == "5" else None

    with serve_openai("yes", faults=fault) as server:
        model = model_at(server)
        responses, tally = ask(requests_of(model, NUMBERS), model, StoreSettings(root=str(tmp_path)), Cell("x"))
    assert tally.answered == 39
    assert responses.filter(error_kind="invalid").height == 1


def test_a_server_that_dies_and_comes_back_loses_nothing(tmp_path: Path) -> None:
    with serve_openai("yes", latency_s=0.02) as server:
        model = model_at(server, max_concurrency=4)

        def restart() -> None:
            server.stop()
            server.start()

        def bounce(cell: Cell, tally: BatchProgress) -> None:
            if cell.suite == "bounce" and tally.answered == 10 and server.script.version != "down":
                server.script.version = "down"
                threading.Thread(target=restart).start()

        watch(bounce)
        _, tally = ask(requests_of(model, NUMBERS), model, StoreSettings(root=str(tmp_path)), Cell("bounce"))
    assert tally.answered == 40


def test_what_another_worker_holds_is_waited_for_and_not_asked(tmp_path: Path) -> None:
    store = StoreSettings(root=str(tmp_path))
    with serve_openai("yes", latency_s=0.2) as server:
        model = model_at(server)
        requests = requests_of(model, NUMBERS[:16])
        tallies: list[BatchProgress] = []
        workers = [
            threading.Thread(target=lambda: tallies.append(ask(requests, model, store, Cell("x"))[1]))
            for _ in range(3)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert prompts_seen(server) == Counter(NUMBERS[:16])
    assert sum(t.answered for t in tallies) == 16
    assert sum(t.cached for t in tallies) == 32


def test_an_answer_that_came_between_look_up_and_claim_is_taken(tmp_path: Path) -> None:
    """A holder elsewhere whose lease has run out is asked for; its answered calls are not."""
    store = StoreSettings(root=str(tmp_path))
    with serve_openai("yes") as server:
        model = model_at(server)
        requests = requests_of(model, NUMBERS[:2])
        cache = ReplyCache(find_cache_url(store))
        cache.claim(requests["request_id"].to_list(), holder="elsewhere:1:1", lease_s=1.0)
        _, tally = ask(requests, model, store, Cell("x"))
    assert tally.answered == 2


def test_a_stop_keeps_what_was_answered_and_waits_for_no_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "GRACE_S", 0.2)
    store = StoreSettings(root=str(tmp_path))

    def fault(number: int, _body: dict[str, Any]) -> Fault | None:
        return Fault("hang") if number >= 10 else None

    with serve_openai("yes", faults=fault) as server:
        model = model_at(server, max_concurrency=4)
        requests = requests_of(model, NUMBERS)

        def stop_at_ten(cell: Cell, tally: BatchProgress) -> None:
            if cell.suite == "stopping" and tally.answered == 10:
                scheduler.stop()

        watch(stop_at_ten)
        started = time.monotonic()
        try:
            with pytest.raises(Stopped):
                ask(requests, model, store, Cell("stopping"))
        finally:
            event_loop_thread().stopping.clear()
        assert time.monotonic() - started < 120, "bounded by the stop, not by the deadline of five minutes"
        cache = ReplyCache(find_cache_url(store))
        assert cache.count() == 10
        free = cache.claim(requests["request_id"].to_list(), holder=name_owner(), lease_s=1)
        assert len(free) == 40


def test_an_unreachable_server_is_one_message(tmp_path: Path) -> None:
    del tmp_path
    from basic_control.data.errors import InputError

    with serve_openai("yes") as server:
        pass
    with pytest.raises(InputError, match="model m \\(openai\\)"):
        identify_model(model_at(server))


def test_request_rows_fit_their_table() -> None:
    model = Model(name="m", provider="openai")
    assert REQUESTS.check(requests_of(model, NUMBERS, repeats=2)).height == 80
