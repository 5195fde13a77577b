"""Two hundred malformed answers: each fails its own question with a cause, none ends a run or answers another."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest

from basic_control.config.settings import Model, StoreSettings
from basic_control.data.batches import Cell
from basic_control.data.records import Reply
from basic_control.tasks.models.protocol import CallError, ErrorKind
from basic_control.tasks.models.replies import LONGEST_REASON
from basic_control.tasks.query import ask as ask_batch
from tests.helpers.requests import requests_of
from tests.servers.bytes import response, serve_bytes
from tests.servers.malformed import CONTENTS, answer_of, forge, sent
from tests.tasks.models.asking import ask, call

NUMBER = 200
PROVIDERS = ("openai", "azure", "ollama", "http")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k-0123456789abcdef-Secret")


def at(provider: str, url: str, **fields: Any) -> Model:
    entry: dict[str, Any] = {"name": "m", "provider": provider, "base_url": url, "deadline_s": 20}
    if provider == "http":
        entry["text"] = "answer"
    if provider == "azure":
        entry["api_version"] = "1"
    return Model.model_validate(entry | {"max_response_bytes": 1_000_000} | fields)


def number_in(request: bytes) -> int:
    """Return the number of the question that a request asks."""
    return int(re.findall(rb"question (\d+)", request)[-1])


@pytest.mark.parametrize(
    ("provider", "count"),
    [pytest.param(provider, NUMBER, marks=pytest.mark.slow) for provider in PROVIDERS]
    + [(provider, 24) for provider in PROVIDERS],
)
def test_a_malformed_answer_is_no_answer_and_the_next_question_gets_its_own(provider: str, count: int) -> None:
    """Every other question, on the same connections, is answered as it should be."""

    def answer(_: int, request: bytes) -> bytes:
        number = number_in(request)
        text = f"answer to {number}."
        return sent(text) if number % 2 else forge(number // 2, text)

    # Connections end with most malformed answers: else some forms are waited for until the deadline.
    with serve_bytes(
        answer, closes=lambda request: number_in(request) % 2 == 0 and number_in(request) % 5 != 0
    ) as server:
        questions = [call(f"question {number}") for number in range(2 * count)]
        results = ask(at(provider, server.url, deadline_s=2), *questions)
        lost = [number for number in range(1, 2 * count, 2) if isinstance(results[number], CallError)]
        for number in lost:
            error = results[number]
            assert isinstance(error, CallError)
            assert error.kind == "connection", "the connection had ended"
            (results[number],) = ask(at(provider, server.url), questions[number])
    for number, result in enumerate(results):
        if number % 2:
            assert isinstance(result, Reply), (number // 2, result)
            assert result.text == f"answer to {number}."
        else:
            check(number // 2, number, result)


def check(seed: int, number: int, result: Reply | CallError) -> None:
    """Check that a result is a failure with its cause, or all that could be read: never another's answer."""
    if isinstance(result, CallError):
        assert result.kind in get_args(ErrorKind)
        assert len(result.message) > len("HTTP 200: "), seed
        return
    assert re.findall(r"nobody asked|answer to (\d+)", result.text) in ([], [str(number)]), (seed, result)
    assert len(result.finish_reason) <= LONGEST_REASON
    for tokens in (result.tokens_in, result.tokens_out):
        assert tokens is None or 0 <= tokens < 2**63


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("provider", ["openai", "azure", "ollama"])
def test_a_content_that_is_no_text_is_a_failed_call(provider: str, content: Any) -> None:
    with serve_bytes(lambda *_: response(json.dumps(answer_of(content)).encode())) as server:
        (result,) = ask(at(provider, server.url))
    assert isinstance(result, CallError), result
    assert result.kind == "server"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_two_answers_to_one_request_are_none(provider: str) -> None:
    with serve_bytes(lambda number, _: sent("first") + (sent("second") if number == 0 else b"")) as server:
        lost, answered = ask(at(provider, server.url), call("one"), call("two"))
    assert isinstance(lost, CallError)
    assert "two answers to one request" in lost.message
    assert isinstance(answered, Reply)
    assert answered.text == "first"


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_run_ends_at_malformed_answers_and_nothing_is_asked_twice(provider: str, tmp_path: Path) -> None:
    """Each question's first answer is malformed, all later ones are as they should be."""
    asked: Counter[int] = Counter()

    def answer(_: int, request: bytes) -> bytes:
        number = number_in(request)
        asked[number] += 1
        text = f"answer to {number}."
        return sent(text) if asked[number] > 1 else forge(number, text)

    place = StoreSettings(root=str(tmp_path))
    prompts = [f"question {number}" for number in range(NUMBER)]
    with serve_bytes(answer, closes=lambda request: number_in(request) % 7 != 0) as server:
        model = at(provider, server.url, deadline_s=6, max_concurrency=16)
        requests = requests_of(model, prompts)
        numbers = dict(zip(requests["request_id"], range(NUMBER), strict=True))
        responses, tally = ask_batch(requests, model, place, Cell("x"))
        before = asked.copy()
        again, second_tally = ask_batch(requests, model, place, Cell("y"))
    assert tally.answered + tally.failed == NUMBER
    assert second_tally.cached == tally.answered
    for row in responses.iter_rows(named=True):
        number = numbers[row["request_id"]]
        if row["error"] is None:
            assert re.findall(r"nobody asked|answer to (\d+)", row["text"]) in ([], [str(number)])
            assert asked[number] == before[number], "what was answered is not asked again"
        else:
            assert row["error_kind"] in get_args(ErrorKind)
            assert row["error"]
    assert again["error"].null_count() == NUMBER
