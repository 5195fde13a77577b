"""When a model is given up, and when not: counted as calls end, after their own retries."""

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.settings import Model, StoreSettings
from basic_control.data.batches import Cell
from basic_control.tasks.models import rate_limits
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.models.scheduler import BatchProgress, event_loop_thread
from basic_control.tasks.models.server_errors import classify_error, read_retry_after
from basic_control.tasks.query import ask, watch
from basic_control.tasks.runtime.logs import LOGGER
from tests.helpers.requests import NUMBERS, model_at, requests_of
from tests.servers.running import serve_openai
from tests.servers.script import Fault
from tests.tasks.models.asking import error_of

MANY = [str(number) for number in range(400)]
KEY = "sk-test-0000"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def run(model: Model, folder: Path, prompts: list[str] = NUMBERS, name: str = "x") -> tuple[Any, BatchProgress]:
    """Ask the prompts in a run of this name."""
    return ask(requests_of(model, prompts), model, StoreSettings(root=str(folder)), Cell("x"), run=name)


REFUSALS = {
    "401": (Fault("status", status=401, message="bad key", echo=True), "auth"),
    "403": (Fault("status", status=403, message="no access"), "auth"),
    "404": (Fault("status", status=404, code="model_not_found", message="no such model"), "unknown_model"),
    "the account": (Fault("status", status=429, code="insufficient_quota", message="quota"), "quota"),
    "a day": (Fault("status", status=429, message="Rate limit reached for requests per day (RPD): 50"), "quota"),
    "a day in the details": (
        Fault("status", status=429, raw=json.dumps({"error": {
            "code": 429, "message": "You exceeded your current quota. Please retry in 34s.",
            "details": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}, {"retryDelay": "34s"}],
        }})),
        "quota",
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", REFUSALS)
def test_eight_refusals_in_a_row_give_a_model_up_and_the_next_run_asks_first_what_was_not_asked(
    form: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault, kind = REFUSALS[form]
    is_refused = [True]
    with serve_openai("yes", faults=lambda *_: fault if is_refused[0] else None) as server:
        model = model_at(server, max_concurrency=2)
        monkeypatch.setattr(LOGGER, "handlers", [caplog.handler])
        with caplog.at_level(logging.WARNING):
            responses, tally = run(model, tmp_path)
        assert 8 <= len(server.requests) <= 10, "eight, and what was in flight beside them"
        kinds = responses["error_kind"].to_list()
        assert set(kinds) == {kind, "not asked"}
        assert kinds.count(kind) == len(server.requests)
        assert tally.failed == len(NUMBERS)
        errors = " ".join(responses["error"])
        assert KEY not in errors
        assert "not asked: the last 8 calls failed, the last of them with: HTTP 4" in errors
        # An event of the log, and no line at a terminal, where the verdict says it.
        (record,) = caplog.records
        assert record.name == LOGGER.name
        assert record.getMessage().startswith(f"model_given_up model={model.name} why=")
        # In the same run nothing is asked again; in the next, first what had not had its turn.
        before = len(server.requests)
        run(model, tmp_path)
        assert len(server.requests) == before
        is_refused[0] = False
        _, tally = run(model_at(server, max_concurrency=1), tmp_path, name="y")
        assert tally.answered == len(NUMBERS)
        later = [str(seen.body["messages"][-1]["content"]) for seen in server.requests[before:]]
    refused = {number for number, kind_of in zip(NUMBERS, kinds, strict=True) if kind_of == kind}
    assert set(later[-len(refused) :]) == refused


def test_seven_refusals_in_a_row_give_no_model_up(tmp_path: Path) -> None:
    fault = Fault("status", status=401, message="bad key")
    with serve_openai("yes", faults=lambda number, _: None if number % 8 == 7 else fault) as server:
        _, tally = run(model_at(server, max_concurrency=1), tmp_path)
        assert len(server.requests) == len(NUMBERS)
    assert (tally.answered, tally.failed) == (5, 35)


@pytest.mark.parametrize("status", [400, 403, 413, 422])
def test_failures_of_questions_count_nowhere(status: int, tmp_path: Path) -> None:
    """A 403 is the question's once the model has answered."""
    fault = Fault("status", status=status, message="not this one")
    with serve_openai("yes", faults=lambda number, _: fault if 0 < number < 39 else None) as server:
        _, tally = run(model_at(server, max_concurrency=1), tmp_path)
    assert (tally.answered, tally.failed) == (2, 38)


LOSSES = [
    Fault("status", status=500),
    Fault("status", status=429),
    Fault("reset"),
    Fault("broken_json"),
    Fault("hang"),
]


@pytest.mark.parametrize("fault", LOSSES, ids=lambda fault: f"{fault.kind} {fault.status}")
def test_twenty_lost_calls_in_a_row_over_ten_minutes_give_a_model_up(
    fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_limits, "LOST_S", 0.0)
    with serve_openai("yes", faults=lambda *_: fault) as server:
        model = model_at(server, max_concurrency=16, deadline_s=0.3)
        responses, tally = run(model, tmp_path, MANY[:100])
    assert tally.failed == 100
    kinds = responses["error_kind"].to_list()
    assert 20 <= len(kinds) - kinds.count("not asked") <= 20 + 16 + 2
    assert "not asked: the last 20 calls failed" in " ".join(responses["error"])


def test_lost_calls_give_no_model_up_within_ten_minutes(tmp_path: Path) -> None:
    with serve_openai("yes", faults=lambda *_: Fault("status", status=500)) as server:
        model = model_at(server, max_concurrency=16, deadline_s=0.2)
        responses, _ = run(model, tmp_path, MANY[:60])
    assert set(responses["error_kind"]) == {"timeout"}


def test_one_429_pauses_its_call_and_several_together_the_endpoint(tmp_path: Path) -> None:
    limits: list[float] = []

    def note(cell: Cell, _: BatchProgress) -> None:
        if cell.suite == "paused":
            limits.append(event_loop_thread().endpoints[rate_limits.digest_entry(model)].limit)

    def limit_each(number: int, _: Mapping[str, Any]) -> Fault | None:
        return Fault("status", status=429, headers={"Retry-After": "1"}) if number % 50 == 7 else None

    watch(note)
    with serve_openai("yes", faults=limit_each) as server:
        model = model_at(server, max_concurrency=8)
        begun = time.monotonic()
        requests = requests_of(model, MANY)
        _, tally = ask(requests, model, StoreSettings(root=str(tmp_path)), Cell("paused"))
        took_s = time.monotonic() - begun
        assert len(server.requests) == len(MANY) + sum(number % 50 == 7 for number in range(len(server.requests)))
    assert tally.answered == len(MANY)
    assert set(limits) == {8.0}, "nothing is slowed"
    assert took_s < 8, "eight pauses of a second each, one after another"


def test_several_429_together_halve_the_calls_in_flight_and_pause_them(tmp_path: Path) -> None:
    limits: list[float] = []
    times: list[tuple[float, bool]] = []

    def note(cell: Cell, _: BatchProgress) -> None:
        if cell.suite == "halved":
            limits.append(event_loop_thread().endpoints[rate_limits.digest_entry(model)].limit)

    def limit_some(number: int, _: Mapping[str, Any]) -> Fault | None:
        is_refused = 40 <= number < 48
        times.append((time.monotonic(), is_refused))
        return Fault("status", status=429, headers={"Retry-After": "1"}) if is_refused else None

    watch(note)
    with serve_openai("yes", faults=limit_some) as server:
        model = model_at(server, max_concurrency=8)
        requests = requests_of(model, MANY[:200])
        _, tally = ask(requests, model, StoreSettings(root=str(tmp_path)), Cell("halved"))
    assert tally.answered == 200
    refused_s = max(at for at, is_refused in times if is_refused)
    early = [at for at, _ in times if refused_s < at < refused_s + 0.9]
    assert len(early) <= 8, "only what was in flight already may arrive before the second is over"
    assert min(limits) <= 5 < max(limits[len(limits) // 2 :])


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Request too large for m on tokens per min (TPM): Limit 10,000, Requested 12,345.", "invalid"),
        ("Limit 6000, Requested 7012, please reduce your message size", "invalid"),
        ("Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.", "rate_limit"),
        ("Rate limit reached on tokens per day (TPD): Limit 100000, Used 99994, Requested 1027.", "quota"),
        ("Rate limit exceeded: free-models-per-day", "quota"),
        ("You have reached your daily limit", "quota"),
        ("Quota exceeded: GenerateRequestsPerMinutePerProjectPerModel", "rate_limit"),
        ("Too many requests, have a nice day", "rate_limit"),
    ],
)
def test_what_a_429_means_stands_in_its_message(message: str, kind: str) -> None:
    assert classify_error(429, message, "") == kind


def test_a_request_larger_than_the_limit_is_asked_once() -> None:
    message = "Request too large for m on tokens per min (TPM): Limit 10000, Requested 12345."
    fault = Fault("status", status=429, message=message, headers={"Retry-After": "1"})
    with serve_openai("yes", faults=lambda *_: fault) as server:
        error = error_of(model_at(server))
        assert len(server.requests) == 1
    assert error.kind == "invalid"


@pytest.mark.parametrize(
    ("message", "wait_s"),
    [
        ("Please try again in 7m12s.", 432),
        ("Please try again in 20s.", 20),
        ("try again in 350ms", 0.35),
        ("Please retry after 20 seconds.", 20),
        ("available in 1 hour and 5 minutes", 3900),
        ("Please retry in 34.5s.", 34.5),
        ("try again in 2 days", 172_800),
        ("please try again later", None),
        ("retry after some time", None),
    ],
)
def test_a_wait_in_words_is_read(message: str, wait_s: float | None) -> None:
    assert read_retry_after({}, json.dumps({"error": {"message": message}})) == pytest.approx(wait_s)


def test_a_days_quota_in_words_closes_the_endpoint_at_once(tmp_path: Path) -> None:
    fault = Fault("status", status=429, message="Rate limit reached. Please try again in 7m12s.")
    with serve_openai("yes", faults=lambda *_: fault) as server:
        responses, _ = run(model_at(server, max_concurrency=2, deadline_s=60), tmp_path)
        assert 3 <= len(server.requests) <= 5
    assert "the server asks to wait 432 s, longer than 60 s (deadline_s)" in " ".join(responses["error"])
    assert "not asked" in set(responses["error_kind"])


def test_the_commonest_failure_is_known_while_it_happens(tmp_path: Path) -> None:
    troubles: list[tuple[int, str]] = []

    def note(cell: Cell, tally: BatchProgress) -> None:
        if cell.suite == "troubles":
            troubles.append(tally.trouble.main_cause)

    def fail(number: int, _: Mapping[str, Any]) -> Fault | None:
        if number == 0:
            return Fault("status", status=400, message="too long")
        return Fault("status", status=503, message="loading the model") if number < 4 else None

    watch(note)
    with serve_openai("yes", faults=fail) as server:
        model = model_at(server, max_concurrency=1)
        requests = requests_of(model, NUMBERS[:4])
        ask(requests, model, StoreSettings(root=str(tmp_path)), Cell("troubles"))
    assert troubles[-1] == (3, "HTTP 503: loading the model")


@pytest.mark.parametrize(
    ("last", "reason"), [(CallError("server", "HTTP 500: busy"), "HTTP 500"), (None, "not sent")]
)
def test_a_call_that_was_sent_keeps_its_own_reason_where_its_endpoint_closes(
    last: CallError | None, reason: str
) -> None:
    model = Model(name="m", provider="openai", base_url="http://127.0.0.1:9/v1", deadline_s=30)

    async def enter() -> None:
        endpoint = rate_limits.Endpoint(1)
        # Its server has asked for a day.
        endpoint.not_before = time.monotonic() + 86_400
        async with endpoint.slot(model, last):
            raise AssertionError("it was let in")

    with pytest.raises(CallError, match=reason):
        asyncio.run(enter())
