"""Answer a command-line run's Prefect requests in its own process when no Prefect server is configured.

Flows, tasks, task retries and caching run in Prefect's client. The few requests it makes to a server are answered
from memory (`flows.prefect_api`), on loopback, with a password known only to this process and no other origin
allowed. Nothing outlasts the run. Where a real server is needed (flow retries, cluster workers), Prefect's own
temporary server is started.
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
from prefect.settings import Settings, get_current_settings
from pydantic import SecretStr

from basic_control.data.errors import InputError
from basic_control.flows.prefect_api import application
from basic_control.flows.routes import route_clients
from basic_control.tasks.models.proxies import build_prefect_environment

START_S = 300
"""On a crowded machine Prefect's own server may take minutes to answer; its exit is noticed at once."""


Opened = Callable[[], contextlib.AbstractContextManager[None]]


def server_for(runner: str) -> Opened | None:
    """Return a context manager that provides a server for a run on `runner`; None if the settings name one."""
    route_clients()
    settings = get_current_settings()
    if settings.api.url:
        return None
    return serve_in_process if runner == "local" and not settings.flows.default_retries else start_temporary_server


@contextlib.contextmanager
def serve_in_process() -> Iterator[None]:
    """Answer Prefect's client in this process during the block, also if it has already read its settings."""
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
        with _apply_variables(
            {"PREFECT_API_URL": url, "PREFECT_API_AUTH_STRING": password}, _build_settings(url, password)
        ):
            yield
    finally:
        EventsWorker.set_client_override(None)
        # It closes its socket. We need not wait for that: it checks for the exit only every tenth of a second.
        server.should_exit = server.force_exit = True


@contextlib.contextmanager
def start_temporary_server() -> Iterator[None]:
    """Run Prefect's own temporary server during the block.

    Raises:
        InputError: it does not start.
    """
    from prefect.server.api.server import SubprocessASGIServer  # slow to import (seconds)

    password = f"run:{secrets.token_urlsafe(32)}"
    with tempfile.TemporaryDirectory() as folder, _apply_variables({
        "PREFECT_SERVER_UI_ENABLED": "false",  # its pages are not installed (`tasks.models.progress.has_pages`)
        "PREFECT_API_AUTH_STRING": password,
        "PREFECT_SERVER_API_AUTH_STRING": password,
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": "http://127.0.0.1",
        # A run's client registers the blocks it needs; offering all would import every integration.
        "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
        "PREFECT_SERVER_MEMOIZE_BLOCK_AUTO_REGISTRATION": "false",
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{folder}/prefect.db",
    }):  # fmt: skip
        server = SubprocessASGIServer()
        # Ctrl-C is for the run, which still reports to the server while stopping; the child inherits the mask.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            # Its process, and what waits for it here, read the proxies themselves.
            environment = build_prefect_environment(os.environ)
            with _apply_variables(
                {name: text for name, text in environment.items() if os.environ.get(name) != text}
            ):
                server.start(timeout=START_S)
        except RuntimeError as error:
            server.stop()
            raise InputError(
                f"Prefect's temporary server did not start: {error} Set PREFECT_API_URL to use a running one."
            ) from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        try:
            with _apply_variables({"PREFECT_API_URL": server.api_url}):
                yield
        finally:
            server.stop()


def _door() -> socket.socket:
    """Return a socket listening on loopback whose connections have TCP_NODELAY set.

    Otherwise the second packet of a response waits 40 ms for an ACK; asyncio only sets it on sockets it creates.
    """
    door = socket.create_server(("127.0.0.1", 0))
    door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return door


def _build_settings(url: str, password: str) -> Settings:
    """Return Prefect's settings for a client that is answered at `url`, in this process."""
    settings = get_current_settings()
    logging, server = settings.logging, settings.server
    return settings.model_copy(
        update={
            "api": settings.api.model_copy(update={"url": url, "auth_string": SecretStr(password)}),
            # No browser connects here, and the client's version is always ours.
            "client": settings.client.model_copy(
                update={"csrf_support_enabled": False, "server_version_check_enabled": False}
            ),
            "logging": logging.model_copy(update={"to_api": logging.to_api.model_copy(update={"enabled": False})}),
            # There are no pages (`tasks.models.progress.has_pages`).
            "server": server.model_copy(update={"ui": server.ui.model_copy(update={"enabled": False})}),
        }
    )


@contextlib.contextmanager
def _apply_variables(variables: Mapping[str, str], settings: Settings | None = None) -> Iterator[None]:
    """Set environment variables during the block, and Prefect's settings, which it has already read, to match.

    With `settings` these apply, and nothing is read again: that would take 20 ms, of a short run's 500.
    """
    before = {name: os.environ.get(name) for name in variables}
    os.environ |= variables
    settings_before = context.get_settings_context()
    if settings:
        context.GLOBAL_SETTINGS_CONTEXT = settings_before.model_copy(update={"settings": settings})
    else:
        context.refresh_global_settings_context()
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        context.GLOBAL_SETTINGS_CONTEXT = settings_before
