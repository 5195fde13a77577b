"""Applications behind HTTP: asked as the template says, read where the paths say, and refused in plain words."""

import gzip
import json
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from aiohttp import web

from basic_control.config.models import Model
from basic_control.config.reading import read
from basic_control.config.settings import StoreSettings
from basic_control.data.batches import Cell
from basic_control.data.errors import InputError
from basic_control.data.records import Call, Message, Reply
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.models.rate_limits import find_endpoint
from basic_control.tasks.models.requests import build_request, read_call
from basic_control.tasks.models.scheduler import ask_all, event_loop_thread
from basic_control.tasks.query import ask as ask_table
from basic_control.tasks.query import client_of
from tests.helpers.requests import requests_of
from tests.servers.running import serve
from tests.servers.service import Answering, Service
from tests.tasks.models.asking import ask, call, error_of, reply_of, using

KEY = "k-0123456789/with+odd=signs&more"
RAG = {
    "answer": "Paris.",
    "documents": [{"text": "Paris is the capital of France.", "id": 7}, {"text": "It lies on the Seine.", "id": 9}],
    "usage": {"input": 12, "output": 3},
    "stop": "end",
}
PATHS = {
    "text": "answer",
    "contexts": "documents.*.text",
    "citations": "documents.*.id",
    "tokens_in": "usage.input",
    "tokens_out": "usage.output",
    "finish_reason": "stop",
}


@contextmanager
def served(answering: Answering, **fields: Any) -> Iterator[tuple[Service, Model]]:
    """Run a service, and yield it with a model that is it."""
    service = Service(answering)
    with serve(service.build()) as url:
        given = {"name": "app", "provider": "http", "base_url": f"{url}/ask/", "deadline_s": 20, "max_tokens": 64}
        yield service, Model.model_validate(given | fields)


def says(answer: Any) -> Answering:
    return lambda *_: answer


def test_text_contexts_citations_and_tokens_are_read_where_the_paths_say() -> None:
    with served(says(RAG), **PATHS) as (service, model):
        reply = reply_of(model, call("What is the capital of France?"))
        ((method, path, headers, body),) = service.seen
    assert reply == Reply(
        "Paris.",
        "",
        "end",
        12,
        3,
        {
            "retrieved_contexts": ["Paris is the capital of France.", "It lies on the Seine."],
            "citations": [7, 9],
        },
    )
    assert (method, path, body) == ("POST", "/ask/", {"prompt": "What is the capital of France?"})
    assert headers["Content-Type"] == "application/json"


def test_a_body_is_filled_with_data_that_is_never_read_as_a_template() -> None:
    hostile = '{{ 7 * 7 }} {% raw %} "quoted" \ud800 \n{{ system }}'
    body = {
        "q": "{{ prompt }}",
        "chat": "{{ messages }}",
        "options": {"t": "{{ parameters.temperature }}", "say": ["T={{ parameters.temperature }}", 3, None, True]},
        "who": "{{ system | upper }}",
        "row": "{{ item_id }}/{{ item.topic }}",
        "negative": "{{ -1 }}",
    }
    asked = Call(
        messages=(Message("system", "be brief"), Message("user", hostile)),
        parameters={"temperature": 0.5},
        item_id="i1",
        item={"item_id": "i1", "topic": "{{ prompt }}"},
    )
    with served(says("ok"), body=body) as (service, model):
        assert isinstance(ask(model, asked)[0], Reply)
        sent = service.seen[0][3]
    assert sent == {
        "q": hostile,
        "chat": [{"role": "system", "content": "be brief"}, {"role": "user", "content": hostile}],
        "options": {"t": 0.5, "say": ["T=0.5", 3, None, True]},
        "who": "BE BRIEF",
        "row": "i1/{{ prompt }}",
        "negative": -1,
    }


def test_plain_text_is_the_answer_where_no_path_is_given() -> None:
    with served(says(web.Response(text="<think>hm</think>Да", charset="cp1251"))) as (_, model):
        assert reply_of(model) == Reply("Да", "hm")


def test_a_text_body_is_sent_as_text_and_a_get_as_a_query() -> None:
    with served(says("ok"), body="Q: {{ prompt }}", headers={"X-Trace": "t"}) as (service, model):
        reply_of(model, call("два?"))
        assert service.seen[0][2]["X-Trace"] == "t"
        assert service.seen[0][2]["Content-Type"] == "text/plain; charset=utf-8"
        assert service.seen[0][3] == "Q: два?"
    with served(says("ok"), method="GET", body={"q": "{{ prompt }}", "k": 3}) as (service, model):
        reply_of(model.model_copy(update={"base_url": model.base_url + "?lang=en"}), call("a&b"))
        assert service.seen[0][:2] == ("GET", "/ask/?lang=en&q=a%26b&k=3")


