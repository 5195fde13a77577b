"""The one way to a server: what it sends fails its call alone, proxies are those of the environment, keys stay."""

import asyncio
import json
import subprocess
import sys
from typing import Any
from urllib.parse import urlsplit

import pytest
from openai import AsyncAzureOpenAI, AsyncOpenAI

from basic_control.config.settings import Model
from basic_control.data.records import Reply
from basic_control.tasks.models.openai import OpenAIClient
from basic_control.tasks.models.protocol import CallError, Client
from basic_control.tasks.models.proxies import find_proxy
from tests.conftest import TOP
from tests.servers import serve
from tests.servers.bytes import response, serve_bytes
from tests.servers.running import serve_openai
from tests.servers.service import Service
from tests.servers.socks import serve_socks
from tests.tasks.models.asking import ask, call, error_of, reply_of, using

KEY = "k-0123456789abcdef-Secret"
PROVIDERS = ("openai", "azure", "ollama", "http")
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    for name in (*PROXIES, *map(str.upper, PROXIES), "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def at(provider: str, url: str, **fields: Any) -> Model:
    entry: dict[str, Any] = {"name": "m", "provider": provider, "base_url": url, "deadline_s": 20}
    if provider == "http":
        entry["text"] = "answer"
    if provider == "azure":
        entry["api_version"] = "1"
    return Model.model_validate(entry | fields)


def saying(text: str) -> bytes:
    """Return a body that every provider reads as an answer."""
    message = {"role": "assistant", "content": text}
    return json.dumps(
        {"choices": [{"message": message}], "message": message, "done": True, "answer": text}
    ).encode()


GOOD = response(saying("good"))
MALFORMED = {
    "a header without end": b"HTTP/1.1 200 OK\r\nSet-Cookie: " + b"x" * 1_000_000 + b"\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nhello",
    "a length that is none": b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nhello",
    "garbage in chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n",
    "another protocol's banner": b"SSH-2.0-OpenSSH_9.6\r\n",
    "a status that is no number": b"HTTP/1.1 OK OK\r\n\r\n",
    "a header without a colon": b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n",
    "a zero byte in a header": b"HTTP/1.1 200 OK\r\nX-A: \0\r\n\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("form", MALFORMED)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_malformed_http_fails_its_call_and_the_next_is_answered(provider: str, form: str) -> None:
    with serve_bytes(lambda number, _: GOOD if number else MALFORMED[form]) as server:
        first, second = ask(at(provider, server.url), call("one"), call("two"))
    assert isinstance(first, CallError), first
    assert first.kind == "connection"
    assert first.message.startswith(f"no answer from {server.url}: ")
    assert isinstance(second, Reply), second
    assert second.text == "good"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_second_answer_to_a_question_is_no_answer_to_the_next(provider: str) -> None:
    """It comes after the first has been read; of two that come together, neither is used."""

    async def act(client: Client) -> list[str]:
        texts = []
        for number in range(3):
            texts.append((await client.ask(call(str(number)))).text)
            await asyncio.to_thread(server.send, response(saying("nobody asked")))
            await asyncio.sleep(0)  # the loop reads what has arrived
        return texts

    with serve_bytes(lambda number, _: response(saying(f"answer {number}"))) as server:
        assert using(at(provider, server.url), act) == ["answer 0", "answer 1", "answer 2"]


def test_a_long_header_of_a_gateway_is_read() -> None:
    head = b"HTTP/1.1 200 OK\r\nSet-Cookie: " + b"x" * 20_000
    with serve_bytes(lambda *_: response(saying("good"), head)) as server:
        assert reply_of(at("openai", server.url)).text == "good"


@pytest.mark.parametrize(
    ("environment", "url", "proxy"),
    [
        ({}, "http://models.example/v1", ""),
        ({"http_proxy": "http://p:1"}, "http://models.example/v1", "http://p:1"),
        ({"HTTPS_PROXY": "p:1"}, "https://models.example/v1", "http://p:1"),
        ({"ALL_PROXY": "http://p:1"}, "https://models.example", "http://p:1"),
        ({"http_proxy": "http://p:1"}, "https://models.example", ""),
        ({"http_proxy": "http://p:1", "no_proxy": "example"}, "http://models.example", ""),
        ({"http_proxy": "http://p:1", "no_proxy": "*"}, "http://models.example", ""),
        ({"http_proxy": "http://p:1"}, "http://localhost:11434", ""),
        ({"http_proxy": "http://p:1"}, "http://models.localhost", ""),
        ({"http_proxy": "http://p:1"}, "http://127.8.0.1:80/v1", ""),
        ({"http_proxy": "http://p:1"}, "http://[::1]:80", ""),
        ({"http_proxy": "http://p:1"}, "http://192.168.0.7", "http://p:1"),
    ],
)
def test_the_environments_proxies_lead_everywhere_but_to_this_machine(
    environment: dict[str, str], url: str, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert find_proxy(url) == proxy


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_server_is_asked_through_the_proxy_and_this_machine_is_not(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_bytes(lambda *_: GOOD) as server, serve_bytes(lambda *_: response(saying("proxied"))) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url.replace("http://", "http://me:pass-word@"))
        assert reply_of(at(provider, server.url)).text == "good"
        assert not proxy.heads
        assert reply_of(at(provider, "http://models.example:8000")).text == "proxied"
        (head,) = proxy.heads
    assert b" http://models.example:8000/" in head
    assert b"Proxy-Authorization: Basic bWU6cGFzcy13b3Jk" in head


@pytest.mark.parametrize(
    ("proxy", "kind", "text"),
    [
        ("http://127.0.0.1:1", "connection", "no answer from http://models.example:8000: Cannot connect to host"),
        ("http://:", "connection", "no answer from http://models.example:8000"),
        ("ftp://p:1", "connection", "no answer from http://models.example:8000"),
        ("http://p:99999", "connection", "no answer from http://models.example:8000"),
        ("socks5://me:pass-word@127.0.0.1:1", "connection", "(through the proxy socks5://127.0.0.1:1)"),
        ("socks5://me:pass-word@p:99999", "invalid", "through the environment's proxy socks5://p:99999"),
        ("socks9://p:1", "invalid", "through the environment's proxy socks9://p:1"),
    ],
)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_proxy_that_cannot_be_used_fails_the_call(
    provider: str, proxy: str, kind: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if proxy.startswith("socks"):
        pytest.importorskip("aiohttp_socks")
    monkeypatch.setenv("all_proxy", proxy)
    error = error_of(at(provider, "http://models.example:8000", deadline_s=5))
    assert error.kind == kind
    assert text in error.message
    assert "pass-word" not in error.message
    assert "ssl:" not in error.message, "nothing is encrypted here"


@pytest.mark.parametrize("scheme", ["socks5", "socks5h", "socks", "SOCKS5"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_socks_proxy_leads_to_a_server(provider: str, scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("aiohttp_socks")
    with serve_bytes(lambda *_: GOOD) as server, serve_socks(urlsplit(server.url).port or 0) as proxy:
        monkeypatch.setenv("all_proxy", f"{scheme}://me:pass-word@{proxy.address}")
        assert reply_of(at(provider, "http://models.example:8000")).text == "good"
        assert {*proxy.targets} == {"models.example:8000"}
        assert {*proxy.users} == {b"me:pass-word"}
        count = len(proxy.targets)
        assert reply_of(at(provider, server.url)).text == "good"
        assert len(proxy.targets) == count, "this machine is not asked through it"


def test_a_socks_proxy_without_its_package_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://me:pass-word@127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "aiohttp_socks", None)
    error = error_of(at("openai", "http://models.example:8000"))
    assert error.kind == "invalid"
    assert "socks5://127.0.0.1:1: it needs the extra `socks`; install it (" in error.message
    assert "pass-word" not in error.message


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_wants_a_password_is_named_and_keeps_its_own(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = response(b"user me, password pass-word", b"HTTP/1.1 407 Proxy Authentication Required")
    with serve_bytes(lambda *_: refusal) as proxy:
        monkeypatch.setenv("all_proxy", proxy.url.replace("http://", "http://me:pass-word@"))
        error = error_of(at("openai", f"{scheme}://models.example:8000"))
    assert error.kind == "auth"
    assert error.message.startswith(f"the proxy {proxy.url} answered HTTP 407 for {scheme}://models.example:8000: ")
    assert "pass-word" not in error.message


@pytest.mark.parametrize("provider", ["openai", "azure", "ollama"])
def test_a_redirect_is_followed_and_the_key_goes_to_no_other_host(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    elsewhere = Service(lambda *_: json.loads(saying("from elsewhere")))
    with serve(elsewhere.build()) as other:
        moved = f"HTTP/1.1 307 Moved\r\nLocation: {other}/x".encode()
        with serve_bytes(lambda *_: response(b"", moved)) as server:
            assert reply_of(at(provider, server.url, api_key_env="MY_KEY")).text == "from elsewhere"
    assert KEY.encode() in server.heads[0]
    ((_, _, headers, _),) = elsewhere.seen
    assert KEY not in str(headers)


@pytest.mark.parametrize("count", [2**63, -1, 10**30])
def test_a_number_of_tokens_that_no_table_holds_is_unknown(count: int) -> None:
    body = json.loads(saying("good")) | {"usage": {"prompt_tokens": count, "completion_tokens": 3}}
    body |= {"prompt_eval_count": count, "eval_count": 3}
    with serve_bytes(lambda *_: response(json.dumps(body).encode())) as server:
        for provider in ("openai", "ollama"):
            reply = reply_of(at(provider, server.url))
            assert (reply.text, reply.tokens_in, reply.tokens_out) == ("good", None, 3)


IDENTIFIED = """
import asyncio, sys
from basic_control.config.settings import Model
from basic_control.tasks.models import open_client
model = Model(name="m", provider="openai", base_url=sys.argv[1], api_key_env=sys.argv[2])
assert asyncio.run(open_client(model).identity())["base_url"] == sys.argv[1]
print("openai" in sys.modules)
"""


@pytest.mark.parametrize("variable", ["", "MY_KEY"])
def test_a_model_is_identified_without_the_openai_package(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "right-key")
    with serve_openai("hi", key="right-key" if variable else "") as server:
        command = [sys.executable, "-c", IDENTIFIED, server.base_url, variable]
        done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True)
        (seen,) = server.lookups
    assert done.stdout.split() == ["False"]
    assert seen.headers.get("Authorization", "") == ("Bearer right-key" if variable else "")


@pytest.mark.parametrize("form", ["{}", "{}/", "{}//", "{}/a%20b", "{}/ä b", "{}/v1?x=1", "{}/A/../b"])
def test_an_address_is_written_as_the_openai_package_writes_it(form: str) -> None:
    """It is a part of every request's id."""
    with serve_openai("hi") as server:
        for url in (server.url, server.url.replace("http://127.0.0.1", "HTTP://LocalHost")):
            address = form.format(url)
            identity = using(at("openai", address), lambda client: client.identity())
            package = str(AsyncOpenAI(base_url=address.partition("?")[0], api_key="none").base_url)
            assert identity["base_url"] == package.rstrip("/")
            identity = using(at("azure", address), lambda client: client.identity())
            azure = AsyncAzureOpenAI(azure_endpoint=address.partition("?")[0], api_version="1", api_key="none")
            assert identity["base_url"] == str(azure.base_url).rstrip("/")


def test_a_client_is_ready_before_its_first_call() -> None:
    client = OpenAIClient(at("openai", "http://127.0.0.1:1"))
    client.prepare()
    assert "api" in vars(client)
