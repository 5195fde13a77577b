"""The openai client against a real HTTP server on loopback, through the real openai package."""

import asyncio
import logging
import time
import traceback
from email.utils import formatdate
from typing import Any

import pytest

from basic_control.config.settings import Model
from basic_control.data.errors import InputError
from basic_control.data.records import Call, Message, Reply
from basic_control.tasks.models import open_client
from basic_control.tasks.models.protocol import CallError, Client
from tests.servers import Answer, Fault, Server, serve_openai
from tests.tasks.models.asking import ask, call, error_of, reply_of, using

KEY = "sk-test-0123456789-secret/with+odd=signs"
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


def model(server: Server, **fields: Any) -> Model:
    given: dict[str, Any] = {
        "name": "m",
        "provider": "openai",
        "base_url": server.base_url,
        "deadline_s": 20,
    } | fields
    return Model(**given)


def test_a_reply_keeps_text_reasoning_finish_reason_and_tokens() -> None:
    with serve_openai(Answer("42", "six times seven", "length", tokens_in=5, tokens_out=9)) as server:
        assert reply_of(model(server)) == Reply("42", "six times seven", "length", 5, 9)


def test_the_request_carries_the_common_parameters_and_extras_under_the_servers_names() -> None:
    parameters = {"temperature": 0.5, "seed": 7, "max_tokens": 9, "top_p": 0.9, "stop": ["END"], "top_k": 40}
    messages = (Message("system", "Be brief."), Message("user", "Say it."))
    with serve_openai("hi") as server:
        reply_of(model(server, model="served", extra={"min_p": 0.1}), Call(messages, parameters))
        (seen,) = server.requests
    assert seen.body == {
        "model": "served",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say it."}],
        **parameters,
        "min_p": 0.1,
    }


