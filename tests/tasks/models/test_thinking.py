"""Thinking models on the servers that people run: how they are asked, and what is kept apart of what they say."""

from typing import Any

import pytest
import yaml

from basic_control.config.settings import Model, Settings
from basic_control.data.errors import InputError
from basic_control.data.records import Call, Reply
from basic_control.data.truncation import is_cut
from basic_control.tasks.models.protocol import FATAL
from tests.conftest import TOP
from tests.servers import Answer, Fault, Server, serve_ollama, serve_openai
from tests.tasks.models.asking import call, error_of, reply_of

DEEPSEEK = {"prompt_tokens": 9, "completion_tokens": 8, "prompt_cache_hit_tokens": 6}
FORBIDDEN = (
    '{"detail": [{"type": "extra_forbidden", "loc": ["body", "%s"], "msg": "Extra inputs are not permitted"}]}'
)
TIMINGS = {"cache_n": 236, "prompt_n": 1, "prompt_ms": 30.9, "predicted_n": 35, "predicted_ms": 661.1}


def model(server: Server, **fields: Any) -> Model:
    shared = {"name": "m", "provider": server.kind, "base_url": server.base_url, "deadline_s": 20}
    return Model.model_validate(shared | fields)


@pytest.mark.parametrize(
    "extra",
    [
        {"reasoning_effort": "low"},
        {"chat_template_kwargs": {"enable_thinking": False}},  # vLLM, llama.cpp
        {"structured_outputs": {"choice": ["yes", "no"]}},  # vLLM
        {"reasoning_format": "deepseek", "reasoning_budget": 0},  # llama.cpp
    ],
)
def test_parameters_of_thinking_reach_the_server_as_it_names_them(extra: dict[str, Any]) -> None:
    with serve_openai("hi") as server:
        reply_of(model(server, extra=extra), call(parameters={"temperature": 0.0, **extra}))
        body = server.requests[0].body
    assert {name: body[name] for name in extra} == extra


@pytest.mark.parametrize(
    ("spoken", "usage", "tokens"),
    [
        (
            Answer("42", "hm", tokens_in=9, tokens_out=80, thinking=60, cached=4),
            {"thinking": 60, "cached": 4},
            (9, 80),
        ),
        (Answer("42", message={"reasoning": "hm"}, thinking=60), {"thinking": 60}, (11, 7)),  # vLLM
        (Answer("<think>\nhm\n</think>\n\n42"), None, (11, 7)),  # llama.cpp's reasoning_format none
        (  # DeepSeek
            Answer("42", "hm", body={"usage": DEEPSEEK}),
            {"cached": 6},
            (9, 8),
        ),
        (  # Gemini's and xAI's count of what was written leaves the thinking out
            Answer("42", "hm", body={"usage": {"prompt_tokens": 9, "completion_tokens": 8, "total_tokens": 117}}),
            {"thinking": 100},
            (9, 108),
        ),
        (Answer("42", "hm", body={"usage": None, "timings": TIMINGS}), {"cached": 236}, (237, 35)),  # llama.cpp
    ],
)  # fmt: skip
def test_thinking_is_kept_apart_and_its_tokens_counted(
    spoken: Answer, usage: dict[str, int] | None, tokens: tuple[int, int]
) -> None:
    with serve_openai(spoken) as server:
        reply = reply_of(model(server))
    assert reply == Reply("42", "hm", "stop", *tokens, {"usage": usage} if usage else {})


def test_a_limit_under_its_other_name_goes_alone_and_is_the_one_that_cuts() -> None:
    parameters = {"max_tokens": 512, "max_completion_tokens": 4096}
    with serve_openai("hi") as server:
        reply_of(model(server), Call(call().messages, parameters))
        body = server.requests[0].body
    assert "max_tokens" not in body
    assert body["max_completion_tokens"] == 4096
    row = {"finish_reason": "stop", "text": "", "reasoning": "hm", "tokens_out": 600}
    assert not is_cut(row | {"payload": '{"parameters": {"max_tokens": 512, "max_completion_tokens": 4096}}'})
    assert is_cut(row | {"payload": '{"parameters": {"max_tokens": 512}}'})


@pytest.mark.parametrize(
    ("extra", "fault"),
    [
        (
            {"reasoning_effort": "low"},
            Fault("status", 400, "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
                  "unsupported_parameter", "reasoning_effort"),
        ),
        (
            {"reasoning_effort": "utmost"},
            Fault("status", 400, "Invalid value: 'utmost'.", "invalid_value", "reasoning_effort"),
        ),
        (
            {"think": True},
            Fault("status", 422, raw=FORBIDDEN % "think"),
        ),
    ],
)  # fmt: skip
def test_a_parameter_of_extra_that_is_refused_ends_the_models_part_with_one_message(
    extra: dict[str, Any], fault: Fault
) -> None:
    with serve_openai("hi", faults=[fault]) as server:
        error = error_of(model(server, extra=extra))
    assert error.kind == "parameter"
    assert error.kind in FATAL, "or every call would be made to hear the same"
    assert f"`extra` sets {next(iter(extra))}, which the server does not accept" in error.message


def test_a_seed_that_a_server_forbids_is_left_out() -> None:
    """Mistral's server answers so."""
    with serve_openai("hi", faults=[Fault("status", 422, raw=FORBIDDEN % "seed")]) as server:
        assert reply_of(model(server), call(parameters={"seed": 0})).text == "hi"
        assert ["seed" in r.body for r in server.requests] == [True, False]


@pytest.mark.parametrize("think", [True, False, "low"])
def test_ollama_is_told_to_think_beside_its_options(think: bool | str) -> None:  # noqa: FBT001 - a value of pytest's
    with serve_ollama(Answer("42", "hm")) as server:
        reply = reply_of(model(server, extra={"think": think}))
        body = server.requests[0].body
    assert body["think"] == think
    assert "think" not in body["options"]
    assert (reply.text, reply.reasoning) == ("42", "hm")


def test_a_model_of_ollama_that_cannot_think_is_said_once_with_what_to_do() -> None:
    with serve_ollama("hi", refuse={"think": '"m" does not support thinking'}) as server:
        error = error_of(model(server, extra={"think": True}))
    assert error.kind == "parameter"
    assert error.message.endswith("remove `think` from the entry's `extra`")


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        ({"reasoning_effort": "low"}, "reasoning_effort`, which Ollama ignores; use `think`"),
        ({"think": 2}, "found 2 in `extra.think`; expected true, false, or a level"),
    ],
)  # fmt: skip
def test_what_ollama_would_read_over_is_refused_with_the_configuration(extra: dict[str, Any], told: str) -> None:
    with pytest.raises((ValueError, InputError), match=told):
        Model.model_validate({"name": "m", "provider": "ollama", "extra": extra})


def test_the_configuration_on_the_page_of_servers_is_one() -> None:
    page = (TOP / "docs" / "servers.md").read_text(encoding="utf-8")
    blocks = [block.partition("```")[0] for block in page.split("```yaml\n")[1:]]
    models = [model for block in blocks for model in Settings.model_validate(yaml.safe_load(block)).models]
    assert {model.provider for model in models} == {"openai", "ollama"}
