"""Starts of `python -m …` without two seconds of imports: forks of a process that has most of them in memory.

That is what others wrote, and our own rules. What knows Prefect or a store, and all that starts threads as it is
imported, is read again in each fork. Where the environment differs in what Prefect and the like read as they are
imported, Python itself is started.
"""

import contextlib
import json
import os
import random
import runpy
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import certifi

from tests.helpers import certificates

TOP = Path(__file__).parents[2]
FREE = {
    "COLUMNS",
    "PYTEST_CURRENT_TEST",
    "PYTHONPATH",
    "OPENAI_API_KEY",
    "OLLAMA_HOST",
    "BASIC_CONTROL_LOG",
    "BASIC_CONTROL_DATA",
    "BASIC_CONTROL_CALLER",
    "AWS_ENDPOINT_URL",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_DEFAULT_REGION",
    "PREFECT_API_URL",
    "PREFECT_API_AUTH_STRING",
    "PREFECT_CLIENT_MAX_RETRIES",
}
"""What a start may say otherwise: our own modules read it, S3's and Prefect's clients at their first use, or Python
at its start."""
IMPORTED = (
    "prefect.main prefect.client.orchestration prefect.task_engine prefect.flow_engine prefect.cache_policies "
    "prefect.artifacts prefect.events prefect.task_runners cyclopts rich.progress rich.table jinja2.sandbox yaml "
    "sqlalchemy.orm sqlalchemy.dialects.sqlite sqlalchemy.dialects.postgresql fsspec tenacity stamina "
    "fastapi.encoders prefect.utilities.visualization openai.resources.chat.completions httpcore2 "
    "anyio._backends._asyncio uvicorn starlette.applications h11 regex rapidfuzz.distance numpy "
    "basic_control.config.reading basic_control.metrics.citation basic_control.metrics.cot "
    "basic_control.metrics.exam basic_control.metrics.analysis.passports basic_control.metrics.stats.intervals"
)
"""What starts no thread (Polars does)."""


