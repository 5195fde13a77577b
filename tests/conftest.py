"""What tests share: a folder for Prefect of their own, a way to run a flow, and a Prefect server where needed."""

import contextlib
import functools
import gc
import importlib
import os
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from basic_control import runs_apart
from basic_control.data import aliases, plugins
from basic_control.flows.environment import QUIET
from tests.helpers import certificates, inside
from tests.helpers.forked_runs import replace_subprocess
from tests.helpers.preloaded import Preloaded

TOP = Path(__file__).parents[1]
LONG = ("tests/tasks/sandbox/", "tests/flows/", "tests/basic_control/", "tests/acceptance/", "tests/tasks/store/")
SHARED = TOP.parent / "shared" / "data"

# Before any test imports Prefect: a home of this session's own, no telemetry, quiet.
_HOME = tempfile.TemporaryDirectory(prefix="basic-control-tests-", ignore_cleanup_errors=True)
os.environ |= {
    "PREFECT_HOME": f"{_HOME.name}/prefect",
    "PREFECT_LOCAL_STORAGE_PATH": f"{_HOME.name}/results",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "PREFECT_FLOWS": '{"heartbeat_frequency": null}',
    # As of a command's own process, whichever test imports Prefect first.
    **QUIET,
    # Small matrices and tables, on cores that others use as well: more threads would mostly wait, and burn CPU.
    "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
}
for _name in ("PREFECT_API_URL", "PREFECT_PROFILE", "OPENAI_API_KEY", "OLLAMA_HOST", "HF_ENDPOINT"):
    os.environ.pop(_name, None)

# As where a plug-in is loaded, whichever test first imports a room by its former name.
aliases.install(plugins.folders)

# Each client reads some hundred certificates, in 25 ms; most of a run's four need none.
ssl.create_default_context = certificates.once(ssl.create_default_context)

# Both count wall time: a busy machine fails no property.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Have each worker begin with other files: to rewrite the asserts of a file takes longer than all else."""
    gc.disable()  # until all is imported: of what has been so far, nothing is garbage
    sys.unraisablehook = functools.partial(_heard, sys.unraisablehook)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker and session.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        files = sorted((TOP / "tests").rglob("test_*.py"))
        for file in files[int(worker.removeprefix("gw")) :: int(os.environ["PYTEST_XDIST_WORKER_COUNT"])]:
            with contextlib.suppress(Exception, pytest.skip.Exception):  # said where it is collected
                importlib.import_module(".".join(file.relative_to(TOP).with_suffix("").parts))


def _heard(report: Callable[[Any], object], unraisable: Any) -> None:
    """Report what a finalizer raised, but for a full stack: a test of deep nesting had garbage collected there."""
    if not issubclass(unraisable.exc_type, RecursionError):
        report(unraisable)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect garbage again from then on."""
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what starts processes: a file of it that comes last would keep one core busy for a minute."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


def pytest_collection_finish() -> None:
    """Have no garbage collection look at modules and tests again: they stay, and are a million objects."""
    gc.freeze()


def pytest_runtest_setup() -> None:
    """Have no test meet what another one left: a width of lines, an endpoint or a client whose server is gone.

    No fixture: setting one up for each of all tests takes longer than this.
    """
    os.environ["COLUMNS"] = "160"
    console = sys.modules.get("basic_control.flows.cli.console")
    if console is not None:
        console._console.cache_clear()
    query = sys.modules.get("basic_control.tasks.query")
    if query is not None and query._clients:
        query.close_clients()
        query.event_loop_thread().endpoints.clear()


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of real data; skip where it is not there."""
    if not SHARED.is_dir():
        pytest.skip("the real data (../shared/data) is not here")
    return SHARED


@pytest.fixture(scope="session")
def forks() -> Iterator[Preloaded]:
    """Return what starts runs without their imports."""
    preloaded = Preloaded({**os.environ, "OPENAI_API_KEY": "sk-test-0000", "COLUMNS": "160"})
    yield preloaded
    preloaded.end()


@pytest.fixture
def forked_runs(forks: Preloaded, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `bc.run` and `bc.evaluate` fork their process."""
    monkeypatch.setattr(runs_apart, "subprocess", replace_subprocess(forks))


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def environment(forks: Preloaded) -> dict[str, str]:
    """Return the environment in which a command of the project runs."""
    return dict(forks.environment)


@pytest.fixture
def run(environment: dict[str, str], forks: Preloaded, tmp_path: Path) -> Run:
    """Return a function that runs `python -m flows.<flow> …` in a fresh store and returns what it printed.

    With `command` it runs that command of `python -m basic_control`. It does so in this process unless `apart`
    asks for one of its own, or `extra` holds what only a process that starts would read.
    """

    def start(
        *arguments: str,
        flow: str = "full_eval",
        command: str = "",
        extra: Mapping[str, str] | None = None,
        root: str = "",
        cwd: Path = TOP,
        apart: bool = False,
        timeout: float = 240,
    ) -> subprocess.CompletedProcess[str]:
        places = ["--set", f"store.root={root or tmp_path / 'store'}", "--set", f"store.runs={tmp_path}/runs"]
        given = {**environment, **(extra or {})}
        if not apart and inside.fits(given, forks.environment):
            first = [command] if command else ["run", *([flow] if flow != "full_eval" else [])]
            code, out, err = inside.call([*first, *arguments, *places], given, cwd)
            return subprocess.CompletedProcess([flow, *arguments], code, out, err)
        module, words = ("basic_control", (command, *arguments)) if command else (f"flows.{flow}", arguments)
        if cwd != TOP:
            given["PYTHONPATH"] = str(TOP)
        begun = forks.start(module, [*words, *places], given, cwd)
        out, err = begun.communicate(timeout=timeout)
        return subprocess.CompletedProcess([flow, *arguments], begun.wait(), out, err)

    return start