@pytest.mark.parametrize(
    ("structured", "sent"),
    [
        ("schema", {"type": "json_schema", "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True}}),
        ("json", {"type": "json_object"}),
        ("off", None),
    ],
)
def test_a_schema_is_sent_as_the_model_is_configured(structured: str, sent: dict[str, Any] | None) -> None:
    with serve_openai('{"n": 1}') as server:
        reply_of(model(server, structured=structured), call(schema=SCHEMA))
        assert server.requests[0].body.get("response_format") == sent


def test_a_server_without_response_format_is_asked_without_it_and_remembered(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refuse = {"response_format": "response_format is not supported here"}
    with serve_openai("{}", refuse=refuse) as server, caplog.at_level(logging.WARNING):
        heard = ask(model(server), call("one", schema=SCHEMA), call("two", schema=SCHEMA))
        forms = [(r.body.get("response_format") or {}).get("type") for r in server.requests]
    assert all(isinstance(h, Reply) for h in heard)
    assert forms == ["json_schema", "json_object", None, None]
    assert "refuses response_format json_schema" in caplog.text


def test_max_tokens_is_renamed_once_where_the_server_wants_max_completion_tokens() -> None:
    wanted = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    with serve_openai("hi", refuse={"max_tokens": wanted}) as server:
        ask(model(server), *(call(p, parameters={"max_tokens": 5}) for p in "abc"))
        sent = [sorted(k for k in r.body if k.startswith("max")) for r in server.requests]
    assert sent == [["max_tokens"], *[["max_completion_tokens"]] * 3]


def test_a_parameter_that_the_model_does_not_take_is_left_out_from_then_on() -> None:
    refuse = {"temperature": "Unsupported value: 'temperature' does not support 0.0 with this model."}
    with serve_openai("hi", refuse=refuse) as server:
        ask(model(server), *(call(p, parameters={"temperature": 0.0, "seed": 1}) for p in "ab"))
        assert ["temperature" in r.body for r in server.requests] == [True, False, False]
        assert all(r.body["seed"] == 1 for r in server.requests)


@pytest.mark.parametrize(
    ("spoken", "text", "reasoning"),
    [
        (Answer("<think>hm</think>\n\n42"), "42", "hm"),
        (Answer("<think>it goes on and"), "", "it goes on and"),
        (Answer("42", message={"reasoning": "hm"}), "42", "hm"),
        (Answer(None, message={"refusal": "I will not."}), "I will not.", ""),
        (Answer(None, finish_reason="content_filter"), "", ""),
        (
            Answer(None, message={"content": [{"type": "text", "text": "4"}, {"type": "text", "text": "2"}]}),
            "42",
            "",
        ),
    ],
)
def test_thinking_and_refusals_are_told_from_answers(spoken: Answer, text: str, reasoning: str) -> None:
    with serve_openai(spoken) as server:
        reply = reply_of(model(server))
    assert (reply.text, reply.reasoning) == (text, reasoning)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault("status", 500), "server"),
        (Fault("status", 503, raw="<html>Bad gateway</html>"), "server"),
        (Fault("status", 408), "server"),
        (Fault("status", 409), "server"),
        (Fault("status", 429), "rate_limit"),
        (Fault("status", 429, "You exceeded your current quota", code="insufficient_quota"), "quota"),
        (Fault("status", 402, "Insufficient Balance"), "quota"),
        (Fault("status", 401), "auth"),
        (Fault("status", 403), "auth"),
        (Fault("status", 403, "m requires moderation and your input was flagged"), "filtered"),
        (Fault("status", 404, "The model `m` does not exist", code="model_not_found"), "unknown_model"),
        (Fault("status", 400, "m is not a valid model ID"), "unknown_model"),
        (Fault("status", 400, "maximum context length is 4096 tokens"), "invalid"),
        (Fault("status", 422, "bad field"), "invalid"),
        (Fault("status", 200, raw='{"error": {"message": "overloaded", "code": 502}}'), "server"),
        (Fault("status", 200, raw='{"error": {"message": "slow down", "code": 429}}'), "rate_limit"),
        (Fault("status", 200, raw='{"error": {"message": "stopped", "code": "content_filter"}}'), "filtered"),
        (Fault("status", 422, "Prompt was flagged by our safety system"), "filtered"),
        (Fault("status", 451, "guardrail: blocked"), "filtered"),
        (Fault("status", 400, "This violates our usage policies."), "filtered"),
        (Fault("status", 400, "unknown field 'flags'"), "invalid"),
        (Fault("status", 200, raw='"text"'), "server"),
        (Fault("status", 200, raw="[" * 100_000), "server"),
        (Fault("status", 200, raw='{"choices": [{"message": "text"}]}'), "server"),
        (Fault("empty"), "empty"),
        (Fault("broken_json"), "server"),
        (Fault("cut"), "connection"),
        (Fault("reset"), "connection"),
    ],
)
def test_every_fault_has_its_kind(fault: Fault, kind: str) -> None:
    with serve_openai("late", faults=[fault]) as server:
        error = error_of(model(server))
        assert len(server.requests) == 1, "one attempt: retries belong to the engine"
    assert error.kind == kind, error.message
    assert len(error.message) < 700


@pytest.mark.parametrize(
    ("headers", "body", "wait"),
    [
        ({"Retry-After": "7"}, "{}", 7.0),
        ({"retry-after-ms": "250", "Retry-After": "7"}, "{}", 0.25),
        ({"Retry-After": "-3"}, "{}", 0.0),
        ({"Retry-After": "inf"}, "{}", None),
        ({"Retry-After": "soon"}, "{}", None),
        ({}, '[{"error": {"code": 429, "details": [{"retryDelay": "34.5s"}]}}]', 34.5),
        ({}, "{}", None),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], body: str, wait: float | None) -> None:
    with serve_openai("late", faults=[Fault("status", 429, headers=headers, raw=body)]) as server:
        assert error_of(model(server)).retry_after_s == wait


