"""Whatever proxies the environment names: a run asks its own Prefect directly, and models by the right route."""

import json
import os
import re
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from prefect.client.base import PrefectHttpxSyncClient

from basic_control.config.settings import Model
from basic_control.data.errors import InputError
from basic_control.flows import deployment
from basic_control.flows.routes import route_clients
from basic_control.tasks.models.proxies import build_prefect_environment, find_proxy, settle_proxies
from basic_control.tasks.store.owners import name_owner
from tests.conftest import TOP
from tests.servers.bytes import response, serve_bytes
from tests.servers.running import serve_openai
from tests.tasks.models.asking import ask, call

PROXY = "http://127.0.0.1:9"
SOCKS = "socks5://127.0.0.1:9"
NAME = "http://models.example:8000"
# What the environment says, and through what a model at NAME is asked.
ENVIRONMENTS: dict[str, tuple[dict[str, str], str]] = {
    "nothing": ({}, ""),
    "http_proxy": ({"http_proxy": PROXY}, PROXY),
    "HTTP_PROXY": ({"HTTP_PROXY": PROXY}, PROXY),
    "https alone": ({"https_proxy": PROXY}, ""),
    "all_proxy": ({"all_proxy": PROXY}, PROXY),
    "ALL_PROXY in socks": ({"ALL_PROXY": SOCKS}, SOCKS),
    "socks with names": ({"all_proxy": "socks5h://127.0.0.1:9"}, "socks5h://127.0.0.1:9"),
    "what desktops write": (
        {"http_proxy": PROXY, "https_proxy": PROXY, "all_proxy": "socks://127.0.0.1:9/"},
        PROXY,
    ),
    "no scheme": ({"http_proxy": "127.0.0.1:9"}, PROXY),
    "two slashes": ({"http_proxy": "//127.0.0.1:9"}, PROXY),
    "a user": ({"http_proxy": "http://me:pa%40ss@127.0.0.1:9"}, "http://me:pa%40ss@127.0.0.1:9"),
    "spaces around it": ({"http_proxy": f" {PROXY} "}, PROXY),
    "an empty one": ({"http_proxy": "", "HTTP_PROXY": ""}, ""),
    "a small one that is empty": ({"http_proxy": "", "all_proxy": SOCKS}, SOCKS),
    "nonsense": ({"http_proxy": "http://:"}, "http://:"),
    "a port that is none": ({"http_proxy": "http://127.0.0.1:many"}, "http://127.0.0.1:many"),
    "another protocol": ({"all_proxy": "ftp://127.0.0.1:9"}, "ftp://127.0.0.1:9"),
    "all excepted": ({"http_proxy": PROXY, "no_proxy": "*"}, ""),
    "all excepted, among others": ({"http_proxy": PROXY, "no_proxy": "a.example, *"}, ""),
    "a domain": ({"http_proxy": PROXY, "NO_PROXY": "example"}, ""),
    "a domain with a dot": ({"http_proxy": PROXY, "no_proxy": ".example"}, ""),
    "a domain with a star": ({"http_proxy": PROXY, "no_proxy": "*.EXAMPLE."}, ""),
    "another's end": ({"http_proxy": PROXY, "no_proxy": "s.example"}, PROXY),
    "the port": ({"http_proxy": PROXY, "no_proxy": "models.example:8000"}, ""),
    "another port": ({"http_proxy": PROXY, "no_proxy": "models.example:8001"}, PROXY),
    "an address with a scheme": ({"http_proxy": PROXY, "no_proxy": "http://models.example"}, ""),
    "an IPv6 network": ({"http_proxy": PROXY, "no_proxy": "fd00::/8,10.0.0.0/8"}, PROXY),
    "brackets": ({"http_proxy": PROXY, "no_proxy": "[::1]:80,[fd00::1],[::1"}, PROXY),
    "spaces between": ({"http_proxy": PROXY, "no_proxy": "a.example models.example"}, ""),
    "socks and an IPv6 network": ({"all_proxy": SOCKS, "no_proxy": "fd00::/8"}, SOCKS),
}
WHOLE = ("http_proxy", "ALL_PROXY in socks", "what desktops write", "nonsense", "brackets", "an IPv6 network")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    # What a test's own process sets is taken back.
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("NO_PROXY", "")


