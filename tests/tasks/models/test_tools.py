"""Tools and calls through every provider: what is sent, and what is read, byte by byte."""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from basic_control.config.settings import Model
from basic_control.data.records import Call, Message, Reply
from basic_control.data.tools import Tool
from tests.servers import Answer, serve, serve_ollama, serve_openai
from tests.servers.service import Service
from tests.tasks.models.asking import ask, reply_of

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = Tool("get_weather", "Of a city", SCHEMA)
FUNCTION = {"name": "get_weather", "description": "Of a city", "parameters": SCHEMA}
MESSAGES = (
    Message("user", "How warm is Rome?"),
    Message("assistant", "", ({"name": "get_weather", "arguments": {"city": "Rome"}, "id": "c1"},)),
    Message("tool", "31", tool_call_id="c1", name="get_weather"),
)
ASKED = Call(MESSAGES, {"max_tokens": 64}, tools=(WEATHER,))
ROME = '{"city": "Rome"}'


def at(server: Any, **fields: Any) -> Model:
    given = {"name": "m", "provider": "openai", "base_url": server.base_url, "deadline_s": 20, **fields}
    return Model.model_validate(given)


def test_chat_completions() -> None:
    made = {"tool_calls": [{"id": "c2", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]}
    with serve_openai(Answer(None, finish_reason="tool_calls", message=made)) as server:
        reply = reply_of(at(server), ASKED)
        body = server.requests[0].body
    assert reply == Reply(
        "", "", "tool_calls", 11, 7, {"tool_calls": [{"name": "f", "arguments": {"a": 1}, "id": "c2"}]}
    )
    assert body["tools"] == [{"type": "function", "function": FUNCTION}]
    call = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": ROME}}
    assert body["messages"] == [
        {"role": "user", "content": "How warm is Rome?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "31", "tool_call_id": "c1", "name": "get_weather"},
    ]


def test_azure_is_asked_as_openai_is_at_its_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_KEY", "secret")
    made = {"tool_calls": [{"id": "c2", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]}
    with serve_openai(Answer(None, finish_reason="tool_calls", message=made)) as server:
        url = server.base_url.removesuffix("/v1")
        model = at(
            server, provider="azure", base_url=url, api_version="2025-01-01-preview", api_key_env="AZURE_KEY"
        )
        reply = reply_of(model, ASKED)
        (request,) = server.requests
    assert reply.extra["tool_calls"] == [{"name": "f", "arguments": {"a": 1}, "id": "c2"}]
    assert request.path.startswith("/openai/deployments/m/chat/completions")
    assert request.body["tools"] == [{"type": "function", "function": FUNCTION}]
    assert [message["role"] for message in request.body["messages"]] == ["user", "assistant", "tool"]


def test_calls_of_geminis_compatible_endpoint_are_read() -> None:
    """It says `stop`, gives ids that are empty, and signs what it thought."""
    signed = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    function = {"name": "f", "arguments": '{"a": 1}'}
    made = {"role": "assistant", "tool_calls": [{"id": "", "type": "function", "function": function, **signed}]}
    app = web.Application()
    bodies: list[dict[str, Any]] = []

    async def answer(request: web.Request) -> web.Response:
        bodies.append(await request.json())
        choice = {"finish_reason": "stop", "index": 0, "message": made}
        usage = {"completion_tokens": 12, "prompt_tokens": 80, "total_tokens": 140}
        return web.json_response(
            {"choices": [choice], "created": 1, "model": "gemini", "object": "chat.completion", "usage": usage}
        )

    app.router.add_post("/v1beta/openai/chat/completions", answer)
    with serve(app) as url:
        model = Model.model_validate(
            {"name": "gemini", "provider": "openai", "base_url": f"{url}/v1beta/openai/", "deadline_s": 20}
        )
        reply = reply_of(model, ASKED)
    (call,) = reply.extra["tool_calls"]
    assert (call["name"], call["arguments"]) == ("f", {"a": 1})
    assert reply.text == ""
    assert bodies[0]["tools"] == [{"type": "function", "function": FUNCTION}]


@pytest.mark.parametrize("arguments", ["{broken", "[1]", '"text"', None, ""])
def test_arguments_that_are_no_mapping_fail_no_call(arguments: Any) -> None:
    made = {"tool_calls": [{"id": "c2", "type": "function", "function": {"name": "f", "arguments": arguments}}]}
    with serve_openai(Answer(None, message=made)) as server:
        (call,) = reply_of(at(server), ASKED).extra["tool_calls"]
    assert call == {"name": "f", "arguments": arguments or {}, "id": "c2"}


def test_what_says_how_to_choose_is_not_sent_without_tools() -> None:
    with serve_openai("x") as server:
        model = at(server, extra={"tool_choice": "required"})
        ask(model, ASKED, Call(MESSAGES[:1]))
        first, second = (request.body for request in server.requests)
    assert first["tool_choice"] == "required"
    assert "tool_choice" not in second


def test_responses() -> None:
    made = {"type": "function_call", "id": "fc", "call_id": "c2", "name": "f", "arguments": '{"a": 1}'}
    with serve_openai(Answer("", body={"output": [made]})) as server:
        reply = reply_of(at(server, api="responses"), ASKED)
        body = server.requests[0].body
    assert reply.extra["tool_calls"] == [{"name": "f", "arguments": {"a": 1}, "id": "c2"}]
    assert body["tools"] == [{"type": "function", **FUNCTION}]
    assert body["input"] == [
        {"role": "user", "content": "How warm is Rome?"},
        {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": ROME},
        {"type": "function_call_output", "call_id": "c1", "output": "31"},
    ]


def test_ollama() -> None:
    made = {"tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}
    with serve_ollama(Answer("", message=made)) as server:
        reply = reply_of(at(server, provider="ollama"), ASKED)
        body = server.requests[0].body
    assert reply.extra["tool_calls"] == [{"name": "f", "arguments": {"a": 1}}]
    assert body["tools"] == [{"type": "function", "function": FUNCTION}]
    assert body["messages"][1]["tool_calls"] == [
        {"function": {"name": "get_weather", "arguments": {"city": "Rome"}}}
    ]
    assert body["messages"][2] == {"role": "tool", "content": "31", "tool_name": "get_weather"}


def test_an_application_s_turns_are_its_answer_and_its_calls(tmp_path: Path) -> None:
    turns = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "31"},
        {"role": "assistant", "content": "It is warm."},
    ]
    service = Service(lambda *_: {"turns": turns})
    with serve(service.build()) as url:
        body = {"chat": "{{ messages }}", "tools": "{{ tools }}"}
        model = Model.model_validate(
            {"name": "app", "provider": "http", "base_url": url, "body": body, "messages": "turns"}
        )
        reply = reply_of(model, ASKED)
        sent = service.seen[0][3]
    assert (reply.text, reply.extra["tool_calls"]) == ("It is warm.", [{"name": "f", "arguments": {}, "id": "1"}])
    assert sent["tools"] == [FUNCTION]
    assert sent["chat"][2] == {"role": "tool", "content": "31", "tool_call_id": "c1", "name": "get_weather"}
    source = (
        f"def answer(prompt, tools):\n    return {{'calls': [{{'name': tools[0]['name'], 'arguments': {ROME}}}]}}\n"
    )
    (tmp_path / "app.py").write_text(source, encoding="utf-8")
    function = Model.model_validate({"name": "app", "provider": "python", "function": f"{tmp_path}/app.py:answer"})
    assert reply_of(function, ASKED) == Reply(
        "", extra={"tool_calls": [{"name": "get_weather", "arguments": {"city": "Rome"}}]}
    )


def test_the_embedded_engine_calls_a_tool_that_it_must_call() -> None:
    pytest.importorskip("xllamacpp", reason="the extra `embedded` is not installed")
    model = Model(name="smollm2", provider="embedded", extra={"tool_choice": "required"})
    (reply,) = ask(model, Call(MESSAGES[:1], {"temperature": 0, "max_tokens": 120}, tools=(WEATHER,)))
    assert isinstance(reply, Reply)
    (call,) = reply.extra["tool_calls"]
    assert call["name"] == "get_weather"
    assert isinstance(call["arguments"]["city"], str)
    assert json.dumps(call)
