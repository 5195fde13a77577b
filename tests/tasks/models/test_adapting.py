"""What a server refuses by name is left out, moved or asked for in a weaker way: remembered, and said once."""

import logging
from typing import Any

import pytest

from basic_control.config.settings import Model
from basic_control.data.records import Call, Message, Reply
from tests.servers.running import Server, serve_ollama, serve_openai
from tests.servers.script import Fault
from tests.tasks.models.asking import ask, call, error_of

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def model_of(server: Server, provider: str = "openai", **fields: Any) -> Model:
    return Model.model_validate({"name": "m", "provider": provider, "base_url": server.base_url, **fields})


def sent(server: Server, name: str) -> list[bool]:
    """Return whether each request had a parameter."""
    return [name in request.body for request in server.requests]


def check_left_out(
    name: str, message: str, caplog: pytest.LogCaptureFixture, status: int = 400, raw: str = ""
) -> None:
    """Check that a parameter is left out after its first refusal, which is said once."""

    def refuse(_: int, body: dict[str, Any]) -> Fault | None:
        if name not in body:
            return None
        return Fault("status", status=status, message=message, raw=raw or None)

    parameters = {name: ["x"] if name == "stop" else 1, "logit_bias": None}
    with serve_openai("hi", faults=refuse) as server, caplog.at_level(logging.WARNING):
        replies = ask(model_of(server), *[call(text, parameters=parameters) for text in "abc"])
        assert sent(server, name) == [True, False, False, False]
    assert all(isinstance(reply, Reply) for reply in replies)
    assert caplog.text.count(f"refuses the parameter {name!r}; continuing without it") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("temperature", "Unsupported value: `temperature` does not support 0.0 with this model."),
        ("temperature", "\u201ctemperature\u201d is deprecated for this model."),
        ("temperature", "invalid temperature: only 1 is allowed for this model"),
        ("temperature", "temperature: Extra inputs are not permitted"),
        ("temperature", "`temperature` may only be set to 1 when thinking is enabled."),
        ("top_p", "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."),
        ("seed", "property seed is unsupported"),
        ("seed", "Unrecognized request argument supplied: seed"),
        ("seed", 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'),
        ("seed", "This endpoint does not currently support the seed parameter"),
        ("top_p", "top_p cannot be specified together with temperature for this model"),
        ("top_p", "The parameter Top P isn't supported"),
        ("stop", "stop is not available for reasoning models"),
        ("presence_penalty", "presence penalty is no longer supported"),
        ("frequency_penalty", "unexpected keyword argument frequency_penalty"),
    ],
)
def test_a_refused_parameter_is_recognised_by_its_name_whatever_the_quotes(
    name: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    check_left_out(name, message, caplog)


def test_a_refusal_may_be_a_list_of_errors(caplog: pytest.LogCaptureFixture) -> None:
    raw = '{"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "not permitted"}]}'
    check_left_out("seed", "", caplog, status=422, raw=raw)


@pytest.mark.parametrize(
    "message",
    [
        "temperature must be between 0 and 2",
        "the seeded conversation is not supported",
        "max context length exceeded; unsupported top_probability",
    ],
)
def test_a_wrong_value_or_another_word_leaves_nothing_out(message: str) -> None:
    with serve_openai("hi", faults=lambda *_: Fault("status", status=400, message=message)) as server:
        question = call(parameters={"temperature": 3.0, "seed": 1, "top_p": 1})
        assert error_of(model_of(server), question).kind == "invalid"
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "System role not supported"),
        (500, "Jinja Exception: System role not supported"),
        (400, "Unsupported value: 'messages[0].role' does not support 'system' with this model."),
        (400, "Developer instruction is not enabled for models/gemma-3-27b-it"),
        (400, "Conversation roles must alternate user/assistant/user/assistant/..."),
        (400, "Only user and assistant roles are supported!"),
        (422, "invalid role: system"),
        (400, "The model does not accept system prompts as a message"),
    ],
)
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_system_message_that_is_refused_is_put_into_the_users(
    api: str, status: int, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: int, body: dict[str, Any]) -> Fault | None:
        roles = [entry["role"] for entry in body.get("messages", body.get("input", ()))]
        return Fault("status", status=status, message=message) if "system" in roles else None

    question = Call(messages=(Message("system", "Be brief."), Message("user", "Hello!")))
    with serve_openai("hi", faults=refuse) as server, caplog.at_level(logging.WARNING):
        replies = ask(model_of(server, api=api), question, question)
        bodies = [request.body for request in server.requests]
    assert [getattr(reply, "text", reply) for reply in replies] == ["hi", "hi"]
    messages = [body.get("messages", body.get("input")) for body in bodies]
    assert len(messages) == 3
    assert messages[1] == messages[2] == [{"role": "user", "content": "Be brief.\n\nHello!"}]
    assert caplog.text.count("refuses a system message; continuing with its text in the user's") == 1


