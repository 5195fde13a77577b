"""Asking in batches: no request is paid twice, none is lost, and each that was not answered says why."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from artifacts.replies import ReplyCache
from artifacts.submissions import Submissions
from config.settings import Model, Settings
from data.records import Call, Message
from tasks.models import open_client
from tasks.models.batches import portions
from tasks.models.scheduler import Answer, Tally, ask_all
from tests.servers.batches import BatchServer, Became
from tests.servers.running import serve


def model_at(url: str, **changes: Any) -> Model:
    raw = {"name": "tiny", "provider": "openai", "base_url": f"{url}/v1", "deadline_s": 20, "batch_poll_s": 0.01}
    return Model.model_validate({**raw, "batch": "submit", **changes})


def calls_of(n: int) -> list[tuple[str, Call]]:
    return [(f"{i:064d}", Call((Message("user", f"question {i}"),), {"max_tokens": 8})) for i in range(n)]


@contextmanager
def store(folder: Path) -> Iterator[tuple[ReplyCache, Submissions]]:
    url = f"sqlite:///{folder}/replies.sqlite"
    cache, submissions = ReplyCache(url), Submissions(url)
    try:
        yield cache, submissions
    finally:
        cache.close()
        submissions.close()


def bring(model: Model, folder: Path, n: int = 10) -> tuple[dict[str, Answer], Tally]:
    """Ask n questions as one run does: with a client and a store of its own."""

    async def run() -> tuple[dict[str, Answer], Tally]:
        client = open_client(model)
        with store(folder) as (cache, submissions):
            waits = None if model.batch == "off" else submissions
            try:
                return await ask_all(calls_of(n), model=model, client=client, cache=cache, submissions=waits)
            finally:
                await client.close()

    return asyncio.run(run())


def said(body: dict[str, Any]) -> str:
    return f"re: {body['messages'][-1]['content']}"


def errors(answers: dict[str, Answer]) -> dict[int, str]:
    return {int(key): one.error.kind for key, one in answers.items() if one.error}


def test_submitted_first_and_collected_by_a_later_run_out_of_order(tmp_path: Path) -> None:
    server = BatchServer(said, ready=False)
    with serve(server.build()) as url:
        model = model_at(url)
        answers, tally = bring(model, tmp_path)
        assert set(errors(answers).values()) == {"submitted"}
        assert (tally.submitted, tally.answered, tally.failed) == (10, 0, 0)
        assert bring(model, tmp_path)[1].submitted == 10
        server.finish()
        answers, tally = bring(model, tmp_path)
        assert (tally.answered, tally.tokens_in, tally.tokens_out) == (10, 110, 70)
        texts = {int(key): one.reply.text for key, one in answers.items() if one.reply}
        assert texts == {n: f"re: question {n}" for n in range(10)}
        assert bring(model, tmp_path)[1].cached == 10
    assert len(server.made) == 1
    assert set(server.charged.values()) == {1}
    assert server.direct == 0


def test_a_direct_call_finds_what_a_batch_has_answered_and_a_batch_what_was_asked_directly(tmp_path: Path) -> None:
    server = BatchServer(said)
    with serve(server.build()) as url:
        bring(model_at(url, batch="off"), tmp_path, 4)
        _, tally = bring(model_at(url), tmp_path, 10)
        assert (tally.cached, tally.answered) == (4, 6)
        assert bring(model_at(url, batch="off"), tmp_path, 10)[1].cached == 10
    assert server.direct == 4
    assert len(server.charged) == 6


def test_waiting_looks_until_all_is_there(tmp_path: Path) -> None:
    server = BatchServer(said, looks_needed=3)
    with serve(server.build()) as url:
        _, tally = bring(model_at(url, batch="wait"), tmp_path)
    assert tally.answered == 10
    assert server.looks == 4


@pytest.mark.parametrize("status", ["expired", "cancelled", "completed"])
def test_what_was_not_answered_says_why_and_is_submitted_again(tmp_path: Path, status: str) -> None:
    fates: dict[int, Became] = {3: "refused", 5: "expired", 7: "missing"}

    def becomes(name: str, body: dict[str, Any]) -> Became:
        del body
        return fates.get(int(name), "answered")

    server = BatchServer(said, becomes, status=status)
    with serve(server.build()) as url:
        answers, tally = bring(model_at(url), tmp_path)
        assert tally.answered == 7
        lost = "missing" if status == "completed" else status
        assert errors(answers) == {3: "invalid", 5: "expired", 7: lost}
        seventh = answers[f"{7:064d}"].error
        assert seventh is not None
        assert "batch: off" in seventh.message
        fates.clear()
        answers, tally = bring(model_at(url), tmp_path)
        assert (tally.cached, tally.answered) == (7, 3)
    assert {int(name): n for name, n in server.charged.items() if n > 1} == {3: 2, 5: 2, 7: 2}


def test_a_batch_that_the_server_fails_or_forgets_ends_in_a_stated_state(tmp_path: Path) -> None:
    server = BatchServer(said, status="failed")
    with serve(server.build()) as url:
        answers, _ = bring(model_at(url), tmp_path, 2)
        assert set(errors(answers).values()) == {"invalid"}
        first = answers[f"{0:064d}"].error
        assert first is not None
        assert "the file is too long" in first.message
        server.ready = False
        bring(model_at(url), tmp_path, 2)
        server.made.clear()
        answers, _ = bring(model_at(url), tmp_path, 2)
        assert set(errors(answers).values()) == {"missing"}
        server.status, server.ready = "completed", True
        assert bring(model_at(url), tmp_path, 2)[1].answered == 2


def test_a_refused_batch_is_an_error_of_its_requests_and_nothing_waits(tmp_path: Path) -> None:
    server = BatchServer(said, refuse=1)
    with serve(server.build()) as url:
        answers, _ = bring(model_at(url), tmp_path, 3)
        assert set(errors(answers).values()) == {"invalid"}
        assert bring(model_at(url), tmp_path, 3)[1].answered == 3


def test_a_lost_answer_to_the_making_of_a_batch_does_not_make_it_twice(tmp_path: Path) -> None:
    server = BatchServer(said, lose_answers=1)
    with serve(server.build()) as url:
        _, tally = bring(model_at(url), tmp_path)
    assert tally.answered == 10
    assert set(server.charged.values()) == {1}


def test_two_workers_submit_each_request_once(tmp_path: Path) -> None:
    server = BatchServer(said)

    async def both(model: Model) -> list[Tally]:
        clients = [open_client(model) for _ in range(2)]
        with store(tmp_path) as one, store(tmp_path) as other:
            work = (
                ask_all(calls_of(40), model=model, client=client, cache=cache, submissions=submissions)
                for client, (cache, submissions) in zip(clients, (one, other), strict=True)
            )
            found = await asyncio.gather(*work)
        for client in clients:
            await client.close()
        return [tally for _, tally in found]

    with serve(server.build()) as url:
        tallies = asyncio.run(both(model_at(url, batch="wait")))
    assert [tally.cached + tally.answered for tally in tallies] == [40, 40]
    assert set(server.charged.values()) == {1}


def test_a_batch_is_as_large_as_its_results_may_be(tmp_path: Path) -> None:
    server = BatchServer(said)
    with serve(server.build()) as url:
        model = model_at(url, max_tokens=100, max_response_bytes=9_000)
        assert [len(one) for one in portions(dict(calls_of(10)), model)] == [3, 3, 3, 1]
        assert bring(model, tmp_path)[1].answered == 10
    assert len(server.made) == 4


def test_batches_are_for_providers_that_have_them() -> None:
    with pytest.raises(ValidationError, match="provider ollama has no batch endpoint"):
        Model.model_validate({"name": "m", "provider": "ollama", "batch": "submit"})
    raw = {"models": [{"name": "m", "provider": "openai", "batch": "submit"}], "suites": ["basic_control"]}
    assert [model.batch for model in Settings.model_validate(raw).waiting().models] == ["wait"]
