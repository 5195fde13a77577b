"""Ctrl-C: what is paid is kept, a second one stops at once, what is said to do next is right, and no traceback."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from basic_control.tasks.store.reply_cache import ReplyCache
from tests.conftest import TOP, Run
from tests.helpers.requests import prompts_seen
from tests.helpers.runs import at, latest
from tests.servers.running import serve_openai

ONLY = ("--set", "suites=[basic_control]", "--set", "basic_control.families=[arithmetic]", "--set", "gate=off")
N = 12
IN_FLIGHT = 4


class Door:
    """Lets some calls through, and holds the others until it is opened."""

    def __init__(self, free: int) -> None:
        self.free = free
        self.held = 0
        self.opened = threading.Event()

    async def reply(self, _body: dict[str, Any]) -> str:
        if self.free:
            self.free -= 1
            return "ANSWER: 7"
        self.held += 1
        await asyncio.to_thread(self.opened.wait)
        return "ANSWER: 7"


class Started:
    """A run in a process of its own, and what it has said so far on stderr."""

    def __init__(self, module: str, words: list[str], environment: dict[str, str]) -> None:
        command = [sys.executable, "-m", module, *words]
        self.process = subprocess.Popen(
            command,
            cwd=TOP,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.said = ""

    def until(self, seen: Callable[[], object]) -> None:
        while not seen():
            assert self.process.poll() is None, self.process.communicate()[1]
            threading.Event().wait(0.01)

    def says(self, words: str) -> None:
        """Read until it has said something."""
        assert self.process.stderr is not None
        while words not in self.said:
            line = self.process.stderr.readline()
            assert line, self.said
            self.said += line

    def interrupt(self) -> None:
        """Send Ctrl-C as a terminal does: to the run and all that it has started."""
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self) -> int:
        self.said += self.process.communicate()[1]
        assert "Traceback" not in self.said, self.said
        return self.process.returncode


def words(server: Any, folder: Path, *more: str) -> list[str]:
    model = at(server, max_concurrency=IN_FLIGHT)
    places = ["--set", f"store.root={folder}/store", "--set", f"store.runs={folder}/runs"]
    return ["--set", model, *ONLY, "--set", f"basic_control.n_items={N}", *places, *more]


def kept(folder: Path) -> int:
    cache = ReplyCache(f"sqlite:///{folder}/store/replies.sqlite")
    try:
        return cache.count()
    finally:
        cache.close()


@pytest.mark.slow
def test_prefects_temporary_server_outlasts_a_run_that_is_stopped(
    environment: dict[str, str], tmp_path: Path
) -> None:
    door = Door(free=3)
    retried = environment | {"PREFECT_FLOWS_DEFAULT_RETRIES": "1", "PREFECT_HOME": str(tmp_path / "home")}
    with serve_openai(door.reply) as server:
        started = Started("tests.helpers.patient", words(server, tmp_path), retried)
        started.until(lambda: door.held == IN_FLIGHT)
        started.interrupt()
        started.says(f"Stopping: {IN_FLIGHT} calls in flight")
        door.opened.set()
        assert started.end() == 130
    assert "Starting a temporary Prefect server" in started.said
    assert "Everything answered so far is kept" in started.said


def test_calls_in_flight_come_to_their_end_and_a_fresh_run_goes_on_by_resume(
    environment: dict[str, str], run: Run, tmp_path: Path
) -> None:
    door = Door(free=3)
    with serve_openai(door.reply) as server:
        started = Started("tests.helpers.patient", words(server, tmp_path, "--fresh"), environment)
        started.until(lambda: door.held == IN_FLIGHT)
        started.interrupt()
        started.says(f"Stopping: {IN_FLIGHT} calls in flight")
        door.opened.set()
        assert started.end() == 130
        assert kept(tmp_path) == 3 + IN_FLIGHT, "what was paid is kept"
        name = latest(tmp_path).name
        assert "Everything answered so far is kept; continue with" in started.said
        assert f"continue with --resume {name} instead of --fresh" in started.said
        assert "run the same command again" not in started.said
        done = run(*words(server, tmp_path, "--resume", name))
        assert done.returncode == 0, done.stderr
        assert set(prompts_seen(server).values()) == {1}, "nothing is asked twice"
        assert len(server.requests) == N
        again = run(*words(server, tmp_path, "--resume"))
        assert again.returncode == 2
        assert f"the last run, {name}, has ended" in again.stderr


@pytest.mark.slow
def test_a_second_interrupt_stops_at_once(environment: dict[str, str], tmp_path: Path) -> None:
    door = Door(free=3)
    with serve_openai(door.reply) as server:
        started = Started("tests.helpers.patient", words(server, tmp_path), environment)
        started.until(lambda: door.held == IN_FLIGHT)
        started.interrupt()
        started.says("Ctrl-C again stops at once.")
        started.interrupt()
        assert started.end() == 130, "and does not wait for an hour"
        door.opened.set()
    assert "Stopped at once. Everything answered so far is kept; run the same command again" in started.said
    assert kept(tmp_path) == 3


AT = """
import os, signal, sys

class Presser:
    def find_spec(self, name, *_):
        if name == os.environ["PRESS_AT"]:
            os.kill(os.getpid(), signal.SIGINT)

if sys.argv[:1] != ["-c"]:
    sys.meta_path.insert(0, Presser())
"""


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("flows.cot", "basic_control.config.settings"),
        *(
            pytest.param("flows.cot", name, marks=pytest.mark.slow)
            for name in ("pathlib", "cyclopts", "prefect", "basic_control.tasks.query")
        ),
        *(
            pytest.param("basic_control", name, marks=pytest.mark.slow)
            for name in ("pathlib", "basic_control.flows.cli.application", "basic_control.config.settings")
        ),
    ],
)
def test_while_it_starts_no_traceback_is_shown(
    environment: dict[str, str], tmp_path: Path, module: str, imported: str
) -> None:
    """Pressed when a module is just being imported, from the first line of ours on."""
    (tmp_path / "sitecustomize.py").write_text(AT, encoding="utf-8")
    path = os.pathsep.join((str(tmp_path), str(TOP)))
    command = [sys.executable, "-m", module, "--dry-run"]
    if imported in {"prefect", "basic_control.tasks.query"}:
        row = {"question": "2 + 2?", "answer": "4", "response": "4"}
        (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
        command = [sys.executable, "-m", module, "--set", f"store.root={tmp_path}/store"]
        command += ["--set", f"store.runs={tmp_path}/runs", "--set", f"cot.data={tmp_path}/rows.jsonl"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": path, "PRESS_AT": imported},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in {130, -signal.SIGINT}, done.stderr
    assert "Stopped" in done.stderr
