"""As many calls are in flight as `max_concurrency` says; where the system allows fewer, that is said before."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.settings import Model, StoreSettings
from basic_control.data.batches import Cell
from basic_control.tasks.query import ask
from tests.conftest import TOP
from tests.helpers.requests import requests_of
from tests.servers.running import serve_ollama, serve_openai


class Gathering:
    """Answers nobody before so many calls are there together."""

    def __init__(self, n: int) -> None:
        self.left = n
        self.whole = asyncio.Event()

    async def reply(self, _body: dict[str, Any]) -> str:
        self.left -= 1
        if self.left <= 0:
            self.whole.set()
        await self.whole.wait()
        return "yes"


@pytest.mark.parametrize(("provider", "n"), [("openai", 64), ("openai", 1_000), ("ollama", 256)])
def test_as_many_calls_are_in_flight_as_the_entry_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: str, n: int
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0000")
    serve = serve_openai if provider == "openai" else serve_ollama
    with serve(Gathering(n).reply) as server:
        given = {
            "name": "m",
            "provider": provider,
            "base_url": server.base_url,
            "max_concurrency": n,
            "deadline_s": 120,
        }
        model = Model.model_validate(given)
        requests = requests_of(model, [str(number) for number in range(n + 40)])
        _, tally = ask(requests, model, StoreSettings(root=str(tmp_path)), Cell("x"))
        assert server.peak == n
    assert tally.answered == n + 40


LIMITED = """
import resource, sys
soft, hard = map(int, sys.argv[1:3])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
from basic_control.config.settings import Settings
from basic_control.flows.preflight import too_few_connections
from basic_control.tasks.models.readiness import count_connections
print(count_connections(100))
models = [{"name": name, "provider": "openai", "max_concurrency": 50} for name in ("a", "b")]
models.append({"name": "c", "provider": "openai", "base_url": "http://127.0.0.1:1/v1", "max_concurrency": 50})
print(too_few_connections(Settings.model_validate({"models": models, "suites": ["basic_control"]})))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "allowed", "said"),
    [
        (300, 300, 44, "allows 100 calls in flight"),
        (300, 4_000, 100, ""),
        (4_000, 4_000, 100, ""),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_what_the_open_files_allow_is_asked_for_and_else_said(
    soft: int, hard: int, allowed: int, said: str
) -> None:
    """Of three models, two share a server."""
    command = [sys.executable, "-c", LIMITED, str(soft), str(hard)]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True)
    number, message = done.stdout.split("\n", 1)
    assert int(number) == allowed
    assert said in message
    assert bool(message.strip()) == bool(said)
    assert ("open files 44;" in message and "ulimit -n 356" in message) == bool(said)