@pytest.mark.parametrize(
    ("answer", "paths", "said"),
    [
        (
            RAG,
            {"text": "reply"},
            "text (reply): no 'reply' in the answer, which has answer, documents, usage, stop",
        ),
        (RAG, {"text": "documents.5.text"}, "no '5' in documents, which is a list of length 2"),
        (RAG, {"text": "answer.x"}, "no 'x' in answer, which is a string"),
        (RAG, {"text": "answer", "contexts": "documents"}, "expected a list of strings, found a mapping"),
        (RAG, {"text": "answer", "tokens_in": "answer"}, "expected a number of tokens, found a string"),
        ({"answer": None}, {"text": "answer"}, "text (answer): expected a string, found nothing"),
        ({"answer": 1, "n": 2**70}, {"text": "answer", "tokens_out": "n"}, "expected a number of tokens"),
        ({"error": "no index"}, {"text": "answer"}, 'has error: {"error": "no index"}'),
    ],
)
def test_what_is_not_where_a_path_says_is_told_and_not_tried_again(answer: Any, paths: Any, said: str) -> None:
    with served(says(answer), **paths) as (_, model):
        error = error_of(model)
    assert error.kind == "invalid"
    assert said in error.message


def test_an_optional_path_and_the_end_of_a_list() -> None:
    with served(says({"out": ["a", "b"]}), text="out.-1", contexts="documents.*.text?", finish_reason="why?") as (
        _,
        model,
    ):
        assert reply_of(model) == Reply("b", extra={"retrieved_contexts": []})
    with served(says({"content": [{"text": "a"}, {"text": "b"}]}), text="content.*.text") as (_, model):
        assert reply_of(model).text == "ab"


@pytest.mark.parametrize(
    ("status", "headers", "kind", "said"),
    [
        (429, {"Retry-After": "7"}, "rate_limit", "HTTP 429: too much"),
        (401, {}, "auth", "name its variable in `api_key_env`"),
        (404, {}, "unknown_model", "check the address http://127.0.0.1"),
        (500, {}, "server", "HTTP 500: too much"),
        (503, {}, "server", "HTTP 503"),
        (400, {}, "invalid", "HTTP 400: too much"),
    ],
)
def test_a_refusal_has_the_kind_that_it_means(status: int, headers: Any, kind: str, said: str) -> None:
    answer = web.json_response({"error": {"message": "too much"}}, status=status, headers=headers)
    with served(says(answer), text="answer") as (_, model):
        error = error_of(model)
    assert (error.kind, error.retry_after_s) == (kind, 7.0 if headers else None)
    assert said in error.message


def cut(_number: int, incoming: web.Request, _body: Any) -> Any:
    assert incoming.transport is not None
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"
    incoming.transport.write(head + b'{"answer": "half')
    incoming.transport.close()
    return web.Response()


def test_a_cut_body_and_one_that_is_not_json_are_worth_another_try() -> None:
    with served(cut, text="answer") as (_, model):
        assert error_of(model).kind == "connection"
    with served(says(web.Response(text="<html>Bad gateway")), text="answer") as (_, model):
        error = error_of(model)
    assert error.kind == "server"
    assert "not JSON: <html>Bad gateway" in error.message