def test_retry_after_may_be_a_date() -> None:
    headers = {"Retry-After": formatdate(time.time() + 60, usegmt=True)}
    with serve_openai("late", faults=[Fault("status", 503, headers=headers)]) as server:
        wait = error_of(model(server)).retry_after_s
    assert wait is not None
    assert 50 < wait <= 60


def test_a_hang_is_left_at_once_when_the_call_is_cancelled() -> None:
    async def act(client: Client) -> bool:
        asking = asyncio.ensure_future(client.ask(call()))
        done, _ = await asyncio.wait([asking], timeout=0.2)
        assert not done
        asking.cancel()
        await asyncio.wait([asking], timeout=60)
        return asking.cancelled()

    with serve_openai("never", faults=[Fault("hang")]) as server:
        assert using(model(server), act), "the server would never answer"


def test_a_hang_ends_at_the_deadline_even_without_an_engine() -> None:
    with serve_openai("never", faults=[Fault("hang")]) as server:
        error = error_of(model(server, deadline_s=0.2))
    assert error.kind == "timeout"


def test_a_slow_body_is_waited_for() -> None:
    with serve_openai("late", faults=[Fault("slow")]) as server:
        assert reply_of(model(server)).text == "a good answer"


def test_a_server_that_dies_and_comes_back_is_met_again() -> None:
    async def act(client: Client) -> list[str]:
        heard = [(await client.ask(call())).text]
        server.stop()
        with pytest.raises(CallError, match=f"127.0.0.1:{server.port}.*check that the server runs") as caught:
            await client.ask(call())
        server.start()
        return [*heard, caught.value.kind, (await client.ask(call())).text]

    with serve_openai("hi") as server:
        assert using(model(server), act) == ["hi", "connection", "hi"]


def test_identity_names_the_address_without_credentials_that_are_sent_all_the_same() -> None:
    with serve_openai("hi", models=["m"]) as server:
        url = server.base_url.replace("http://", "http://user:pass-word@") + "?token=hidden-token"
        told = using(model(server, base_url=url), lambda c: c.identity())
        reply_of(model(server, base_url=url))
        (seen,) = server.requests
    assert dict(told) == {"provider": "openai", "model": "m", "base_url": server.base_url}
    assert {k.lower(): v for k, v in seen.headers.items()}["authorization"] == "Basic dXNlcjpwYXNzLXdvcmQ="
    assert seen.query == "token=hidden-token"


def test_identity_fails_early_on_a_wrong_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "wrong-key")
    with (
        serve_openai("hi", key="right-key") as server,
        pytest.raises(CallError, match="check the key in MY_KEY") as caught,
    ):
        using(model(server, api_key_env="MY_KEY"), lambda c: c.identity())
    assert caught.value.kind == "auth"
    assert "wrong-key" not in str(caught.value)


def test_identity_fails_early_on_an_unreachable_server() -> None:
    with serve_openai("hi") as server:
        gone = model(server)
    with pytest.raises(CallError, match=gone.base_url) as caught:
        using(gone, lambda c: c.identity())
    assert caught.value.kind == "connection"


def test_azure_is_asked_at_its_deployment_with_its_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    with serve_openai("hi", key=KEY, models=["my-deployment"]) as server:
        azure = model(
            server, provider="azure", base_url=server.url, api_version="2025-01-01", model="my-deployment"
        )
        assert reply_of(azure).text == "hi"
        (seen,) = server.requests
        told = using(azure, lambda c: c.identity())
    assert seen.path == "/openai/deployments/my-deployment/chat/completions"
    assert {k.lower(): v for k, v in seen.headers.items()}["api-key"] == KEY
    assert told["api_version"] == "2025-01-01"


def test_a_missing_key_names_its_variable_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InputError, match="NOT_SET_KEY, which is not set; set it"):
        open_client(Model(name="m", provider="openai", api_key_env="NOT_SET_KEY"))
    with pytest.raises(InputError, match=r"OPENAI_API_KEY, which is not set.*api_key_env"):
        open_client(Model(name="m", provider="openai"))


