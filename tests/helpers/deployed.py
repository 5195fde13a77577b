"""A copy of the project with a Prefect server of its own."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from basic_control.flows.environment import QUIET
from tests.conftest import TOP, free_port
from tests.servers.running import Server

SECRET = "admin:only-for-this-test"

LEAN = {
    # A client says which blocks it needs; to offer all, every integration there is would be imported.
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
    "PREFECT_SERVER_MEMOIZE_BLOCK_AUTO_REGISTRATION": "false",
}

TREE = ("basic_control", "flows", "tasks", "config", "generators", "metrics", "prompts", "data")

TINY = """
models: [{{name: tiny, provider: openai, base_url: '{url}', max_concurrency: 1}}]
suites: [basic_control]
basic_control: {{families: [simple_logic, arithmetic], n_items: 2}}
"""


@contextmanager
def group(command: list[str], log: Path, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command in a process group of its own, and end the whole group."""
    with log.open("wb") as file:
        process: subprocess.Popen[bytes] = subprocess.Popen(
            command, stdout=file, stderr=file, start_new_session=True, **options
        )
        try:
            yield process
        finally:
            for sign in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(process.pid, sign)
                    process.wait(15)
                except (ProcessLookupError, subprocess.TimeoutExpired):
                    continue


class Place:
    """A copy of the project with a server of its own."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.port = free_port()
        self.environment = {
            **{k: v for k, v in os.environ.items() if k != "PREFECT_FLOWS" and k not in QUIET},
            **LEAN,
            "PREFECT_HOME": str(tree / "home"),
            "PREFECT_SERVER_API_AUTH_STRING": SECRET,
            "PREFECT_LOGGING_TO_API_ENABLED": "true",
            "PREFECT_WORKER_QUERY_SECONDS": "1",
            "PYTHONPATH": str(tree),
            "OPENAI_API_KEY": "sk-test-0000",
        }
        del self.environment["PREFECT_LOCAL_STORAGE_PATH"]
        name, _, word = SECRET.partition(":")
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}/api", auth=(name, word), timeout=30)

    def command(self, what: str) -> list[str]:
        return [sys.executable, "-m", "basic_control", what, "--port", str(self.port)]

    def find(self, kind: str, **filters: Any) -> list[dict[str, Any]]:
        """Return what Prefect's API lists."""
        answer = self.send("POST", f"/{kind}/filter", filters)
        return list(answer["events"] if kind == "events" else answer)

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request as Prefect's own client does: again after a 503, which says that the database is busy."""
        for _ in range(50):
            answer = self.client.request(method, path, json=body)
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            time.sleep(0.2)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def wait(self, check: Callable[[], Any], what: str, seconds: float = 120) -> Any:
        """Return what `check` finds, once it finds something."""
        deadline = time.monotonic() + seconds
        while not (found := check()):
            assert time.monotonic() < deadline, f"{what}\n{self.logs()}"
            time.sleep(0.5)  # each question is work for the server
        return found

    def logs(self) -> str:
        """Return the ends of the server's and the worker's logs."""
        return "\n".join(p.read_text(errors="replace")[-6000:] for p in sorted(self.tree.glob("*.log")))

    def up(self) -> bool:
        try:
            return self.client.get("/health").is_success
        except httpx.HTTPError:
            return False


def copy_project(tree: Path) -> Place:
    """Return a copy of the project in `tree`."""
    for package in TREE:
        shutil.copytree(
            TOP / package, tree / package, symlinks=True
        )  # with the bytecode, else each process compiles all
    for file in ("prefect.yaml", "prefect.toml", "pyproject.toml"):
        shutil.copy(TOP / file, tree / file)
    return Place(tree)


@contextmanager
def standing(tree: Path) -> Iterator[Place]:
    """Yield a copy of the project in `tree`, its Prefect server up."""
    there = copy_project(tree)
    with group(there.command("serve"), tree / "server.log", cwd=tree, env=there.environment):
        there.wait(there.up, "Prefect's server did not answer")
        yield there


def deploy(place: Place, server: Server) -> None:
    """Deploy with a smoke run of the tiny configuration every few seconds, in place of hourly."""
    (place.tree / "config" / "smoke.yaml").write_text(TINY.format(url=server.base_url), encoding="utf-8")
    text = (place.tree / "prefect.yaml").read_text(encoding="utf-8")
    hourly = '- cron: "7 * * * *"\n        timezone: Europe/Berlin\n'
    assert hourly in text
    (place.tree / "prefect.yaml").write_text(text.replace(hourly, "- interval: 20\n"), encoding="utf-8")
    done = subprocess.run(
        place.command("deploy"),
        cwd=place.tree,
        env=place.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert SECRET.partition(":")[2] not in done.stdout + done.stderr
