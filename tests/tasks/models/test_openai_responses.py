"""OpenAI's responses: the real openai package against a real server that refuses what they do not have."""

import logging
from typing import Any

import httpx
import pytest
from openai.types.responses import Response

from basic_control.config.settings import Model
from basic_control.data.records import Call, Message, Reply
from basic_control.data.truncation import is_cut
from basic_control.tasks.models import open_client
from basic_control.tasks.models.openai import OpenAIClient
from basic_control.tasks.models.openai_batches import OpenAIBatches
from basic_control.tasks.models.protocol import BatchState, CallError, Client
from basic_control.tasks.models.requests import build_request
from tests.servers import Answer, Fault, Server, serve, serve_openai
from tests.servers.batches import BatchServer
from tests.tasks.models.asking import ask, call, error_of, reply_of, using

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
PARAMETERS = {"temperature": 0.5, "max_tokens": 64, "top_p": 0.9}


def model(server: Server, **fields: Any) -> Model:
    shared = {"name": "m", "provider": "openai", "base_url": server.base_url, "api": "responses", "deadline_s": 20}
    return Model.model_validate(shared | fields)


def test_a_call_is_written_as_a_response_is_asked_for_and_is_not_kept_at_the_server() -> None:
    extra = {"reasoning_effort": "low", "reasoning": {"summary": "auto"}, "verbosity": "low"}
    messages = (Message("system", "Be brief."), Message("user", "Say it."))
    with serve_openai("hi") as server:
        reply_of(model(server, model="served", extra=extra), Call(messages, PARAMETERS, schema=SCHEMA))
        (seen,) = server.requests
    assert seen.path == "/v1/responses"
    assert seen.body == {
        "model": "served",
        "input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say it."}],
        "temperature": 0.5,
        "top_p": 0.9,
        "max_output_tokens": 64,
        "reasoning": {"effort": "low", "summary": "auto"},
        "store": False,
        "text": {
            "verbosity": "low",
            "format": {"type": "json_schema", "name": "reply", "schema": SCHEMA, "strict": True},
        },
    }


def test_thinking_stands_apart_and_its_tokens_are_counted() -> None:
    with serve_openai(Answer("42", "six times seven", tokens_in=5, tokens_out=90, thinking=80, cached=4)) as server:
        reply = reply_of(model(server))
    assert reply == Reply("42", "six times seven", "stop", 5, 90, {"usage": {"thinking": 80, "cached": 4}})


@pytest.mark.parametrize(
    ("spoken", "text", "finish", "cut"),
    [
        (Answer("4", finish_reason="max_output_tokens"), "4", "max_output_tokens", True),
        (Answer(None, "hm", finish_reason="max_output_tokens"), "", "max_output_tokens", True),
        (Answer(None, finish_reason="content_filter"), "", "content_filter", False),
        (Answer(None, message={"refusal": "I will not."}), "I will not.", "refusal", False),
        (Answer("42"), "42", "stop", False),
    ],
)
def test_an_incomplete_response_is_cut_and_a_refusal_is_its_text(
    spoken: Answer, text: str, finish: str, *, cut: bool
) -> None:
    with serve_openai(spoken) as server:
        reply = reply_of(model(server))
    assert (reply.text, reply.finish_reason) == (text, finish)
    row = {"finish_reason": finish, "text": text, "reasoning": "", "tokens_out": 7, "payload": "{}"}
    assert is_cut(row) is cut


def test_a_seed_is_left_out_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    with serve_openai("hi") as server, caplog.at_level(logging.WARNING):
        ask(model(server), *(call(p, parameters={"seed": 0}) for p in "abc"))
        assert [r.path for r in server.requests] == ["/v1/responses"] * 3, "none was refused"
    assert caplog.text.count("no parameter 'seed'; continuing without it") == 1


def test_an_extra_that_responses_do_not_have_is_refused_with_the_configuration() -> None:
    with pytest.raises(ValueError, match=r"found `extra\.stop`, which the responses API does not have"):
        Model.model_validate({"name": "m", "provider": "openai", "api": "responses", "extra": {"stop": ["END"]}})


def test_a_server_without_structured_output_is_asked_without_it(caplog: pytest.LogCaptureFixture) -> None:
    refuse = {"text": "Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model."}
    with serve_openai("{}", refuse=refuse) as server, caplog.at_level(logging.WARNING):
        reply_of(model(server), call(schema=SCHEMA))
        forms = [r.body.get("text", {}).get("format", {}).get("type") for r in server.requests]
    assert forms == ["json_schema", "json_object", None]
    assert "refuses text.format json_schema" in caplog.text


