"""Asking in batches: no request is paid twice, none is lost, and each that was not answered says why."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import ValidationError

from basic_control.config.settings import Model, Settings
from basic_control.data.records import Call, Message
from basic_control.data.tools import Tool
from basic_control.tasks.models import batch_queue, open_client
from basic_control.tasks.models.batch_queue import split_into_portions
from basic_control.tasks.models.openai_batches import TOKEN
from basic_control.tasks.models.rate_limits import find_endpoint
from basic_control.tasks.models.scheduler import BatchProgress, CallResult, ask_all
from basic_control.tasks.store.reply_cache import FailedCall, Remembered, ReplyCache
from basic_control.tasks.store.submissions import Submissions
from tests.servers.batches import BatchServer, Became
from tests.servers.running import serve


@pytest.fixture(autouse=True)
def _looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_queue, "FIRST_S", 0.01)
    monkeypatch.setattr(batch_queue, "POLL_S", 0.01)
    monkeypatch.setattr(batch_queue, "LOOK_S", 0.01)


def model_at(url: str, **changes: Any) -> Model:
    raw = {"name": "tiny", "provider": "openai", "base_url": f"{url}/v1", "deadline_s": 20}
    return Model.model_validate({**raw, "batch": "submit", **changes})


def ids_of(n: int) -> list[str]:
    return [f"{i:064d}" for i in range(n)]


def calls_of(n: int, *, tools: tuple[Tool, ...] = (), **parameters: Any) -> list[tuple[str, Call]]:
    given = {"max_tokens": 8, **parameters}
    return [(name, Call((Message("user", f"question {int(name)}"),), given, tools=tools)) for name in ids_of(n)]


def endpoint_at(url: str) -> str:
    return f"{find_endpoint(model_at(url))} tiny"


@contextmanager
def store(folder: Path) -> Iterator[tuple[ReplyCache, Submissions]]:
    url = f"sqlite:///{folder}/replies.sqlite"
    cache, submissions = ReplyCache(url), Submissions(url)
    try:
        yield cache, submissions
    finally:
        cache.close()
        submissions.close()


def bring(
    model: Model, folder: Path, n: int = 10, *, run: str = "", **parameters: Any
) -> tuple[dict[str, CallResult], BatchProgress]:
    """Ask n questions as one run does: with a client and a store of its own."""

    async def act() -> tuple[dict[str, CallResult], BatchProgress]:
        client = open_client(model)
        with store(folder) as (cache, submissions):
            waits = None if model.batch == "off" else submissions
            try:
                calls = calls_of(n, **parameters)
                return await ask_all(calls, model=model, client=client, cache=cache, submissions=waits, run=run)
            finally:
                await client.close()

    return asyncio.run(act())


def said(body: dict[str, Any]) -> str:
    return f"re: {body['messages'][-1]['content']}"


def errors(answers: dict[str, CallResult]) -> dict[int, str]:
    return {int(key): one.end.kind for key, one in answers.items() if isinstance(one.end, FailedCall)}


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
        texts = {int(key): one.end.reply.text for key, one in answers.items() if isinstance(one.end, Remembered)}
        assert texts == {n: f"re: question {n}" for n in range(10)}
        assert bring(model, tmp_path)[1].cached == 10
    assert len(server.made) == 1
    assert set(server.charged.values()) == {1}
    assert server.direct == 0


def test_a_batchs_lines_carry_tools_and_its_answers_calls(tmp_path: Path) -> None:
    function = {"name": "f", "arguments": '{"a": 1}'}
    made = {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    server = BatchServer(lambda _: made)
    tool = Tool("f", "Adds", {"type": "object", "properties": {"a": {"type": "integer"}}})
    with serve(server.build()) as url:
        answers, _ = bring(model_at(url), tmp_path, 2, tools=(tool,))
    ends = [answer.end for answer in answers.values()]
    assert [end.reply.extra["tool_calls"] for end in ends if isinstance(end, Remembered)] == [
        [{"name": "f", "arguments": {"a": 1}, "id": "c1"}]
    ] * 2
    (file,) = [name for name in server.files if "output" not in name]
    described = {"name": "f", "description": "Adds", "parameters": tool.parameters}
    for line in server.lines(file):
        assert line["body"]["tools"] == [{"type": "function", "function": described}]


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
        assert errors(answers) == {3: "filtered", 5: "expired", 7: lost}
        seventh = answers[f"{7:064d}"].end
        assert isinstance(seventh, FailedCall)
        assert "batch: off" in seventh.message
        fates.clear()
        answers, tally = bring(model_at(url), tmp_path)
        assert (tally.cached, tally.answered) == (7, 3)
    assert {int(name): n for name, n in server.charged.items() if n > 1} == {3: 2, 5: 2, 7: 2}


def test_a_batch_that_the_server_fails_ends_in_a_stated_state(tmp_path: Path) -> None:
    server = BatchServer(said, status="failed")
    with serve(server.build()) as url:
        answers, _ = bring(model_at(url), tmp_path, 2)
        assert set(errors(answers).values()) == {"invalid"}
        first = answers[f"{0:064d}"].end
        assert isinstance(first, FailedCall)
        assert "the file is too long" in first.message
        server.status = "completed"
        assert bring(model_at(url), tmp_path, 2)[1].answered == 2


def day_passes(folder: Path) -> None:
    """Have every batch be submitted a day and an hour earlier than it was."""
    with sqlite3.connect(folder / "batches.sqlite") as connection:
        connection.execute("UPDATE batches SET submitted_at = submitted_at - 90000")


@pytest.mark.parametrize("away", ["json", "html"])
def test_a_404_within_a_day_is_an_outage_and_the_batch_is_collected_after_it(
    tmp_path: Path, away: Literal["json", "html"]
) -> None:
    server = BatchServer(said, ready=False)
    with serve(server.build()) as url:
        model = model_at(url, deadline_s=0.5)
        bring(model, tmp_path, 12)
        server.away = away
        server.finish()
        answers, tally = bring(model, tmp_path, 12)
        assert tally.submitted == 12
        first = answers[f"{0:064d}"].end
        assert isinstance(first, FailedCall)
        assert "no status from the server" in first.message
        server.away = ""
        assert bring(model, tmp_path, 12)[1].answered == 12
    assert set(server.charged.values()) == {1}


def test_a_gateways_404_is_an_outage_however_old_the_batch_is(tmp_path: Path) -> None:
    server = BatchServer(said, ready=False)
    with serve(server.build()) as url:
        model = model_at(url, deadline_s=0.5)
        bring(model, tmp_path, 2)
        day_passes(tmp_path)
        server.away = "html"
        assert bring(model, tmp_path, 2)[1].submitted == 2
        server.away = ""
        server.finish()
        assert bring(model, tmp_path, 2)[1].answered == 2
    assert set(server.charged.values()) == {1}


def test_a_run_that_waits_leaves_a_batch_that_is_two_days_old(tmp_path: Path) -> None:
    """It has a day; a server that goes on with it for ever would be waited for as long."""
    server = BatchServer(said, ready=False)
    with serve(server.build()) as url:
        bring(model_at(url), tmp_path, 2)
        day_passes(tmp_path)
        day_passes(tmp_path)
        assert bring(model_at(url, batch="wait"), tmp_path, 2)[1].submitted == 2
        server.finish()
        assert bring(model_at(url, batch="wait"), tmp_path, 2)[1].answered == 2
    assert set(server.charged.values()) == {1}


def test_a_run_that_waits_leaves_a_server_that_stays_away_to_a_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_queue, "OUTAGE_S", 0.0)
    server = BatchServer(said, away="json")
    with serve(server.build()) as url:
        _, tally = bring(model_at(url, batch="wait"), tmp_path, 2)
        assert tally.submitted == 2
        server.away = ""
        assert bring(model_at(url, batch="wait"), tmp_path, 2)[1].answered == 2
    assert set(server.charged.values()) == {1}


@pytest.mark.parametrize("how", ["batch", "files"])
def test_a_lost_batch_fails_its_requests_and_the_next_run_submits_them_again(tmp_path: Path, how: str) -> None:
    """After its day: the server does not know the batch, or has kept none of its files."""
    server = BatchServer(said, ready=how == "files", emptied=how == "files")
    with serve(server.build()) as url:
        assert bring(model_at(url), tmp_path, 2)[1].submitted == 2
        day_passes(tmp_path)
        if how == "batch":
            server.made["batch-0"]["id"] = "another"
            server.made["another"] = server.made.pop("batch-0")
        answers, tally = bring(model_at(url), tmp_path, 2, run="second")
        assert tally.failed == 2
        failure = answers[f"{0:064d}"].end
        assert isinstance(failure, FailedCall)
        assert failure.kind == "missing"
        assert "batch-0 is lost" in failure.message
        assert "run again to resubmit it" in failure.message
        assert set(server.charged.values()) == {1}
        assert bring(model_at(url), tmp_path, 2, run="third")[1].submitted == 2
    assert set(server.charged.values()) == {2}


def test_refused_parameters_are_left_out_and_remembered_with_the_model(tmp_path: Path) -> None:
    """A thinking model: it takes no temperature, and calls the limit otherwise. What is refused costs nothing."""
    server = BatchServer(said, ready=False)
    server.refused = {
        "temperature": "Unsupported value: 'temperature' does not support 0 with this model.",
        "max_tokens": "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
    }

    def sent() -> list[set[str]]:
        files = [batch["input_file_id"] for batch in server.made.values()]
        return [{*server.lines(file)[0]["body"]} - {"model", "messages"} for file in files]

    with serve(server.build()) as url:
        model = model_at(url)
        assert bring(model, tmp_path, 3, temperature=0.0)[1].submitted == 3
        server.finish()
        # Collected by a process that has not submitted it, and submitted again until the server takes it.
        _, tally = bring(model, tmp_path, 3, temperature=0.0)
        assert tally.answered == 3
        assert sent() == [{"temperature", "max_tokens"}, {"max_tokens"}, {"max_completion_tokens"}]
        assert bring(model, tmp_path, 5, temperature=0.0)[1].answered == 2
        assert sent()[3:] == [{"max_completion_tokens"}], "another run does not learn it again"


def test_a_parameter_of_the_entrys_own_that_is_refused_is_said_and_not_submitted_again(tmp_path: Path) -> None:
    server = BatchServer(said, refused={"top_k": "Unknown parameter: 'top_k'."})
    with serve(server.build()) as url:
        answers, _ = bring(model_at(url, extra={"top_k": 3}), tmp_path, 2)
        assert set(errors(answers).values()) == {"parameter"}
        first = answers[f"{0:064d}"].end
        assert isinstance(first, FailedCall)
        assert "sets top_k, which the server does not accept" in first.message
    assert len(server.made) == 1


def test_what_a_batch_was_refused_is_refused_to_the_whole_run_and_to_no_other(tmp_path: Path) -> None:
    server = BatchServer(said, lambda name, _: "refused" if int(name) % 2 else "answered")
    with serve(server.build()) as url:
        assert bring(model_at(url), tmp_path, 4, run="r")[1].failed == 2
        assert bring(model_at(url), tmp_path, 4, run="r")[1].failed == 2
        assert len(server.made) == 1
        assert bring(model_at(url), tmp_path, 4, run="another")[1].failed == 2
    assert len(server.made) == 2


def test_a_batch_that_the_list_shows_late_is_not_made_again(tmp_path: Path) -> None:
    """After a kill before its id came, and after a lost answer."""
    server = BatchServer(said, lose_answers=1, unlisted=3)
    with serve(server.build()) as url:
        assert bring(model_at(url), tmp_path)[1].answered == 10
    assert set(server.charged.values()) == {1}

    server = BatchServer(said)
    with serve(server.build()) as url:
        bring(model_at(url), tmp_path / "killed")
        with store(tmp_path / "other") as (_, submissions):
            submissions.begin(server.made["batch-0"]["metadata"][TOKEN], endpoint_at(url), ids_of(10))
        server.listings, server.unlisted = 0, 4
        assert bring(model_at(url), tmp_path / "other")[1].answered == 10
    assert set(server.charged.values()) == {1}


def test_a_batch_that_was_never_made_is_made_once_its_time_in_the_list_has_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = BatchServer(said)
    with serve(server.build()) as url:
        with store(tmp_path) as (_, submissions):
            submissions.begin("gone", endpoint_at(url), ids_of(10))
        monkeypatch.setattr(batch_queue, "SOUGHT_S", 0.05)
        assert bring(model_at(url), tmp_path)[1].answered == 10
    assert server.listings >= 1
    assert set(server.charged.values()) == {1}


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

    async def both(model: Model) -> list[BatchProgress]:
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
        assert [len(one) for one in split_into_portions(dict(calls_of(10)), model)] == [3, 3, 3, 1]
        named = model_at(url, extra={"max_completion_tokens": 100}, max_tokens=10, max_response_bytes=9_000)
        assert [len(one) for one in split_into_portions(dict(calls_of(10)), named)] == [3, 3, 3, 1]
        assert bring(model, tmp_path)[1].answered == 10
    assert len(server.made) == 4


def test_batches_are_for_providers_that_have_them() -> None:
    with pytest.raises(ValidationError, match="provider ollama has no batch endpoint"):
        Model.model_validate({"name": "m", "provider": "ollama", "batch": "submit"})
    raw = {"models": [{"name": "m", "provider": "openai", "batch": "submit"}], "suites": ["basic_control"]}
    assert [model.batch for model in Settings.model_validate(raw).with_waiting().models] == ["wait"]


def test_a_pending_batch_is_found_however_its_address_is_written(tmp_path: Path) -> None:
    server = BatchServer(said, ready=False)
    with serve(server.build()) as url:
        bring(model_at(url), tmp_path, 2)
        assert bring(model_at(url, base_url=f"{url}/v1/"), tmp_path, 2)[1].submitted == 2
    assert set(server.charged.values()) == {1}
