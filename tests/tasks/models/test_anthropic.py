"""Anthropic's Messages API: the real anthropic package against a real server that speaks it."""

import json
from importlib.util import find_spec
from typing import Any

import pytest
from aiohttp import web

from basic_control.config.settings import Model
from basic_control.data.filters import is_filtered
from basic_control.data.records import Call, Message, Reply
from basic_control.data.tools import Tool
from basic_control.data.truncation import LIMITS
from basic_control.tasks.models.anthropic import AnthropicClient
from tests.servers import serve
from tests.servers.service import Answering, Service
from tests.tasks.models.asking import call, error_of, reply_of, using

# Not imported to find out: every worker collects this file, and one runs it.
pytestmark = pytest.mark.skipif(find_spec("anthropic") is None, reason="the extra `anthropic` is not installed")

WEATHER = Tool("get_weather", "Of a city", {"type": "object", "properties": {"city": {"type": "string"}}})


def message(*content: Any, stop: str = "end_turn", **usage: int) -> dict[str, Any]:
    counts = {"input_tokens": 11, "output_tokens": 7, **usage}
    base = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_sequence": None}
    return {**base, "content": [*content], "stop_reason": stop, "usage": counts}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def ask_service(answering: Answering, one: Call, **fields: Any) -> tuple[Reply, list[Any]]:
    service = Service(answering)
    with serve(service.build()) as url:
        model = Model.model_validate(
            {"name": "claude", "provider": "anthropic", "base_url": url, "deadline_s": 20, **fields}
        )
        return reply_of(model, one), service.seen


def error_of_service(answering: Answering) -> tuple[str, str]:
    with serve(Service(answering).build()) as url:
        error = error_of(Model(name="claude", provider="anthropic", base_url=url, deadline_s=20))
        return error.kind, error.message


def test_a_conversation_with_tools_is_written_as_messages_are_asked_for() -> None:
    messages = (
        Message("system", "Be brief."),
        Message("user", "How warm is Rome, and Oslo?"),
        Message(
            "assistant",
            "Let me see.",
            (
                {"name": "get_weather", "arguments": {"city": "Rome"}, "id": "c1"},
                {"name": "get_weather", "arguments": {"city": "Oslo"}, "id": "c2"},
            ),
        ),
        Message("tool", "31", tool_call_id="c1"),
        Message("tool", "3", tool_call_id="c2"),
        Message("user", "So?"),
    )
    one = Call(messages, {"temperature": 0.5, "max_tokens": 64, "seed": 3, "stop": "END"}, tools=(WEATHER,))
    extra = {"tool_choice": "required"}
    reply, ((method, path, headers, body),) = ask_service(lambda *_: message(text("Warm.")), one, extra=extra)
    assert reply == Reply("Warm.", "", "stop", 11, 7)
    assert (method, path, "anthropic-version" in headers) == ("POST", "/v1/messages", True)
    blocks = [{"type": "tool_use", "id": f"c{n}", "name": "get_weather", "input": {"city": city}}
              for n, city in enumerate(("Rome", "Oslo"), 1)]  # fmt: skip
    results = [
        {"type": "tool_result", "tool_use_id": f"c{n}", "content": said} for n, said in ((1, "31"), (2, "3"))
    ]
    assert body == {
        "model": "claude",
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "How warm is Rome, and Oslo?"},
            {"role": "assistant", "content": [text("Let me see."), *blocks]},
            {"role": "user", "content": results},
            {"role": "user", "content": "So?"},
        ],
        "tools": [{"name": "get_weather", "description": "Of a city", "input_schema": WEATHER.parameters}],
        "tool_choice": {"type": "any"},
        "temperature": 0.5,
        "max_tokens": 64,
        "stop_sequences": ["END"],
    }


def test_thinking_calls_and_cached_tokens_are_read() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    used = {"type": "tool_use", "id": "t1", "name": "get_weather", "input": {"city": "Rome"}}
    answer = message(thought, text("I look."), used, stop="tool_use", cache_read_input_tokens=4)
    reply, _ = ask_service(lambda *_: answer, call())
    calls = [{"name": "get_weather", "arguments": {"city": "Rome"}, "id": "t1"}]
    assert reply == Reply("I look.", "Hm.", "tool_use", 15, 7, {"usage": {"cached": 4}, "tool_calls": calls})


def test_tools_of_the_entry_are_chosen_among_as_it_says() -> None:
    extra = {"tools": [{"type": "web_search_20250305", "name": "web_search"}], "tool_choice": "required"}
    _, ((*_, body),) = ask_service(lambda *_: message(text("x")), call(), extra=extra)
    assert body["tools"] == extra["tools"]
    assert body["tool_choice"] == {"type": "any"}


def test_with_thinking_no_sampling_parameter_is_sent_and_a_refused_one_is_left_out() -> None:
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    parameters = {"temperature": 0.0, "max_tokens": 2048}
    _, ((*_, body),) = ask_service(lambda *_: message(text("x")), call(parameters=parameters), extra=thinking)
    assert "temperature" not in body
    assert body["thinking"] == thinking["thinking"]

    def refuse(_number: int, _: Any, body: Any) -> Any:
        if "temperature" not in body:
            return message(text("x"))
        error = {"type": "invalid_request_error", "message": "`temperature` is deprecated for this model."}
        return web.json_response({"type": "error", "error": error}, status=400)

    reply, seen = ask_service(refuse, call(parameters=parameters))
    assert (reply.text, len(seen)) == ("x", 2)


def test_stop_reasons_say_cut_and_refused_replies_as_other_servers_do() -> None:
    cut, _ = ask_service(lambda *_: message(text("Th"), stop="max_tokens"), call())
    assert cut.finish_reason in LIMITS
    refused, _ = ask_service(lambda *_: message(stop="refusal"), call())
    assert is_filtered(refused.finish_reason)


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        (529, "server", "overloaded_error"),
        (429, "rate_limit", "rate_limit_error"),
        (401, "auth", "authentication_error"),
        (404, "unknown_model", "not_found_error"),
        (400, "invalid", "invalid_request_error"),
    ],
)
def test_errors_have_their_kind(status: int, kind: str, code: str) -> None:
    body = json.dumps({"type": "error", "error": {"type": code, "message": "No."}})
    answer = error_of_service(lambda *_: web.Response(status=status, text=body, content_type="application/json"))
    assert answer[0] == kind
    assert f"HTTP {status}: No." in answer[1]


@pytest.mark.parametrize("body", ["{}", "[]", '{"content": [{}]}', "nonsense", '{"content": 5}'])
def test_what_is_no_message_fails_its_call_alone(body: str) -> None:
    kind, _ = error_of_service(lambda *_: web.Response(text=body, content_type="application/json"))
    assert kind == "server"


def test_the_key_goes_into_its_header_and_the_identity_names_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_KEY", "key-of-a-test")
    service = Service(lambda *_: message(text("x")))
    with serve(service.build()) as url:
        model = Model(name="claude", provider="anthropic", base_url=url, api_key_env="CLAUDE_KEY")
        identity = using(model, lambda client: client.identity())
        reply_of(model)
    assert identity == {"provider": "anthropic", "model": "claude", "base_url": url}
    keys = [
        {name.lower(): value for name, value in headers.items()}["x-api-key"] for _, _, headers, _ in service.seen
    ]
    assert keys == ["key-of-a-test"] * 2
    assert isinstance(model.unit.open(model), AnthropicClient)