SCHEMAS = [
    (400, "The provided JSON schema contains features not supported by xgrammar."),
    (400, "Failed to compile grammar"),
    (400, "JSON schema conversion failed: Unrecognized schema: true"),
    (500, "Failed to initialize samplers: failed to parse grammar"),
    (400, 'Unimplemented keys: ["minItems"]'),
    (400, "guidance could not compile the request"),
    (400, "Invalid schema for response_format 'reply': 'additionalProperties' is required"),
    (422, "structured outputs are not enabled on this deployment"),
]


@pytest.mark.parametrize(("status", "message"), SCHEMAS)
def test_a_schema_that_a_server_cannot_hold_to_is_asked_for_as_json(
    status: int, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: int, body: dict[str, Any]) -> Fault | None:
        is_schema = body.get("response_format", {}).get("type") == "json_schema"
        return Fault("status", status=status, message=message) if is_schema else None

    with serve_openai("{}", faults=refuse) as server, caplog.at_level(logging.WARNING):
        replies = ask(model_of(server), call("one", schema=SCHEMA), call("two", schema=SCHEMA))
        forms = [request.body.get("response_format", {}).get("type") for request in server.requests]
    assert all(isinstance(reply, Reply) for reply in replies)
    assert forms == ["json_schema", "json_object", "json_object"]
    assert caplog.text.count("refuses response_format json_schema; continuing with 'json'") == 1


@pytest.mark.parametrize(
    "message", ["invalid JSON schema in format", "failed to parse grammar", "invalid format: {}"]
)
def test_ollama_is_asked_for_json_where_it_refuses_a_schema(message: str, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(_: int, body: dict[str, Any]) -> Fault | None:
        return Fault("status", status=500, message=message) if isinstance(body.get("format"), dict) else None

    with serve_ollama("{}", faults=refuse) as server, caplog.at_level(logging.WARNING):
        model = model_of(server, "ollama")
        replies = ask(model, call("one", schema=SCHEMA), call("two", schema=SCHEMA))
        forms = [request.body.get("format") for request in server.requests]
    assert all(isinstance(reply, Reply) for reply in replies), replies
    assert forms == [SCHEMA, "json", "json"]
    assert caplog.text.count("refuses format schema; continuing with 'json'") == 1


@pytest.mark.parametrize("extra", [{"format": SCHEMA}, {"options": {"format": SCHEMA}}])
def test_a_form_that_the_entry_sets_for_ollama_and_that_is_refused_fails(extra: dict[str, Any]) -> None:
    fault = Fault("status", status=400, message="invalid JSON schema in format")
    with serve_ollama("{}", faults=lambda *_: fault) as server:
        error = error_of(model_of(server, "ollama", extra=extra), call("one", schema=SCHEMA))
        assert "invalid JSON schema in format" in error.message
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("provider", "name", "limit"),
    [("ollama", "max_completion_tokens", 99), ("ollama", "num_predict", 9), ("openai", "num_predict", 99)],
)
def test_a_name_that_another_api_has_for_the_limit_does_not_take_it_away(
    provider: str, name: str, limit: int
) -> None:
    serve = serve_ollama if provider == "ollama" else serve_openai
    with serve("hi") as server:
        ask(model_of(server, provider, extra={name: 9}), call(parameters={"max_tokens": 99}))
        (request,) = server.requests
    sent_limit = request.body["options"]["num_predict"] if provider == "ollama" else request.body["max_tokens"]
    assert sent_limit == limit
