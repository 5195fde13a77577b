"""The ollama client against a real HTTP server that speaks Ollama's API, through the real ollama package."""

import asyncio
import json
from typing import Any

import ollama
import pytest

from basic_control.config.settings import Model
from basic_control.data.errors import InputError
from basic_control.data.records import Call, Message, Reply
from basic_control.tasks.models import open_client
from basic_control.tasks.models.protocol import CallError, Client
from tests.servers import Answer, Fault, Server, serve_ollama
from tests.tasks.models.asking import ask, call, error_of, reply_of, using

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
DIGEST = "ab" * 32


def model(server: Server, **fields: Any) -> Model:
    given: dict[str, Any] = {
        "name": "phi3",
        "provider": "ollama",
        "base_url": server.base_url,
        "deadline_s": 20,
    } | fields
    return Model(**given)


def test_a_reply_keeps_text_thinking_finish_reason_and_tokens() -> None:
    with serve_ollama(Answer("42", "six times seven", "length", tokens_in=5, tokens_out=9)) as server:
        assert reply_of(model(server)) == Reply("42", "six times seven", "length", 5, 9)


def test_thinking_inside_the_text_is_kept_apart_too() -> None:
    with serve_ollama("<think>hm</think>\n\n42") as server:
        assert reply_of(model(server)) == Reply("42", "hm", "stop", 11, 7)


def test_sampling_parameters_stand_under_options_in_ollamas_names() -> None:
    parameters = {"temperature": 0.0, "seed": 7, "max_tokens": 9, "top_p": 0.9, "stop": "END", "num_ctx": 8192}
    extra = {"min_p": 0.1, "think": False, "keep_alive": "10m"}
    messages = (Message("system", "Be brief."), Message("user", "Say it."))
    with serve_ollama("hi") as server:
        reply_of(model(server, extra=extra), Call(messages, parameters))
        body = server.requests[0].body
    same = {"temperature": 0.0, "seed": 7, "top_p": 0.9, "num_ctx": 8192, "min_p": 0.1}
    assert body["options"] == same | {"num_predict": 9, "stop": ["END"]}
    assert set(body) == {"model", "messages", "stream", "options", "tools", "think", "keep_alive"}
    assert (body["stream"], body["think"], body["keep_alive"]) == (False, False, "10m")
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}


@pytest.mark.parametrize(
    ("extra", "beside", "options"),
    [
        ({"format": "json"}, {"format": "json"}, {}),
        ({"format": SCHEMA}, {"format": SCHEMA}, {}),
        ({"truncate": False, "shift": False}, {"truncate": False, "shift": False}, {}),
        ({"think": "low", "keep_alive": 0}, {"think": "low", "keep_alive": 0}, {}),
        ({"logprobs": True, "top_logprobs": 3}, {"logprobs": True, "top_logprobs": 3}, {}),
        ({"mirostat": 2, "num_gpu": 0, "a_new_option": 1}, {}, {"mirostat": 2, "num_gpu": 0, "a_new_option": 1}),
        ({"options": {"num_ctx": 8192}, "truncate": True}, {"truncate": True}, {"num_ctx": 8192}),
    ],
)  # fmt: skip
def test_extra_goes_where_ollama_reads_it(
    extra: dict[str, Any], beside: dict[str, Any], options: dict[str, Any]
) -> None:
    with serve_ollama("hi") as server:
        reply_of(model(server, extra=extra), call(parameters={"max_tokens": 9, **extra}))
        body = dict(server.requests[0].body)
    assert body.pop("options") == {"num_predict": 9, **options}
    assert {name: body[name] for name in body if name not in {"model", "messages", "tools", "stream"}} == beside


def test_a_judges_schema_goes_before_the_format_of_the_entry() -> None:
    with serve_ollama('{"n": 1}') as server:
        reply_of(model(server, extra={"format": "json"}), call(schema=SCHEMA))
        assert server.requests[0].body["format"] == SCHEMA


def test_a_limit_under_ollamas_own_name_is_the_one_that_is_sent() -> None:
    limits = {"max_tokens": 9, "num_predict": 2048}
    with serve_ollama("hi") as server:
        reply_of(model(server, extra={"num_predict": 2048}), call(parameters=limits))
        assert server.requests[0].body["options"] == {"num_predict": 2048}


