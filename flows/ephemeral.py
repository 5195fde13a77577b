"""What a run from the command line asks of Prefect, answered in its own process where no Prefect server is named.

Flows, tasks, retries of tasks and caching are Prefect's client's. What that asks of a server is little, and is
answered from memory (`flows.api`): on loopback, with a password that only this process knows, and no other origin
let in. Nothing of it outlasts the run. Where a server is needed, for retries of flows or the workers of a cluster,
Prefect's own temporary one is started.
"""

import contextlib
import os
import secrets
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping

import uvicorn
from prefect import context
from prefect.events.clients import NullEventsClient
from prefect.events.worker import EventsWorker
from prefect.settings import get_current_settings

from data.errors import InputError
from flows.api import application

ALONE = {
    # No browser asks here, and nobody has another version.
    "PREFECT_CLIENT_CSRF_SUPPORT_ENABLED": "false",
    "PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED": "false",
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
}
PAGELESS = {"PREFECT_SERVER_UI_ENABLED": "false"}
"""So that nothing is made for pages that are not there (`tasks.models.progress.has_pages`)."""
START_S = 300
"""A crowded machine may take minutes until Prefect's own server answers; one that ends is noticed at once."""


Opened = Callable[[], contextlib.AbstractContextManager[None]]


def server_for(runner: str) -> Opened | None:
    """Return what has Prefect find a server while a run on a `runner` lasts; None where its settings name one."""
    known = get_current_settings()
    if known.api.url:
        return None
    return answering if runner == "local" and not known.flows.default_retries else started


@contextlib.contextmanager
def answering() -> Iterator[None]:
    """Answer Prefect's client in this process while the block runs; what has read its settings finds it."""
    password = f"run:{secrets.token_urlsafe(32)}"
    door = _door()
    url = f"http://127.0.0.1:{door.getsockname()[1]}/api"
    config = uvicorn.Config(
        application(password), log_config=None, access_log=False, lifespan="off", ws="none", http="h11"
    )
    server = uvicorn.Server(config)
    threading.Thread(target=server.run, args=([door],), name="prefect", daemon=True).start()
    EventsWorker.set_client_override(NullEventsClient)
    try:
        with _told(ALONE | PAGELESS | {"PREFECT_API_URL": url, "PREFECT_API_AUTH_STRING": password}):
            yield
    finally:
        EventsWorker.set_client_override(None)
        # It closes the door behind it. Nobody waits for that: it looks up every tenth of a second.
        server.should_exit = server.force_exit = True


@contextlib.contextmanager
def started() -> Iterator[None]:
    """Run Prefect's own temporary server while the block runs.

    Raises:
        InputError: it does not start.
    """
    from prefect.server.api.server import SubprocessASGIServer  # which takes seconds

    password = f"run:{secrets.token_urlsafe(32)}"
    with tempfile.TemporaryDirectory() as folder, _told(PAGELESS | {
        "PREFECT_API_AUTH_STRING": password,
        "PREFECT_SERVER_API_AUTH_STRING": password,
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": "http://127.0.0.1",
        # A run's client says which blocks it needs; to offer all, every integration would be imported.
        "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
        "PREFECT_SERVER_MEMOIZE_BLOCK_AUTO_REGISTRATION": "false",
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{folder}/prefect.db",
    }):  # fmt: skip
        server = SubprocessASGIServer()
        # Ctrl-C is for the run, which still reports to the server while it stops; what is blocked stays so in it.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            server.start(timeout=START_S)
        except RuntimeError as error:
            server.stop()
            raise InputError(
                f"Prefect's temporary server did not start: {error} Set PREFECT_API_URL to use a running one."
            ) from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        try:
            with _told({"PREFECT_API_URL": server.api_url}):
                yield
        finally:
            server.stop()


def _door() -> socket.socket:
    """Return a socket that listens on loopback, whose connections send what they have at once.

    Otherwise an answer's second piece waits 40 ms for word of the first: asyncio sees to it at doors of its own.
    """
    door = socket.create_server(("127.0.0.1", 0))
    door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return door


@contextlib.contextmanager
def _told(variables: Mapping[str, str]) -> Iterator[None]:
    """Have Prefect, which has read its settings already, go by these variables while the block runs."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ |= variables
    known = context.GLOBAL_SETTINGS_CONTEXT
    context.refresh_global_settings_context()
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        context.GLOBAL_SETTINGS_CONTEXT = known