def test_the_usual_key_is_not_given_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ADMIN_KEY", KEY)
    with serve_openai("hi") as server:
        reply_of(model(server))
        using(model(server), lambda c: c.identity())
        assert KEY not in str(server.lookups[0].headers)
        assert KEY not in str(server.requests[0].headers)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_an_echoed_key_is_in_no_error_log_repr_or_traceback(
    status: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    padding = "x" * (390 - 25)  # so that a cut at the message's bound would fall inside the key
    with (
        serve_openai("hi", faults=[Fault("status", status, m, echo=True) for m in ("no", padding)]) as server,
        caplog.at_level(logging.DEBUG),
    ):
        settings = model(server, api_key_env="MY_KEY")

        async def act(client: Client) -> str:
            said = [repr(client), str(vars(client))]
            for _ in range(2):
                try:
                    await client.ask(call())
                except CallError as error:
                    said += [str(error), repr(error), "".join(traceback.format_exception(error))]
            return "\n".join(said)

        said = using(settings, act)
        sent = str(server.requests[0].headers)
    assert KEY in sent
    assert "HTTP" in said
    for part in (KEY, "sk-test-0123"):
        assert part not in said
        assert part not in caplog.text


def test_many_calls_share_the_client_in_flight() -> None:
    async def act(client: Client) -> list[Reply]:
        return await asyncio.gather(*(client.ask(call(str(n))) for n in range(100)))

    with serve_openai(lambda body: body["messages"][0]["content"], latency_s=0.1) as server:
        heard = using(model(server), act)
        assert server.peak > 50
    assert [r.text for r in heard] == [str(n) for n in range(100)]


@pytest.mark.parametrize(
    "url", ["localhost:8000/v1", "127.0.0.1:8000", "http://", "http://host:port/v1", "user:pass-word@host"]
)
def test_what_is_no_address_is_one_clear_message(url: str) -> None:
    with pytest.raises(InputError, match=r"found base_url .*expected an address such as") as caught:
        open_client(Model(name="m", provider="openai", base_url=url))
    assert "pass-word" not in str(caught.value)


@pytest.mark.parametrize("url", ["${OPENAI_BASE_URL}", "$OPENAI_BASE_URL/v1", "{{ env.OPENAI_BASE_URL }}"])
def test_a_variable_in_an_address_is_not_filled_in_and_the_message_says_which_is_read(url: str) -> None:
    with pytest.raises(InputError, match="without base_url, OPENAI_BASE_URL is read"):
        open_client(Model(name="m", provider="openai", base_url=url))


def test_a_key_that_no_header_can_carry_is_said_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-gehäim")
    with pytest.raises(InputError, match="the key in MY_KEY contains characters") as caught:
        open_client(Model(name="m", provider="openai", api_key_env="MY_KEY"))
    assert "sk-geh" not in str(caught.value)


def test_what_is_no_text_becomes_the_replacement_character() -> None:
    raw = '{"choices": [{"message": {"content": "a\\ud800b\\u0000c\\ud83d\\ude00"}}]}'
    with serve_openai("late", faults=[Fault("status", 200, raw=raw)]) as server:
        assert reply_of(model(server)).text == "a\ufffdb\ufffdc\U0001f600"


@pytest.mark.parametrize("reason", ["error", "abort", "insufficient_system_resource"])
def test_a_reply_that_the_server_broke_off_is_no_answer(reason: str) -> None:
    with serve_openai(Answer("16 - 3 = 13. So she", finish_reason=reason)) as server:
        assert error_of(model(server)).kind == "server"


def test_a_limit_that_thinking_used_up_is_a_cut_reply_also_where_the_server_refuses_it() -> None:
    told = "Could not finish the message because max_tokens or model output limit was reached. Please try again."
    with serve_openai("late", faults=[Fault("status", 400, told)]) as server:
        assert reply_of(model(server)) == Reply("", finish_reason="length")
