"""Judges that decide over real HTTP: what each wire is sent, and how its answers and failures are read."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from basic_control.config.settings import Judge, Model
from basic_control.data.errors import InputError
from basic_control.data.records import Call, Message, Reply
from basic_control.data.typed import TypedQuestion
from basic_control.tasks.models import open_client
from basic_control.tasks.models.protocol import FATAL, CallError
from basic_control.tasks.models.running import group_by_text
from tests.servers.deciding import Decide, DecidingServer
from tests.servers.running import serve, serve_openai

STATE = json.dumps({"source": "The sky is blue.", "claim": "The sky is blue."})
SUPPORT = TypedQuestion("choice", "Decide.", {}, {"ENTAILMENT": "it follows", "NEUTRAL": "", "CONTRADICTION": ""})
RATING = TypedQuestion("levels", "Rate.", {}, {"0": "none", "1": "some", "2": ""})
YES = TypedQuestion("yes_no", "The sky is blue.", {}, {"yes": "", "no": ""})
SHARES = {"ENTAILMENT": 0.7, "NEUTRAL": 0.2, "CONTRADICTION": 0.1, "yes": 0.75, "no": 0.25}
LEVELS = {"0": 0.1, "none": 0.1, "1": 0.2, "some": 0.2, "2": 0.7}


def spread(_state: str, _instructions: str, labels: list[str]) -> Mapping[str, float]:
    known = {**SHARES, **LEVELS, "it follows": 0.7}
    return {label: known[label] for label in labels}


def call_of(question: TypedQuestion, state: str = STATE) -> Call:
    return Call(messages=(Message("user", state),), typed=question)


@contextmanager
def deciding(decide: Decide = spread, **told: Any) -> Iterator[tuple[DecidingServer, str]]:
    server = DecidingServer(decide, **told)
    with serve(server.build()) as url:
        yield server, url


def judge_at(url: str, api: str, **changes: Any) -> Judge:
    keys = {"name": "small", "provider": "openai", "base_url": f"{url}/v1", "api": api, "deadline_s": 20, **changes}
    return Judge.model_validate(keys)


def ask_at_once(judge: Judge, *calls: Call) -> list[Any]:
    async def run() -> list[Any]:
        client: Any = open_client(judge)
        try:
            if len(calls) > 1:
                return list(await client.ask_together(calls))
            return await asyncio.gather(*map(client.ask, calls), return_exceptions=True)
        finally:
            await client.close()

    return asyncio.run(run())


def probabilities(reply: Reply) -> dict[str, float]:
    return dict(json.loads(reply.text)["probabilities"])


@pytest.mark.parametrize("api", ["decisions", "systemone"])
def test_questions_about_one_text_share_a_request_and_are_answered_as_if_asked_singly(api: str) -> None:
    calls = [call_of(SUPPORT), call_of(RATING), call_of(YES)]
    with deciding() as (server, url):
        together = ask_at_once(judge_at(url, api), *calls)
        assert len(server.bodies) == 1
        assert server.questions == 3
        singly = [ask_at_once(judge_at(url, api), call)[0] for call in calls]
    assert [reply.text for reply in together] == [reply.text for reply in singly]
    assert probabilities(together[0]) == {label: SHARES[label] for label in SUPPORT.labels}
    assert probabilities(together[1]) == {"0": 0.1, "1": 0.2, "2": 0.7}
    assert probabilities(together[2]) == {"yes": 0.75, "no": 0.25}
    assert sum(reply.tokens_in for reply in together) == singly[0].tokens_in, "shared out, not counted thrice"


def test_requests_are_grouped_by_the_text_that_they_are_about() -> None:
    other = json.dumps({"claim": "Grass is blue."})
    prompt = TypedQuestion("yes_no", "", {}, {"yes": "", "no": ""})
    calls = {
        "a": call_of(YES),
        "b": call_of(YES, other),
        "c": call_of(RATING),
        "d": Call(messages=(Message("user", STATE),)),
        "e": call_of(prompt),
    }
    assert group_by_text(calls, calls) == [["a", "c"], ["b"], ["d"], ["e"]]


def test_the_decisions_wire_is_written_by_the_packages_types_with_descriptions_and_extra() -> None:
    with deciding() as (server, url):
        ask_at_once(
            judge_at(url, "decisions", extra={"safety_identifier": "me"}), call_of(SUPPORT), call_of(RATING)
        )
    (body,) = server.bodies
    assert body["input"] == STATE
    assert (body["model"], body["safety_identifier"]) == ("small", "me")
    choice, score = body["questions"]
    assert choice["choices"] == [
        {"value": "ENTAILMENT", "description": "it follows"}, {"value": "NEUTRAL"}, {"value": "CONTRADICTION"},
    ]  # fmt: skip
    assert score["levels"] == [
        {"label": "0", "description": "none"}, {"label": "1", "description": "some"}, {"label": "2"},
    ]  # fmt: skip


def test_azure_is_asked_at_its_own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k" * 20)
    with deciding() as (server, url):
        keys = {"base_url": url, "provider": "azure", "api_version": "2026-10-01"}
        (reply,) = ask_at_once(judge_at(url, "decisions", **keys), call_of(YES))
    assert probabilities(reply) == {"yes": 0.75, "no": 0.25}
    assert all(path.startswith("/openai/") for path in server.paths)


def test_system_one_gets_the_state_as_an_object_and_long_scales_as_a_choice() -> None:
    wide = TypedQuestion("levels", "Rate.", {}, {str(level): "" for level in range(1, 13)})

    def decide(_state: str, _instructions: str, labels: list[str]) -> Mapping[str, float]:
        return {label: 1 / len(labels) for label in labels}

    with deciding(decide) as (server, url):
        (reply,) = ask_at_once(judge_at(url, "systemone"), call_of(wide))
    (body,) = server.bodies
    assert body["state"] == json.loads(STATE)
    assert body["questions"]["q1"]["type"] == "choice"
    assert set(probabilities(reply)) == set(wide.labels)


@pytest.mark.parametrize("api", ["decisions", "systemone"])
def test_a_refusal_concerns_its_own_question(api: str) -> None:
    def decline(_state: str, instructions: str, labels: list[str]) -> Mapping[str, float] | None:
        return None if instructions == "Rate." else spread(_state, instructions, labels)

    with deciding(decline) as (_, url):
        refused, answered = ask_at_once(judge_at(url, api), call_of(RATING), call_of(YES))
    assert json.loads(refused.text) == {"refusal": True}
    assert probabilities(answered)["yes"] == 0.75


@pytest.mark.parametrize("spoil", [
    lambda body: {**body, "answers": []},
    lambda _: {"model": "m"},
    lambda body: {**body, "answers": None},
    lambda _: [],
    lambda body: {**body, "answers": [{"type": "score", "name": "q1"}]},
    lambda body: {**body, "answers": [{**body["answers"][0], "name": "q2"}]},
    lambda body: {**body, "answers": [7]},
])  # fmt: skip
def test_malformed_answers_fail_the_call_with_their_cause(spoil: Any) -> None:
    with deciding(spoil=spoil) as (_, url):
        (error,) = ask_at_once(judge_at(url, "decisions"), call_of(YES))
    assert isinstance(error, CallError)
    assert error.kind == "server"
    assert "127.0.0.1" in error.message or "answer 1" in error.message


@pytest.mark.parametrize("status", [404, 501])
def test_a_server_that_does_not_decide_is_given_up_with_what_to_check(status: int) -> None:
    with deciding(status=status) as (_, url):
        (error,) = ask_at_once(judge_at(url, "systemone"), call_of(YES))
    assert isinstance(error, CallError)
    assert error.kind == "unknown_model"
    assert "decision model" in error.message


def test_a_chat_models_first_token_decides_by_its_alternatives() -> None:
    prompt = "Decide. Reply with one of: ENTAILMENT, NEUTRAL, CONTRADICTION"

    def decide(_prompt: str, _instructions: str, _labels: list[str]) -> Mapping[str, float]:
        return {"ENTAILMENT": 0.4, "NEUTRAL": 0.1, "Well": 0.3}

    with deciding(decide) as (server, url):
        (reply,) = ask_at_once(judge_at(url, "logprobs"), call_of(SUPPORT, prompt))
    (body,) = server.bodies
    assert (body["max_tokens"], body["logprobs"], body["temperature"]) == (1, True, 0.0)
    shares = probabilities(reply)
    assert shares == pytest.approx({"ENTAILMENT": 0.8, "NEUTRAL": 0.2, "CONTRADICTION": 0.0})


def test_a_chat_model_that_writes_something_else_has_not_answered() -> None:
    def decide(_prompt: str, _instructions: str, _labels: list[str]) -> Mapping[str, float]:
        return {"Well": 0.5, "ENTAILMENT": 0.4}

    with deciding(decide) as (_, url):
        (reply,) = ask_at_once(judge_at(url, "logprobs"), call_of(SUPPORT, "a, b"))
    assert set(probabilities(reply)) == {"Wel"}, "which no label is, so that it is unreadable"


def test_labels_that_begin_with_one_token_are_refused_by_name() -> None:
    scale = TypedQuestion("levels", "", {}, {"1": "", "10": ""})

    def decide(_prompt: str, _instructions: str, _labels: list[str]) -> Mapping[str, float]:
        return {"1": 1.0}

    with deciding(decide) as (_, url):
        (error,) = ask_at_once(judge_at(url, "logprobs"), call_of(scale, "1, 10"))
    assert isinstance(error, CallError)
    assert "the labels 1, 10 begin with the same token" in error.message


def test_a_server_without_log_probabilities_is_told_so_and_not_tried_again() -> None:
    with serve_openai("ENTAILMENT") as server:
        (error,) = ask_at_once(judge_at(server.base_url.removesuffix("/v1"), "logprobs"), call_of(SUPPORT, "a, b"))
    assert isinstance(error, CallError)
    assert error.kind in FATAL
    assert "it sent no log probabilities, which `api: logprobs` needs" in error.message


@pytest.mark.parametrize("api", ["decisions", "systemone", "logprobs"])
def test_only_judges_decide_and_only_at_once(api: str) -> None:
    keys = {"name": "m", "provider": "openai", "base_url": "http://127.0.0.1:1/v1", "api": api}
    with pytest.raises((InputError, ValueError), match="only an entry of `judges` decides"):
        Model.model_validate(keys)
    with pytest.raises((InputError, ValueError), match="no batch endpoint"):
        Judge.model_validate({**keys, "batch": "wait"})
    assert Judge.model_validate(keys).decides
