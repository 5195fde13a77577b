"""Prefect's settings for a command-line run; they must be set before Prefect is imported.

Variables that are already set are kept. Deployed runs do not use this module: their server and worker have their
own settings (`prefect.yaml`, docs/deployment.md).
"""

import io
import os
import re
import traceback
import warnings
from contextlib import redirect_stderr, redirect_stdout
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from basic_control.data.errors import InputError

if TYPE_CHECKING:
    from httpx import Response

    from basic_control.config.settings import StoreSettings

SERVER = {
    # Batched ingestion: 300 tasks recorded instead of 33 when a temporary server ends (measured).
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE": "200",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_READ_BATCH_SIZE": "100",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "90",
    # A busy machine must not fail a run.
    "PREFECT_API_REQUEST_TIMEOUT": "180",
}
PRIVACY = {"PREFECT_SERVER_ANALYTICS_ENABLED": "false", "DO_NOT_TRACK": "1", "RAY_USAGE_STATS_ENABLED": "0"}
# Prefect logs every failure with a traceback; the command line prints its own message instead.
QUIET = {
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_LOGGING_INTERNAL_LEVEL": "CRITICAL",
    "PREFECT_SERVER_LOGGING_LEVEL": "CRITICAL",
}


ADVICE = "Correct PREFECT_API_URL, or unset that: a run needs no server."


def results_of(store: "StoreSettings") -> Path:
    """Return where a store's finished stages are recorded: beside its tables if those are local."""
    root = store.root
    if root.startswith(("~", "file:", "local:")):
        # Imported here because it is slow; the store resolves such roots.
        from basic_control.tasks.store.tables import Store

        root = str(Store(root).local)
    return Path(root if "://" not in root else "artifacts/store") / "results"


def keep_private() -> None:
    """Turn telemetry off where that is unset, before Prefect is imported."""
    for name, value in PRIVACY.items():
        os.environ.setdefault(name, value)


def prepare_environment(results: Path) -> None:
    """Set what is unset: no telemetry, fast temporary servers, results kept in `results`.

    In `results`, beside the tables, Prefect keeps the references to tables that finished stages returned.
    """
    settings = {
        **SERVER,
        **PRIVACY,
        **QUIET,
        # A run at a terminal is watched by the user who started it.
        "PREFECT_FLOWS": '{"heartbeat_frequency": null}',
        "PREFECT_LOCAL_STORAGE_PATH": str(results.resolve()),
    }
    if "PREFECT_API_URL" not in os.environ:
        # A temporary server's logs disappear with it.
        settings["PREFECT_LOGGING_TO_API_ENABLED"] = "false"
    for name, value in settings.items():
        os.environ.setdefault(name, value)


def import_prefect() -> str:
    """Import Prefect, quietly; return what is strange in its settings, '' if nothing is.

    Raises:
        InputError: its settings, in the environment or its home, are invalid.
    """
    texts = io.StringIO()
    with warnings.catch_warnings(), redirect_stderr(texts), redirect_stdout(texts):
        warnings.simplefilter("ignore")
        try:
            from prefect.settings import get_current_settings

            get_current_settings()
            import prefect.context  # noqa: F401 - which reads the profiles
        except (ValueError, OSError) as error:
            raise InputError(f"Prefect's settings are invalid: {_describe_settings(error)}") from None
    profile = os.environ.get("PREFECT_PROFILE", "")
    if profile and f"profile {profile!r}" in texts.getvalue():
        return f"PREFECT_PROFILE: Prefect has no profile {profile!r}, and its default applies. Correct or unset it."
    return ""


def _describe_settings(error: Exception) -> str:
    """Return which variables have a wrong value, or what else is wrong with Prefect's settings."""
    advice = "Correct or unset it."
    details = getattr(error, "errors", None)
    for detail in details() if details else ():
        text = detail.get("input")
        names = [name for name, value in os.environ.items() if name.startswith("PREFECT_") and value == text]
        if names:
            return f"{' or '.join(names)}: found {text!r}: {detail['msg']}. {advice}"
    home = os.environ.get("PREFECT_HOME") or "~/.prefect"
    reason = " ".join(str(error).split())[:200]
    return f"{reason}. Correct {home}/profiles.toml, or name another folder in PREFECT_HOME."


def describe_unreachable(error: BaseException) -> str:
    """Return a message if the error means that Prefect's server was unreachable or refused us; else "".

    Errors of model servers have their own types: an httpx error here comes from Prefect's client.
    """
    import httpx

    url = re.sub("//[^/@]*@", "//", os.environ.get("PREFECT_API_URL") or "of Prefect's own settings")
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause:
        chain.append(cause)
        cause = cause.__cause__ or cause.__context__
    for answer in (cause.response for cause in chain if isinstance(cause, httpx.HTTPStatusError)):
        return _describe_answer(url, answer)
    lost = [
        cause for cause in chain if isinstance(cause, httpx.TransportError) or "Failed to reach API" in str(cause)
    ]
    if not lost and os.environ.get("PREFECT_API_URL") and any(_is_of_client(cause) for cause in chain):
        return f"{url}: expected a Prefect server, found one that does not answer as such. {ADVICE}"
    if not lost:
        return ""
    return (
        f"The Prefect server {url} cannot be reached ({type(lost[0]).__name__}: {lost[0]}). Start it, correct "
        "PREFECT_API_URL, or unset that: a run needs no server."
    )


def _describe_answer(url: str, answer: "Response") -> str:
    """Return what a status of the Prefect server at an address means."""
    code = answer.status_code
    if code == HTTPStatus.NOT_IMPLEMENTED:  # our own answer (`flows.ephemeral`), which says what to do
        return str(answer.json()["detail"])
    if code == HTTPStatus.TOO_MANY_REQUESTS or code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return (
            f"The Prefect server {url} is overloaded or broken: it answered HTTP {code}, also to retries. Run "
            "fewer at once, keep its data in Postgres, or unset PREFECT_API_URL: a run needs no server."
        )
    if code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return (
            f"The Prefect server {url} refuses the run (HTTP {code}). Check PREFECT_API_KEY or "
            "PREFECT_API_AUTH_STRING."
        )
    return f"{url}: expected a Prefect server, found one that answers HTTP {code}. {ADVICE}"


def _is_of_client(error: BaseException) -> bool:
    """Return whether an error arose while Prefect's client read an answer."""
    steps = traceback.extract_tb(error.__traceback__)
    # Beside it, the last step may be in the packages that parse.
    return any("prefect/client/" in step.filename.replace(os.sep, "/") for step in steps[-8:])