def test_citations_that_nest_too_deep_fail_their_call_alone(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(600):
        deep = [deep]
    with served(says({"answer": "yes", "citations": deep}), text="answer", citations="citations") as (_, model):
        responses, _ = ask_table(requests_of(model, ["q"]), model, StoreSettings(root=str(tmp_path)), Cell("x"))
    assert responses["error_kind"].to_list() == ["invalid"]
    assert "nested deeper than 200" in responses["error"][0]


def test_a_body_beyond_the_bound_is_refused_and_a_torn_one_tried_again() -> None:
    with served(says(web.Response(body=b"0" * 100_001)), max_response_bytes=100_000) as (_, model):
        assert "more than 100000 bytes" in error_of(model).message
    small = gzip.compress(b'{"answer": "yes"}')
    with served(says(web.Response(body=small, headers={"Content-Encoding": "gzip"})), text="answer") as (_, model):
        assert reply_of(model).text == "yes"
    torn = web.Response(body=small[:-12], headers={"Content-Encoding": "gzip"})
    with served(says(torn), text="answer") as (_, model):
        assert error_of(model).kind == "server"


@pytest.mark.parametrize("place", [{}, {"api_key_header": "X-My-Key"}, {"api_key_query": "key"}])
def test_the_key_goes_to_its_place_and_into_no_log_error_or_redirect(
    place: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    elsewhere = Service(says("taken"))

    def answering(number: int, incoming: web.Request, _body: Any) -> Any:
        if number == 0:
            return web.Response(status=401, text=f"bad key {KEY} in {incoming.path_qs}")
        return web.Response(status=307, headers={"Location": f"{other}/x"})

    with (
        serve(elsewhere.build()) as other,
        served(answering, api_key_env="MY_KEY", **place) as (service, model),
        caplog.at_level(logging.DEBUG),
    ):
        errors = ask(model, call(), call())
        told = using(model, lambda client: client.identity())
    (_, path, headers, _), _ = service.seen
    carried = {name.lower(): value for name, value in headers.items() if KEY in value}
    places: dict[str, tuple[dict[str, str], dict[str, list[str]]]] = {
        "": ({"authorization": f"Bearer {KEY}"}, {}),
        "api_key_header": ({"x-my-key": KEY}, {}),
        "api_key_query": ({}, {"key": [KEY]}),
    }
    assert (carried, parse_qs(urlsplit(path).query)) == places[next(iter(place), "")]
    assert not elsewhere.seen
    said = [str(error) for error in errors]
    assert "check the key in MY_KEY" in said[0]
    assert "redirects to" in said[1]
    for part in (KEY, "k-0123456789"):
        assert part not in f"{said}{caplog.text}{told}"


def test_where_nothing_listens_is_told_before_anything_is_asked() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = Model.model_validate({"name": "app", "provider": "http", "base_url": f"http://127.0.0.1:{port}"})
    with pytest.raises(CallError, match=f"no answer from http://127.0.0.1:{port}.*check that the application runs"):
        using(model, lambda client: client.identity())
    assert error_of(model).kind == "connection"


def test_refusals_are_retried_within_the_deadline_and_what_came_is_asked_once(tmp_path: Path) -> None:
    from basic_control.tasks.store.reply_cache import ReplyCache

    answers = [web.json_response({}, status=503), web.json_response({}, status=429, headers={"Retry-After": "0"})]
    with served(lambda number, *_: answers[number] if number < 2 else RAG, **PATHS) as (service, model):
        cache = ReplyCache(f"sqlite:///{tmp_path}/replies.sqlite")
        row = build_request(model, {"a": "b"}, [Message("user", "q")], item_id="x")

        async def bring() -> Any:
            asked = [(row["request_id"], read_call(row))]
            return await ask_all(asked, model=model, client=client_of(model), cache=cache)

        (first, _), (second, tally) = event_loop_thread().call(bring()), event_loop_thread().call(bring())
        assert len(service.seen) == 3
    assert first[row["request_id"]].end.reply == second[row["request_id"]].end.reply
    assert second[row["request_id"]].end.reply.extra["citations"] == [7, 9]
    assert tally.cached == 1


def test_identity_holds_how_it_is_asked_and_read_and_no_more() -> None:
    with served(says(RAG), **PATHS) as (_, model):
        told = using(model, lambda client: client.identity())
        same = using(model.model_copy(update={"temperature": 1.0}), lambda client: client.identity())
        changed: list[dict[str, Any]] = [
            {"text": "stop"},
            {"version": "2"},
            {"body": {"q": "{{ prompt }}"}},
            {"headers": {"X-A": "b"}},
        ]
        others = [
            using(Model.model_validate(model.model_dump() | one), lambda client: client.identity())
            for one in changed
        ]
        assert find_endpoint(model) == f"http {model.base_url.rstrip('/')}"
    assert told == same
    assert len({json.dumps(one) for one in (told, *others)}) == 5


def test_the_item_is_part_of_a_request_where_the_template_names_it() -> None:
    with served(says(RAG)) as (_, model):
        ids = {build_request(model, {}, [Message("user", "q")], item_id=one)["request_id"] for one in "ab"}
        assert len(ids) == 1
    with served(says(RAG), body={"q": "{{ prompt }}", "for": "{{ item.user }}"}) as (_, model):
        rows = [
            build_request(model, {}, [Message("user", "q")], item_id="a", facts={"user": user, "answer": "4"})
            for user in ("ann", "bob")
        ]
        assert len({row["request_id"] for row in rows}) == 2
        assert read_call(rows[0]).item == {"item_id": "a", "user": "ann", "answer": "4"}
        error = error_of(model, Call(messages=(Message("user", "q"),), item={"item_id": "a"}))
    assert error.kind == "invalid"
    assert "filled for this item: for: found no 'user'; expected one of item_id" in error.message


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("text: answer", "provider http needs `base_url`"),
        ("url: 'http://x', body: {q: '{{ prompt'}", "models.0.body: q: not a valid Jinja2 template"),
        (
            "url: 'http://x', body: {q: ['{{ promt }}']}",
            "models.0.body: q.0: unknown name 'promt'; expected one of prompt",
        ),
        ("url: 'http://x', text: a..b", "models.0.text: expected a dotted path"),
        ("url: 'http://x', contexts: a.b", "`contexts` is a path into a JSON answer, so `text` must be a path"),
        ("url: 'http://x', headers: {Authorization: Bearer abc}", "Authorization would hold a secret"),
        ("url: 'http://x', headers: {Host: y}", "'Host' is not a header that can be set here"),
        ("url: 'http://x', headers: {X-A: \"b\\nc\"}", "X-A contains characters not allowed in a header"),
        ("url: 'http://x', method: GET, body: [1]", "a GET has no body"),
        ("url: 'http://x', method: DELETE", "models.0.method"),
        ("url: 'http://x', contxts: a", "Did you mean 'contexts'?"),
        ("url: 'http://x', body: {since: 2024-01-01}", "quote dates"),
    ],
)
def test_an_entry_that_cannot_work_is_refused_with_its_line(tmp_path: Path, entry: str, said: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"models:\n  - {{name: m, provider: http, {entry}}}")
    with pytest.raises(InputError) as caught:
        read(path)
    assert said in str(caught.value)
    assert f"{path}, line 2" in str(caught.value)
    assert "abc" not in str(caught.value)
