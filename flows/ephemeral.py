"""A Prefect server for one run from the command line, where no other is named.

Started in a process of its own before Prefect is imported here, so that both come up side by side, and ended with
the run, however that ends. It lets in nobody without a password that only this run's environment holds, answers
no page of another origin, and keeps its flow runs in a database of the project's own store. A server that dies
under its run is followed by another at the same address, with the same database.
"""

import contextlib
import gc
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from data.errors import InputError
from flows import database as databases
from flows.environment import modules

LEAN = {
    "PREFECT_UI_ENABLED": "0",
    # As Prefect's own temporary servers: few background services, one application only.
    "PREFECT__SERVER_EPHEMERAL": "1",
    "PREFECT__SERVER_FINAL": "1",
    # Types of blocks are registered when one is saved; all of them would take a second in each new store.
    "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "0",
    # Otherwise Prefect imports every integration there is (Dask, Ray), to see whether they have changed.
    "PREFECT_SERVER_MEMOIZE_BLOCK_AUTO_REGISTRATION": "0",
}
START_S = 300.0
"""A crowded machine may take minutes; a server that ends is noticed at once."""
END_S = 5.0
DEATHS = 3
"""So many servers may die under a run before it ends."""
READY = "ready\n"


def wanted() -> bool:
    """Say whether nobody names a Prefect server: no environment, and no settings file of Prefect's.

    Told without Prefect, which reads its settings once, when it is imported. A profile that speaks of a URL is left
    to Prefect to understand; it starts a server of its own if need be.
    """
    if os.environ.get("PREFECT_API_URL"):
        return False
    home = Path(os.environ.get("PREFECT_HOME") or "~/.prefect").expanduser()
    profiles = Path(os.environ.get("PREFECT_PROFILES_PATH") or home / "profiles.toml")
    words = {profiles: "url", Path(".env"): "prefect_api_url", Path("pyproject.toml"): "tool.prefect"}
    for path, word in words.items():
        with contextlib.suppress(OSError):
            if word in path.read_text(encoding="utf-8", errors="replace").lower():
                return False
    with contextlib.suppress(OSError, ValueError):
        named: Any = tomllib.loads(Path("prefect.toml").read_text(encoding="utf-8"))
        return not (isinstance(named.get("api"), dict) and named["api"].get("url"))
    return True


@contextlib.contextmanager
def serving(database: Path, tell: Callable[[str], None], lost: Callable[[str], None]) -> Iterator["Temporary"]:
    """Run a server in the background while the block runs; what is imported inside finds it as the one to use.

    `tell` is called, from another thread, with what there is to say when the server dies and another is started;
    `lost` when none can be had any more.
    """
    with socket.socket() as door, tempfile.TemporaryFile("w+") as said, tempfile.TemporaryDirectory() as spare:
        if why := databases.fault(database):
            tell(
                f"{database}: Prefect's record of local runs cannot be used ({why}). It decides nothing and may be "
                "deleted; this run goes on with another one."
            )
            database = Path(spare) / database.name
        door.bind(("127.0.0.1", 0))
        # Open here as long as the run lasts: while one server follows another, calls wait and do not fail.
        door.listen(128)
        root = f"http://127.0.0.1:{door.getsockname()[1]}"
        password = f"run:{secrets.token_urlsafe(32)}"
        environment = _environment(root, password, database)
        server = Temporary(door, environment, database, said=said.fileno(), tell=tell, lost=lost)
        ours = {"PREFECT_API_URL": f"{root}/api", "PREFECT_API_AUTH_STRING": password}
        before = {name: os.environ.get(name) for name in ours}
        os.environ |= ours
        try:
            yield server
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value
            server.end()


def _environment(root: str, password: str, database: Path) -> dict[str, str]:
    environment = {
        **os.environ,
        **modules(),
        **LEAN,
        "PREFECT_SERVER_API_AUTH_STRING": password,
        "PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS": root,
    }
    if any(environment.get(name) for name in databases.VARIABLES) or not (url := databases.url_of(database)):
        return environment
    return environment | {databases.VARIABLES[0]: url, "PREFECT_SERVER_DATABASE_MIGRATE_ON_START": "0"}


