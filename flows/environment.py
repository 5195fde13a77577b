"""Prefect's settings for a run from the command line; to be set before Prefect is imported.

Whatever the environment already says stands. Deployed runs do not pass through here: their server and worker
have settings of their own (`prefect.yaml`, docs/deployment.md).
"""

import os
import re
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from config.settings import StoreSettings

SERVER = {
    # Batched ingestion: 300 tasks recorded in place of 33 when a temporary server ends (measured).
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_READ_BATCH_SIZE": "100",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "90",
    # A busy machine is no reason to lose a run.
    "PREFECT_API_REQUEST_TIMEOUT": "180",
}
PRIVACY = {"PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1", "RAY_USAGE_STATS_ENABLED": "0"}
# Prefect logs every failure with its traceback; the command line says what failed in a message of its own.
QUIET = {
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_INTERNAL_LEVEL": "CRITICAL",
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
}


def results_of(store: "StoreSettings") -> Path:
    """Return where a store's finished stages are remembered, beside its tables where those are local."""
    root = store.root
    if root.startswith(("~", "file:", "local:")):
        # Only here, as importing it takes a while: what such words mean is the store's to say.
        from tasks.store.tables import Store

        root = str(Store(root).local)
    return Path(root if "://" not in root else "artifacts/store") / "results"


def prepare(results: Path) -> None:
    """Set what is not set: no telemetry, fast temporary servers, results kept in `results`.

    `results` is where Prefect keeps the references that finished stages returned, beside the tables they name.
    """
    settings = {
        **SERVER,
        **PRIVACY,
        **QUIET,
        # A run at a terminal is watched by whoever started it.
        "PREFECT_FLOWS": '{"heartbeat_frequency": null}',
        "PREFECT_LOCAL_STORAGE_PATH": str(results.resolve()),
    }
    if "PREFECT_API_URL" not in os.environ:
        # A temporary server's logs are gone with it.
        settings["PREFECT_LOGGING_TO_API_ENABLED"] = "false"
    for name, value in settings.items():
        os.environ.setdefault(name, value)


def modules() -> dict[str, str]:
    """Return the variables with which a Python process finds our modules first, wherever it is started."""
    known = os.environ.get("PYTHONPATH", "")
    top = str(Path(__file__).parents[1])
    return {"PYTHONPATH": os.pathsep.join(filter(None, (top, known))), "PYTHONSAFEPATH": "1"}


def unreached(error: BaseException) -> str:
    """Return what to say where an error is Prefect's of not reaching its server, or of its refusing; else "".

    Models' servers have errors of their own: what httpx itself raises here is Prefect's client's.
    """
    import httpx

    url = re.sub("//[^/@]*@", "//", os.environ.get("PREFECT_API_URL") or "of Prefect's own settings")
    chain: list[BaseException] = []
    seen: BaseException | None = error
    while seen:
        chain.append(seen)
        seen = seen.__cause__ or seen.__context__
    for answer in (one.response for one in chain if isinstance(one, httpx.HTTPStatusError)):
        code = answer.status_code
        if code == HTTPStatus.NOT_IMPLEMENTED:  # our own answer (`flows.api`), which says what to do
            return str(answer.json()["detail"])
        if code == HTTPStatus.TOO_MANY_REQUESTS or code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return (
                f"The Prefect server {url} is busy or broken: it answered HTTP {code}, also when it was asked "
                "again. Run fewer at once, keep its data in Postgres, or unset PREFECT_API_URL: a run needs no "
                "server."
            )
        if code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            return (
                f"The Prefect server {url} refuses the run (HTTP {code}). Check PREFECT_API_KEY or "
                "PREFECT_API_AUTH_STRING."
            )
    lost = [one for one in chain if isinstance(one, httpx.TransportError) or "Failed to reach API" in str(one)]
    if not lost:
        return ""
    return (
        f"The Prefect server {url} cannot be reached ({type(lost[0]).__name__}: {lost[0]}). Start it, correct "
        "PREFECT_API_URL, or unset that: a run needs no server."
    )
