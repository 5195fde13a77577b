"""Servers whose answers have no end, or unpack without one: the call fails as stated, and the next is answered."""

import json
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from aiohttp import web

from basic_control.config.settings import Model
from basic_control.data.records import Reply
from basic_control.tasks.models.protocol import CallError
from tests.servers.running import serve
from tests.tasks.models.asking import ask, call, error_of, using

MOST = 1_000_000
PROVIDERS = ("openai", "azure", "ollama", "http")
GOOD = {
    "openai": {"choices": [{"message": {"content": "well"}}]},
    "azure": {"choices": [{"message": {"content": "well"}}]},
    "ollama": {"message": {"role": "assistant", "content": "well"}, "done": True},
    "http": {"answer": "well"},
}

Evil = Literal["endless", "bomb", "refusal", "packed refusal", "redirect"]


@dataclass
class Hostile:
    """A server whose first `times` answers never end; `sent` are the bytes that it got rid of."""

    evil: Evil
    good: Any
    times: int = 1
    sent: int = 0
    asked: list[str] = field(default_factory=list)

    def build(self) -> web.Application:
        """Return the application."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        return app

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.path)
        if len(self.asked) > self.times:
            return web.json_response(self.good)
        status = {"refusal": 400, "packed refusal": 400, "redirect": 302}.get(self.evil, 200)
        headers = {"Content-Type": "application/json"}
        if self.evil == "redirect":
            headers["Location"] = "/good"
        packed = self.evil in {"bomb", "packed refusal"}
        if packed:
            headers["Content-Encoding"] = "gzip"
        answer = web.StreamResponse(status=status, headers=headers)
        await answer.prepare(request)
        packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
        while True:
            block = b" " * 1_000_000 if not packed else packer.compress(b" " * 10_000_000)
            try:
                await answer.write(block)
            except ConnectionError:
                return answer
            self.sent += len(block)


@contextmanager
def hostile(provider: str, evil: Evil, **fields: Any) -> Iterator[tuple[Hostile, Model]]:
    """Run a hostile server, and yield it with a model that is it."""
    server = Hostile(evil, GOOD[provider], **{k: fields.pop(k) for k in ("times",) if k in fields})
    with serve(server.build()) as url:
        given: dict[str, Any] = {
            "name": "m",
            "provider": provider,
            "base_url": url,
            "deadline_s": 60,
            "max_response_bytes": MOST,
        }
        given |= {"text": "answer"} if provider == "http" else {}
        given |= {"api_version": "1"} if provider == "azure" else {}
        yield server, Model.model_validate(given | fields)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "sk-test-0000")


@contextmanager
def within(most: int) -> Iterator[None]:
    """Hold what this process takes meanwhile, the server's thread included, to a number of bytes."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("evil", ["endless", "bomb"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_answer_without_end_fails_its_call_and_the_next_is_answered(provider: str, evil: Evil) -> None:
    with hostile(provider, evil) as (server, model):
        ask(model.model_copy(update={"max_response_bytes": 10_000}))  # what is imported at the first call
        server.asked.clear()
        server.sent = 0
        with within(60_000_000):  # of which some 12 MB are the server's
            first, second = ask(model, call(), call())
    assert isinstance(first, CallError)
    assert first.kind == "invalid", "it would be the same again"
    assert f"sent more than {MOST} bytes (max_response_bytes)" in first.message
    assert isinstance(second, Reply)
    assert second.text == "well"
    assert server.sent < 50_000_000, "the rest is not read"


@pytest.mark.parametrize("evil", ["refusal", "packed refusal"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_refusal_without_end_is_a_refusal(provider: str, evil: Evil) -> None:
    with hostile(provider, evil) as (server, model):
        error = error_of(model)
        assert len(server.asked) == 1
    assert error.kind == "invalid"
    assert error.message.startswith("HTTP 400: ")
    assert len(error.message) < 1000


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_a_redirect_without_end_is_followed(provider: str) -> None:
    with hostile(provider, "redirect") as (server, model):
        (reply,) = ask(model)
    assert isinstance(reply, Reply), reply
    assert server.asked[-1] == "/good"


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_a_server_that_lists_its_models_without_end_is_told_before_anything_is_asked(provider: str) -> None:
    with hostile(provider, "endless", times=9) as (server, model):
        if provider == "openai":
            known = using(model, lambda client: client.identity())
            assert known["model"] == "m", "a listing that cannot be read is no error, as before"
        else:
            with pytest.raises(CallError, match="sent more than"):
                using(model, lambda client: client.identity())
    assert server.sent < 50_000_000


def test_an_answer_as_large_as_is_read_is_read() -> None:
    text = "x" * (MOST - 100)
    with hostile("http", "endless", times=0) as (server, model):
        server.good = {"answer": text}
        (reply,) = ask(model)
    assert isinstance(reply, Reply)
    assert reply.text == text
    assert len(json.dumps(server.good)) < MOST