class Temporary:
    """A server that is coming up, or is up, or is followed by another."""

    def __init__(
        self,
        door: socket.socket,
        environment: dict[str, str],
        database: Path,
        *,
        said: int,
        tell: Callable[[str], None],
        lost: Callable[[str], None],
    ) -> None:
        self._door = door
        self._environment = environment
        self._said = said
        self._database = database
        self._tell = tell
        self._lost = lost
        self._change = threading.Condition()
        self._up = self._gone = self._ending = False
        self._process = self._start()
        threading.Thread(target=self._watch, name="prefect server", daemon=True).start()

    def _start(self) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "flows.ephemeral", str(self._door.fileno())]
        if "PREFECT_SERVER_DATABASE_MIGRATE_ON_START" in self._environment:
            try:
                ready = databases.begin(self._database)
            except OSError as error:
                raise InputError(
                    f"{self._database}: Prefect's database cannot be made ({error.strerror or error}). Choose "
                    "another folder with --set store.root=…, or set PREFECT_API_URL to use a running server."
                ) from error
            command += [] if ready else [str(self._database)]
        return subprocess.Popen(  # noqa: S603 - our own module
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            pass_fds=[self._door.fileno()],
            env=self._environment,
            # Ctrl-C is for the run, which still reports to the server while it stops.
            start_new_session=True,
            text=True,
        )

    def _watch(self) -> None:
        """Note when the server answers, and start another when it dies."""
        for deaths in range(1, DEATHS + 1):
            assert self._process.stdout is not None  # noqa: S101 - a pipe, as it was started
            for line in self._process.stdout:  # to its end, which is the process's
                if line == READY:
                    self._note(up=True)
            code = self._process.wait()
            with self._change:
                if self._ending:
                    return
                was_up, self._up = self._up, False
                if not was_up or deaths == DEATHS:
                    break
                with contextlib.suppress(InputError, OSError):
                    self._process = self._start()
            self._tell(f"The temporary Prefect server ended ({_ended(code)}); another takes its place.")
        self._note(gone=True)
        if deaths > 1:
            # Before the first was up, the run waits for it and is told there.
            said = f"The temporary Prefect server ended ({_ended(code)}), and so did those that took its place."
            self._lost(said)

    def _note(self, *, up: bool = False, gone: bool = False) -> None:
        with self._change:
            self._up, self._gone = up, gone
            self._change.notify_all()

    def wait(self) -> None:
        """Return when the server answers.

        Raises:
            InputError: it ended, or did not answer in time.
        """
        with self._change:
            self._change.wait_for(lambda: self._up or self._gone, START_S)
            if self._up:
                return
        os.lseek(self._said, 0, os.SEEK_SET)
        lines = os.read(self._said, 100_000).decode("utf-8", "replace").strip().splitlines() or ["nothing"]
        raise InputError(
            f"The temporary Prefect server did not start; its last word: {lines[-1]}. Are PREFECT_HOME "
            f"({os.environ.get('PREFECT_HOME') or '~/.prefect'}) and {self._database.parent} folders that can be "
            "written, with space on their disks? Or set PREFECT_API_URL to use a running server."
        )

    def end(self) -> None:
        """End the server."""
        with self._change:
            self._ending = True
        self._process.terminate()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _ended(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _end_with_parent() -> None:
    """Wait for the parent's end of our stdin to close: it does so even when the parent is killed."""
    sys.stdin.read()
    os._exit(0)


def _serve(door: int, unmade: str = "") -> None:
    """Serve at a socket; `unmade` is a database that has to be migrated before."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.disable()  # importing makes hundreds of thousands of objects that stay
    import uvicorn
    from prefect.server.api.server import create_app

    class Told(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            sys.stdout.write(READY)
            sys.stdout.flush()

    gc.freeze()
    gc.enable()
    if unmade:
        databases.migrate(Path(unmade))
    with socket.socket(fileno=door) as listening:
        config = uvicorn.Config(create_app, factory=True, log_level="error", lifespan="on")
        Told(config).run(sockets=[listening])


if __name__ == "__main__":
    _serve(int(sys.argv[1]), *sys.argv[2:])
