"""A Prefect server for one run from the command line, where no other is named.

Started in a process of its own before Prefect is imported here, so that both come up side by side, and ended with
the run, however that ends. Its flow runs stay in the user's own Prefect database, as those of Prefect's own
temporary server do; that one would be imported into this process as well.
"""

import contextlib
import gc
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from data.errors import InputError
from flows.environment import modules

LEAN = {
    "PREFECT_UI_ENABLED": "0",
    # As Prefect's own temporary servers: few background services, one application only.
    "PREFECT__SERVER_EPHEMERAL": "1",
    "PREFECT__SERVER_FINAL": "1",
}
START_S = 90.0
END_S = 5.0


def wanted() -> bool:
    """Say whether nobody names a Prefect server: no environment, and no settings file of Prefect's.

    Told without Prefect, which reads its settings once, when it is imported. A file that speaks of a URL is left to
    Prefect to understand; it starts a server of its own if need be.
    """
    if os.environ.get("PREFECT_API_URL"):
        return False
    home = Path(os.environ.get("PREFECT_HOME") or "~/.prefect").expanduser()
    profiles = Path(os.environ.get("PREFECT_PROFILES_PATH") or home / "profiles.toml")
    for path, word in ((profiles, "url"), (Path("prefect.toml"), "url"), (Path(".env"), "prefect_api_url"),
                       (Path("pyproject.toml"), "tool.prefect")):  # fmt: skip
        with contextlib.suppress(OSError):
            if word in path.read_text(encoding="utf-8", errors="replace").lower():
                return False
    return True


@contextlib.contextmanager
def serving() -> Iterator["Temporary"]:
    """Run a server in the background while the block runs; what is imported inside finds it as the one to use."""
    with socket.socket() as door, tempfile.TemporaryFile("w+") as said:
        door.bind(("127.0.0.1", 0))
        door.listen(128)
        url = f"http://127.0.0.1:{door.getsockname()[1]}/api"
        process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", "flows.ephemeral", str(door.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=said,
            pass_fds=[door.fileno()],
            env={**os.environ, **modules(), **LEAN},
            # Ctrl-C is for the run, which still reports to the server while it stops.
            start_new_session=True,
            text=True,
        )
        door.close()  # now only the server listens: when it dies, calls fail and do not wait
        os.environ["PREFECT_API_URL"] = url
        try:
            yield Temporary(process, url, said.fileno())
        finally:
            del os.environ["PREFECT_API_URL"]
            process.terminate()
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Temporary:
    """A server that is coming up."""

    def __init__(self, process: subprocess.Popen[str], url: str, said: int) -> None:
        self._process = process
        self._url = url
        self._said = said

    def wait(self) -> None:
        """Return when the server answers.

        Raises:
            InputError: it ended, or did not answer in time.
        """
        started = time.monotonic()
        while True:
            try:
                urllib.request.urlopen(f"{self._url}/health", timeout=START_S).read()  # noqa: S310 - our own server's
            except (urllib.error.URLError, OSError):
                if self._process.poll() is not None or time.monotonic() - started > START_S:
                    break
                time.sleep(0.05)
            else:
                return
        os.lseek(self._said, 0, os.SEEK_SET)
        lines = os.read(self._said, 100_000).decode("utf-8", "replace").strip().splitlines() or ["nothing"]
        raise InputError(
            f"The temporary Prefect server did not start; its last word: {lines[-1]}. Is PREFECT_HOME "
            f"({os.environ.get('PREFECT_HOME') or '~/.prefect'}) a folder that can be written, with space on its "
            "disk? Or set PREFECT_API_URL to use a running server."
        )


def _end_with_parent() -> None:
    """Wait for the parent's end of our stdin to close: it does so even when the parent is killed."""
    sys.stdin.read()
    os._exit(0)


def _serve(door: int) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.disable()  # importing makes hundreds of thousands of objects that stay
    import uvicorn
    from prefect.server.api.server import create_app

    gc.freeze()
    gc.enable()
    with socket.socket(fileno=door) as listening:
        config = uvicorn.Config(create_app, factory=True, log_level="error", lifespan="on")
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