def test_an_entry_that_sets_how_much_is_written_is_asked_in_a_weaker_way_too() -> None:
    def refuse(_: int, body: dict[str, Any]) -> Fault | None:
        is_schema = body["text"]["format"]["type"] == "json_schema"
        message = "Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model."
        return Fault("status", status=400, message=message) if is_schema else None

    with serve_openai("{}", faults=refuse) as server:
        reply_of(model(server, extra={"text": {"verbosity": "low"}}), call(schema=SCHEMA))
        texts = [request.body["text"] for request in server.requests]
    assert [text["format"]["type"] for text in texts] == ["json_schema", "json_object"]
    assert {text["verbosity"] for text in texts} == {"low"}


@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        ({"status": "failed", "error": {"code": "server_error", "message": "Sorry."}}, "server", "Sorry."),
        ({"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "Slow."}}, "rate_limit", "Slow."),
        ({"status": "failed", "error": {"code": "invalid_prompt", "message": "No."}}, "invalid", "No."),
        ({"status": "cancelled"}, "server", "the response has the status 'cancelled'"),
        ({"output": "none"}, "server", "sent no output of a response"),
    ],
)
def test_a_response_that_failed_has_its_kind(body: dict[str, Any], kind: str, told: str) -> None:
    with serve_openai(Answer("hi", body=body)) as server:
        error = error_of(model(server))
    assert error.kind == kind
    assert told in error.message


@pytest.mark.parametrize("fault", [Fault("empty"), Fault("broken_json"), Fault("status", 500)])
def test_a_body_that_is_none_is_the_servers_fault(fault: Fault) -> None:
    with serve_openai("late", faults=[fault]) as server:
        assert error_of(model(server)).kind == "server"


def test_azure_is_asked_for_responses_beside_its_deployments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "a-key")
    with serve_openai("hi", key="a-key") as server:
        reply_of(model(server, provider="azure", base_url=server.url, api_version="preview", model="mine"))
        (seen,) = server.requests
    assert (seen.path, seen.query, seen.body["model"]) == ("/openai/responses", "api-version=preview", "mine")


def test_only_an_entry_that_asks_for_responses_has_another_identity() -> None:
    """Replies of earlier versions were chats, and are found again under the ids that they had."""
    messages, entry = (Message("user", "x"),), {"name": "m", "provider": "openai"}
    with serve_openai("hi") as server:
        told = {
            api: dict(using(model(server, api=api), lambda client: client.identity()))
            for api in ("chat", "responses")
        }
        before = {"provider": "openai", "model": "m", "base_url": server.base_url}
    assert told == {"chat": before, "responses": before | {"api": "responses"}}
    fixed = {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:8000/v1"}
    asked = [
        build_request(Model.model_validate(entry | more), fixed, messages, item_id="x")["request_id"]
        for more in ({}, {"api": "chat"})
    ]
    assert asked == [BEFORE] * 2


BEFORE = "4a0724e201751ef3b0affdf7a4067706406773bb290a3e92c13ea718d6744cd3"
"""The id that this request had before there was a choice."""


def test_a_batch_goes_to_the_same_endpoint() -> None:
    batches = BatchServer(lambda body: body["input"][0]["content"].upper())

    async def act(client: Client) -> dict[str, Reply | CallError]:
        assert isinstance(client, OpenAIClient)
        behind = OpenAIBatches(client)
        calls = {"one": call("a"), "two": call("b")}
        batch = await behind.create(await behind.upload(calls, "token"), "token")
        state: BatchState = await behind.look(batch)
        return {name: found async for name, found in behind.results(state, calls, behind.dialect.lessons)}

    with serve(batches.build()) as url:
        entry = {"name": "m", "provider": "openai", "base_url": f"{url}/v1", "api": "responses"}
        found = using(Model.model_validate(entry), act)
    assert {name: one.text for name, one in found.items() if isinstance(one, Reply)} == {"one": "A", "two": "B"}


def test_the_test_servers_responses_are_whole_to_the_openai_package() -> None:
    with serve_openai(Answer("42", "six times seven", thinking=5)) as server:
        told = httpx.post(server.base_url + "/responses", json={"model": "m", "input": "x"}).json()
        refused = httpx.post(server.base_url + "/responses", json={"model": "m", "input": "x", "seed": 1})
    assert Response.model_validate(told, strict=True).output_text == "42"
    assert refused.json()["error"]["message"] == "Unknown parameter: 'seed'."


def test_an_unknown_api_is_one_clear_message() -> None:
    with pytest.raises(ValueError, match="api"):
        open_client(Model.model_validate({"name": "m", "provider": "openai", "api": "assistants"}))