@pytest.mark.parametrize(("structured", "sent"), [("schema", SCHEMA), ("json", "json"), ("off", None)])
def test_a_schema_is_the_format_as_the_model_is_configured(structured: str, sent: object) -> None:
    with serve_ollama('{"n": 1}') as server:
        reply_of(model(server, structured=structured), call(schema=SCHEMA))
        assert server.requests[0].body.get("format") == sent


@pytest.mark.parametrize("name", ["phi3", "phi3:latest"])
def test_identity_holds_the_digest_and_the_servers_version(name: str) -> None:
    with serve_ollama("hi", models={"phi3:latest": DIGEST, "phi3:mini": "cd" * 32}, version="0.9.9") as server:
        told = using(model(server, name=name), lambda c: c.identity())
    assert told == {"provider": "ollama", "model": name, "digest": DIGEST, "server": "ollama 0.9.9"}


def test_identity_of_a_hugging_face_name_is_found_as_it_is() -> None:
    with serve_ollama("hi", models={"hf.co/janhq/Jan-v1-4B-GGUF": DIGEST}) as server:
        told = using(model(server, name="hf.co/janhq/Jan-v1-4B-GGUF"), lambda c: c.identity())
    assert told["digest"] == DIGEST


def test_an_unknown_model_is_told_with_what_to_do_and_what_is_there() -> None:
    with serve_ollama("hi", models=["phi3", "llama3:8b"]) as server:
        settings = model(server, name="janhq/Jan-v1-4B-GGUF")
        with pytest.raises(CallError) as caught:
            using(settings, lambda c: c.identity())
        asked = error_of(settings)
    assert caught.value.kind == asked.kind == "unknown_model"
    for part in (
        "`ollama pull janhq/Jan-v1-4B-GGUF`",
        "`ollama pull hf.co/janhq/Jan-v1-4B-GGUF`",
        "llama3:8b, phi3:latest",
    ):
        assert part in caught.value.message
    assert "`ollama pull janhq/Jan-v1-4B-GGUF`" in asked.message


def test_an_unreachable_server_is_one_clear_message() -> None:
    with serve_ollama("hi") as server:
        gone = model(server)
    with pytest.raises(
        CallError, match=f"no answer from {gone.base_url}: .*check that Ollama runs there"
    ) as caught:
        using(gone, lambda c: c.identity())
    assert caught.value.kind == "connection"


def test_a_server_that_is_not_ollama_is_told_as_such() -> None:
    with (
        serve_ollama("hi") as server,
        pytest.raises(CallError, match="does not answer as Ollama does; check `base_url`"),
    ):
        using(model(server, base_url=server.url + "/elsewhere"), lambda c: c.identity())


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault("status", 500, "llama runner process has terminated"), "server"),
        (Fault("status", 503, "server busy, please try again. maximum pending requests exceeded"), "server"),
        (Fault("status", 429, "too many requests"), "rate_limit"),
        (Fault("status", 401, "unauthorized"), "auth"),
        (Fault("status", 400, "invalid options"), "invalid"),
        (Fault("status", 404, "model 'phi3' not found"), "unknown_model"),
        (Fault("status", 502, raw="<html>Bad gateway</html>"), "server"),
        (Fault("status", 500, raw='["a list"]'), "server"),
        (Fault("status", 500, raw="[" * 100_000), "server"),
        (Fault("status", 200, raw="[" * 100_000), "server"),
        (Fault("status", 200, raw='{"error": "odd"}'), "server"),
        (Fault("status", 200, raw='{"message": {"role": "assistant", "content": "ha"}, "done": false}'), "server"),
        (Fault("empty"), "server"),
        (Fault("broken_json"), "server"),
        (Fault("cut"), "connection"),
        (Fault("reset"), "connection"),
    ],
)
def test_every_fault_has_its_kind(fault: Fault, kind: str) -> None:
    with serve_ollama("late", faults=[fault]) as server:
        error = error_of(model(server))
        assert len(server.requests) == 1, "one attempt: retries belong to the engine"
    assert error.kind == kind, error.message
    assert len(error.message) < 700