def set_all(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
        if name.lower() == "no_proxy":
            monkeypatch.setenv("no_proxy", text)


@pytest.mark.parametrize("form", ENVIRONMENTS)
def test_every_route_is_right_where_the_clients_are_made(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variables, proxy = ENVIRONMENTS[form]
    set_all(variables, monkeypatch)
    settle_proxies()
    assert find_proxy(NAME) == proxy
    with serve_bytes(lambda *_: response(json.dumps({"answer": "good"}).encode())) as server:
        for url in (server.url, server.url.replace("127.0.0.1", "localhost")):
            assert not find_proxy(url)
            route_clients()
            with PrefectHttpxSyncClient(base_url=url) as client:
                assert client.get("/x").json() == {"answer": "good"}
            model = Model.model_validate({"name": "m", "provider": "http", "base_url": url, "text": "answer"})
            assert [getattr(reply, "text", reply) for reply in ask(model, call())] == ["good"]
        # A server, a worker and what they start read the variables themselves, with another package.
        processes = build_prefect_environment(os.environ)
    for name in variables:
        monkeypatch.setenv(name, processes[name])
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, processes.get(name, ""))
    with serve_bytes(lambda *_: response(b"{}")) as server:
        assert httpx.get(server.url, timeout=10).json() == {}


def test_a_deployed_run_gets_the_proxies_back(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"http_proxy": PROXY, "all_proxy": SOCKS, "NO_PROXY": "fd00::/8"}
    for name, text in build_prefect_environment(variables).items():
        monkeypatch.setenv(name, text)
    assert "all_proxy" in os.environ
    settle_proxies()
    assert find_proxy("https://models.example") == SOCKS
    assert not find_proxy("http://[fd00::7]:80")
    assert find_proxy(NAME) == PROXY
    assert "BASIC_CONTROL_PROXIES" not in os.environ
    monkeypatch.delenv("all_proxy")


RUN = """
models:
  - {{name: here, provider: openai, base_url: '{url}', deadline_s: 20}}
suites:
  - name: s
    items: {{data: rows.jsonl}}
    prompt: "{{{{ question }}}}"
    metrics: {{contains: {{}}}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("form", WHOLE)
def test_a_whole_run_takes_the_right_route(form: str, tmp_path: Path) -> None:
    """In processes of their own: a model on loopback is asked directly, one at a name through the proxy."""
    variables, route = ENVIRONMENTS[form]
    (tmp_path / "rows.jsonl").write_text('{"question": "Say yes.", "answer": "yes"}\n', "utf-8")
    inherited = {name: text for name, text in os.environ.items() if not name.lower().endswith("_proxy")}
    with serve_openai("yes") as server:
        # The proxy is the server itself, for which a request's address is any; only HTTP's proxies lead there.
        port = str(urlsplit(server.url).port)
        proxied = {name: re.sub(r":9\b", f":{port}", text) for name, text in variables.items()}
        is_reached = route.startswith("http://127")
        for url, chosen, code in (
            (server.base_url, variables, 0),
            ("http://models.example:8000/v1", proxied, 0 if is_reached else 2),
        ):
            (tmp_path / "run.yaml").write_text(RUN.format(url=url), "utf-8")
            done = subprocess.run(
                [sys.executable, "-m", "basic_control", "run", "run.yaml"],
                cwd=tmp_path,
                env={**inherited, **chosen, "PYTHONPATH": str(TOP)},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == code, done.stdout + done.stderr
            assert "Prefect" not in done.stderr
            assert "defect" not in done.stderr


def test_a_worker_waits_for_a_server_that_has_just_been_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "prefect.server"
    started.write_text(name_owner(), "ascii")
    monkeypatch.setattr(deployment, "STARTED", started)
    monkeypatch.setattr(deployment, "SAID_S", 0.0)
    monkeypatch.setattr(deployment, "PATIENCE_S", 0.0)
    answers = [response(b"", b"HTTP/1.1 503 Service Unavailable"), response(b'"3"')]
    with ExitStack() as stack:
        door = stack.enter_context(socket.socket())
        door.bind(("127.0.0.1", 0))
        port = door.getsockname()[1]
        messages = []

        def say(message: str) -> None:
            # It was refused once; now the server listens, and is not ready at first.
            messages.append(message)
            door.close()
            stack.enter_context(serve_bytes(lambda number, _: answers[min(number, 1)], port=port))

        monkeypatch.setattr(deployment, "say", say)
        deployment.reach({"PREFECT_API_URL": f"http://127.0.0.1:{port}/api", "PREFECT_API_AUTH_STRING": "me:mine"})
    assert messages == [f"Waiting for the Prefect server at http://127.0.0.1:{port}/api."]


def test_a_server_that_nobody_started_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deployment, "STARTED", tmp_path / "prefect.server")
    monkeypatch.setattr(deployment, "PATIENCE_S", 0.0)
    with pytest.raises(InputError, match="no Prefect server answers"):
        deployment.reach({"PREFECT_API_URL": "http://127.0.0.1:1/api", "PREFECT_API_AUTH_STRING": "me:mine"})