class Preloaded:
    """A process that forks at request, for one environment."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None

    def _begin(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.helpers.preloaded", str(theirs.fileno())],
                cwd=TOP,
                env={**self.environment, "OPENBLAS_NUM_THREADS": "1"},  # more would be threads
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def start(
        self, module: str, words: Sequence[str], environment: Mapping[str, str], cwd: Path = TOP
    ) -> "Process":
        """Start `python -m module words`."""
        if not self.fits(environment):
            command, pipe = [sys.executable, "-m", module, *words], subprocess.PIPE
            return subprocess.Popen(command, cwd=cwd, env=environment, stdout=pipe, stderr=pipe, text=True)
        return self.fork(module, words, environment, cwd)

    def fits(self, environment: Mapping[str, str]) -> bool:
        """Say whether a process with that environment can be forked."""
        changed = {name for name, _ in self.environment.items() ^ environment.items()}
        return sys.platform == "linux" and changed <= FREE

    def fork(
        self,
        module: str,
        words: Sequence[str],
        environment: Mapping[str, str],
        cwd: Path,
        stdin: Sequence[int] = (),
    ) -> "Started":
        """Fork what runs as `python -m module words`; it may have a pipe to read from."""
        if self._process is None:
            self._begin()
        job = json.dumps([module, list(words), dict(environment), str(cwd)]).encode()
        ends = [os.pipe() for _ in range(3)]
        socket.send_fds(self._socket, [job], [*(theirs for _, theirs in ends), *stdin])
        for _, theirs in ends:
            os.close(theirs)
        return Started([os.fdopen(mine, "rb") for mine, _ in ends])

    def end(self) -> None:
        """End the process; what it started goes on."""
        if self._process is not None:
            self._socket.close()
            self._process.wait()


class Started:
    """What a test needs of `subprocess.Popen`, for a process that is not its child."""

    def __init__(self, pipes: Sequence[IO[bytes]]) -> None:
        status, *_ = pipes
        self.pid = int(status.readline())
        self.returncode: int | None = None
        self._said = [b"", b"", b""]
        self._readers = [threading.Thread(target=self._read, args=each, daemon=True) for each in enumerate(pipes)]
        for reader in self._readers:
            reader.start()

    def _read(self, place: int, pipe: IO[bytes]) -> None:
        with pipe:
            self._said[place] = pipe.read()

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once there is one."""
        self._readers[0].join(timeout)
        if self._readers[0].is_alive():
            raise subprocess.TimeoutExpired("a fork", timeout or 0)
        self.returncode = int(self._said[0])
        return self.returncode

    def poll(self) -> int | None:
        """Return the exit code, or None."""
        return None if self._readers[0].is_alive() else self.wait()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Return what it printed to stdout and stderr up to its end, which comes by force if it takes too long."""
        try:
            self.wait(timeout)
        except subprocess.TimeoutExpired:
            self.send_signal(signal.SIGKILL)
            raise
        for reader in self._readers:
            reader.join(timeout)
        out, err = (said.decode() for said in self._said[1:])
        return out, err

    def read_to_end(self, stream: int) -> bytes:
        """Return all that it wrote to stdout, 1, or stderr, 2, once it has ended."""
        self._readers[stream].join()
        return self._said[stream]

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended, which it may do in this very moment."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


Process = Started | subprocess.Popen[str]


def _serve(door: socket.socket) -> tuple[str, list[str]]:
    """Fork at each request; return, in the fork alone, what is to be run."""
    while True:
        job, pipes, _, _ = socket.recv_fds(door, 1 << 20, 4)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:  # keepers that are done
                pass
        if not job:
            sys.exit()
        assert len([*Path("/proc/self/task").iterdir()]) == 1, "what is forked has one thread"
        if os.fork():
            for each in pipes:
                os.close(each)
            continue
        door.close()
        status, out, err, *stdin = pipes
        if child := os.fork():
            for pipe in (out, err, *stdin):
                os.close(pipe)
            os.write(status, b"%d\n" % child)
            os.write(status, b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            os._exit(0)
        os.close(status)
        for number, pipe in [(1, out), (2, err), *((0, pipe) for pipe in stdin)]:
            os.dup2(pipe, number)
            os.close(pipe)
        # Streams of a process that begins: those from before know the files that were there.
        sys.stdout = sys.__stdout__ = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = sys.__stderr__ = os.fdopen(
            2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
        )
        module, words, environment, cwd = json.loads(job)
        _become(environment, cwd)
        return module, words


def _become(environment: Mapping[str, str], cwd: str) -> None:
    """Be as a process that is started with this environment in this folder."""
    from prefect import context

    from basic_control.flows.environment import prepare_environment

    os.chdir(cwd)
    os.environ.clear()
    os.environ |= environment
    sys.path[0:1] = [cwd, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    random.seed()
    prepare_environment(Path("unused: the environment names the folder"))
    context.refresh_global_settings_context()  # prefect.toml of that folder
    for name in [name for name in sys.modules if name.startswith(("basic_control.flows", "flows", "tests"))]:
        del sys.modules[name]


def _import() -> None:
    from basic_control.flows.environment import prepare_environment

    prepare_environment(Path("unused: the environment names the folder"))
    families = [f"basic_control.generators.{path.stem}" for path in (TOP / "generators").glob("[!_]*.py")]
    for name in [*IMPORTED.split(), *families]:
        __import__(name)
    ssl.create_default_context = certificates.once(ssl.create_default_context)
    ssl.create_default_context(cafile=os.environ.get("SSL_CERT_FILE") or certifi.where())


if __name__ == "__main__":
    import gc

    gc.disable()
    _import()
    gc.freeze()
    gc.enable()
    with socket.socket(fileno=int(sys.argv[1])) as _door:
        _module, _words = _serve(_door)
    sys.argv = [_module, *_words]
    runpy.run_module(_module, run_name="__main__", alter_sys=True)