def test_retry_after_is_read_though_the_package_leaves_it_out_also_with_others_in_flight() -> None:
    async def act(client: Client) -> list[float | None]:
        async def wait(prompt: str) -> float | None:
            with pytest.raises(CallError) as caught:
                await client.ask(call(prompt))
            return caught.value.retry_after_s

        return await asyncio.gather(*(wait(str(n)) for n in range(5)))

    def refuse(_: int, body: dict[str, Any]) -> Fault:
        return Fault("status", 429, headers={"Retry-After": body["messages"][0]["content"]})

    with serve_ollama("late", faults=refuse) as server:
        assert using(model(server), act) == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_hang_ends_at_the_deadline_even_without_an_engine() -> None:
    with serve_ollama("never", faults=[Fault("hang")]) as server:
        assert error_of(model(server, deadline_s=0.2)).kind == "timeout"


def test_an_echoed_key_is_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "a-secret-of-mine")
    with serve_ollama("hi", faults=[Fault("status", 401, "who is", echo=True)]) as server:
        error = error_of(model(server, api_key_env="MY_KEY"))
        assert "a-secret-of-mine" in str(server.requests[0].headers)
    assert "check the key in MY_KEY" in error.message
    assert "a-secret" not in error.message


def test_a_named_key_that_is_not_set_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_SET_KEY", raising=False)
    with pytest.raises(InputError, match="NOT_SET_KEY, which is not set"):
        open_client(Model(name="m", api_key_env="NOT_SET_KEY"))


@pytest.mark.parametrize("scheme", ["", "http://", "http://user:pass-word@"])
def test_an_address_may_come_bare_from_the_environment_or_with_v1(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_ollama("hi") as server:
        address = f"{scheme}127.0.0.1:{server.port}"
        monkeypatch.setenv("OLLAMA_HOST", address)
        assert reply_of(model(server, base_url="")).text == "hi"
        assert reply_of(model(server, base_url=address + "/v1")).text == "hi"
        sent = {k.lower(): v for k, v in server.requests[0].headers.items()}
    assert sent.get("authorization", "") == ("Basic dXNlcjpwYXNzLXdvcmQ=" if "@" in scheme else "")


def test_replies_come_in_their_own_order_from_many_in_flight() -> None:
    async def act(client: Client) -> list[Reply]:
        return await asyncio.gather(*(client.ask(call(str(n))) for n in range(100)))

    with serve_ollama(lambda body: body["messages"][0]["content"], latency_s=0.1) as server:
        heard = using(model(server), act)
        assert server.peak > 50
    assert [r.text for r in heard] == [str(n) for n in range(100)]


def test_the_server_streams_and_generates_as_ollama_does() -> None:
    async def act() -> tuple[str, str | None, int | None]:
        client = ollama.AsyncClient(host=server.base_url)
        parts = [p async for p in await client.chat("phi3", [{"role": "user", "content": "x"}], stream=True)]
        generated = await client.generate("phi3", "x")
        return "".join(p.message.content or "" for p in parts), generated.response, parts[-1].eval_count

    with serve_ollama("one\ntwo\n", models=["phi3"]) as server:
        assert asyncio.run(act()) == ("one\ntwo\n", "one\ntwo\n", 7)


@pytest.mark.slow
def test_the_seeds_models_run_on_the_embedded_model_behind_ollamas_api() -> None:
    pytest.importorskip("xllamacpp", reason="the extra `embedded` is not installed")
    from tests.servers.forwarding import embedded

    names = ["llama3:8b", "phi3", "janhq/Jan-v1-4B-GGUF"]
    with serve_ollama(embedded, models=names) as server:
        one = call("What is 2+2?", parameters={"temperature": 0.0, "seed": 0, "max_tokens": 4})
        heard = [reply_of(model(server, name=name, deadline_s=120), one) for name in names]
        structured = call("What is 2+2?", parameters={"max_tokens": 24, "temperature": 0.0}, schema=SCHEMA)
        (constrained,) = ask(model(server, deadline_s=120), structured)
    assert heard[0].text
    assert heard[0] == heard[1] == heard[2]
    assert heard[0].tokens_out == 4
    assert isinstance(constrained, Reply)
    assert isinstance(json.loads(constrained.text)["n"], int)
