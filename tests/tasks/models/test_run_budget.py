"""What a run may spend, in money and time, while its calls are in flight: over real HTTP."""

import asyncio
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.budget import Budget, describe_budget, format_amount
from basic_control.config.settings import Model
from basic_control.data.records import Message
from basic_control.tasks.models import open_client, running
from basic_control.tasks.models.budget import RunBudget
from basic_control.tasks.models.requests import build_request, read_call
from basic_control.tasks.models.scheduler import BatchProgress, ask_all, event_loop_thread
from basic_control.tasks.store.reply_cache import ReplyCache
from tests.servers.running import serve_openai
from tests.servers.script import Answer

N = 12
IN_FLIGHT = 4


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0000")


def bring(folder: Path, budget: RunBudget, **changes: Any) -> tuple[list[str], BatchProgress]:
    """Ask N questions; return how each ended: "reply", or the kind of its failure."""
    keys = {"name": "m", "provider": "openai", "max_concurrency": IN_FLIGHT, **changes}
    model = Model.model_validate(keys)
    rows = [build_request(model, {}, [Message("user", f"question {number}")], item_id="x") for number in range(N)]
    cache = ReplyCache(f"sqlite:///{folder}/replies.sqlite")
    calls = [(row["request_id"], read_call(row)) for row in rows]

    async def ask() -> Any:
        return await ask_all(calls, model=model, client=open_client(model), cache=cache, budget=budget)

    answers, tally = event_loop_thread().call(ask())
    cache.close()
    return [getattr(result.end, "kind", "reply") for result in answers.values()], tally


@pytest.mark.parametrize("concurrency", [2, 64])
def test_calls_in_flight_together_are_reserved_at_what_they_can_cost(tmp_path: Path, concurrency: int) -> None:
    """The first is cheap: 10 tokens of a price of one; the others take all 100 that they may."""
    n_seen = 0

    def answer(_body: dict[str, Any]) -> Answer:
        nonlocal n_seen
        n_seen += 1
        tokens = 10 if n_seen == 1 else 100
        return Answer("four", tokens_in=0, tokens_out=tokens)

    prices = {"price_in": 0, "price_out": 1_000_000, "max_tokens": 100}
    with serve_openai(answer) as server:
        changes = {**prices, "base_url": server.base_url, "max_concurrency": concurrency}
        kinds, _ = bring(tmp_path, RunBudget(Budget(usd=500), "USD"), **changes)
    assert kinds.count("reply") == 5, "10 and four times 100; one more would make 510"
    assert kinds.count("budget") == N - 5


def test_a_budget_below_what_a_call_can_cost_is_spent_call_by_call(tmp_path: Path) -> None:
    prices = {"price_in": 0, "price_out": 1_000_000, "max_tokens": 4096}
    with serve_openai(Answer("four", tokens_in=0, tokens_out=10)) as server:
        kinds, _ = bring(tmp_path, RunBudget(Budget(usd=55), "USD"), base_url=server.base_url, **prices)
    assert kinds.count("reply") == 5


def test_when_the_time_is_over_calls_in_flight_may_end_and_nothing_else_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = RunBudget(Budget(minutes=60), "USD")
    n_free = 3
    monkeypatch.setattr(running, "GRACE_S", 60.0)

    async def reply(_body: dict[str, Any]) -> str:
        nonlocal n_free
        if n_free:
            n_free -= 1
        else:
            # All that are held come back only when the time is over.
            await asyncio.to_thread(threading.Event().wait, ends_s - time.monotonic())
        return "four"

    ends_s = time.monotonic() + 3.0
    budget.ends_s = ends_s
    with serve_openai(reply) as server:
        kinds, tally = bring(tmp_path, budget, base_url=server.base_url)
        assert len(server.requests) == 3 + IN_FLIGHT
    assert kinds.count("reply") == 3 + IN_FLIGHT, "what came is kept"
    assert kinds.count("budget") == N - 3 - IN_FLIGHT
    assert (tally.failed, tally.submitted) == (0, N - 3 - IN_FLIGHT)


def test_calls_in_flight_that_take_longer_than_they_have_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "GRACE_S", 0.1)

    async def reply(_body: dict[str, Any]) -> str:
        await asyncio.Event().wait()
        return "never"

    budget = RunBudget(Budget(minutes=1 / 60), "USD")
    with serve_openai(reply) as server:
        kinds, _ = bring(tmp_path, budget, base_url=server.base_url)
    assert kinds == ["budget"] * N


def test_a_server_that_is_down_is_waited_for_until_the_time_is_over(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    budget = RunBudget(Budget(minutes=1 / 60), "USD")
    kinds, _ = bring(tmp_path, budget, base_url=f"http://127.0.0.1:{port}/v1", deadline_s=3600)
    assert kinds == ["budget"] * N


def test_a_budget_is_said_in_words() -> None:
    assert describe_budget(Budget(usd=0.00005, calls=7, minutes=1), "EUR") == "0.00005 EUR and 7 calls and 1 minute"
    assert describe_budget(Budget(minutes=1.5), "EUR") == "1.5 minutes"
    assert [format_amount(amount) for amount in (5, 12.345, 1e-12)] == ["5", "12.345", "0.000000000001"]
