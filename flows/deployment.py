"""Runs under a Prefect server: `basic-control serve | deploy | worker`.

`serve` runs a server with authentication, on loopback by default. `deploy` creates the work pool, registers the
deployments of `prefect.yaml`, and adds an automation that marks dead runs as Crashed. `worker` runs what is due.
The API password comes from the environment, or from a private file, created by the first of them that runs. The
file, Prefect's database, the runs and their store are in the checkout, or for an installed program in the folder
where it is started.
"""

import os
import runpy
import secrets
import ssl
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import httpx
import yaml

from basic_control.config.models import Judge, Model
from basic_control.config.reading import read
from basic_control.data.commands import CHECKOUT, TOP, format_command
from basic_control.data.errors import InputError
from basic_control.data.exits import Exit
from basic_control.flows.cli.console import say
from basic_control.flows.environment import PRIVACY, SERVER, import_prefect, results_of
from basic_control.flows.preflight import check_rows
from basic_control.flows.routes import proxy_options, route_clients
from basic_control.tasks.models.proxies import build_prefect_environment
from basic_control.tasks.plan import resolve
from basic_control.tasks.store.owners import is_running, name_owner

if TYPE_CHECKING:
    from prefect.events.schemas.automations import AutomationCore

PLACE = TOP if CHECKOUT else Path.cwd()
"""The folder of all these files."""
HERE = Path.cwd()
"""The working directory, whose `prefect.yaml` and configurations take precedence over those of the place."""
PASSWORD = PLACE / ".prefect-auth"
AUTH = ("PREFECT_SERVER_API_AUTH_STRING", "PREFECT_API_AUTH_STRING")
"""Environment variables that give a password instead of that file."""
DATABASE = PLACE / "artifacts" / "store" / "prefect.db"
"""As in prefect.toml."""
VARIABLES = ("PREFECT_SERVER_DATABASE_CONNECTION_URL", "PREFECT_API_DATABASE_CONNECTION_URL")
"""Environment variables that name another database; Prefect reads both."""
POOL = "basic-control"
AUTOMATION = Path(__file__).with_name("silent_runs.yaml")

STARTED = DATABASE.with_name("prefect.server")
"""Which process is this folder's server."""
VERSION = "/admin/version"
STARTING_S, PATIENCE_S, SAID_S, LOOK_S = 180.0, 3.0, 2.0, 0.3
"""How long a server that was started may take to answer, and one of which nothing is known; when that is said."""

PATIENCE = {
    # On a busy machine Prefect's SQLite is slow: the server then answers 503, and runs would crash without cause.
    "PREFECT_SERVER_DATABASE_TIMEOUT": "60",
    "PREFECT_SERVER_DATABASE_CONNECTION_TIMEOUT": "30",
    "PREFECT_CLIENT_MAX_RETRIES": "10",
}


def describe(file: str, folder: str = "") -> dict[str, Any]:
    """Return the values that `prefect.yaml` fills in: the runs' folder, the stage cache's, and a configuration.

    A build step. Runs work in `folder`, by default the place's. `settings` holds the checked contents of the file,
    without defaults except those of suites. Keys specific to a model's provider are in `options`, since Prefect's
    server only knows the keys that every model has.

    Raises:
        InputError: the file cannot be read, or has a wrong key or value.
    """
    settings = read(_find_local(file) or TOP / file)
    contents = settings.model_dump(mode="json", exclude_unset=True)
    for kind, common_keys in (("models", Model.model_fields), ("judges", Judge.model_fields)):
        for entry in contents.get(kind, ()):
            provider_keys = [key for key in entry if key not in common_keys]
            if provider_keys:
                entry["options"] = {key: entry.pop(key) for key in provider_keys}
    directory = Path(folder or PLACE)
    return {
        "directory": str(directory),
        "results": str((directory / results_of(settings.store)).resolve()),
        "settings": contents,
    }


def _find_local(file: str) -> Path | None:
    """Return a file of the working directory, else of the place; None if neither has it."""
    paths = (HERE / file, PLACE / file)
    return next((path for path in paths if path.is_file()), None)


def password(file: Path = PASSWORD, variables: Mapping[str, str] = os.environ) -> str:
    """Return the API's `user:password` from the environment, else from a file that only its owner may read.

    A missing file is created.

    Raises:
        InputError: others may read the file, or it cannot be created.
    """
    for name in AUTH:
        if variables.get(name):
            return variables[name]
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        pass
    except OSError as error:
        raise InputError(
            f"{file}: cannot create the password file ({error.strerror}). Set PREFECT_SERVER_API_AUTH_STRING="
            "user:password instead."
        ) from error
    else:
        with os.fdopen(handle, "w") as password_file:
            password_file.write(f"admin:{secrets.token_urlsafe(24)}\n")
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & 0o077:
        raise InputError(
            f"{file}: found a password file that others can read (mode {mode:o}), expected mode 600. Delete it; "
            "a new one is created at the next start."
        )
    return file.read_text(encoding="utf-8").strip()


def environment(port: int, variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment for a server, worker or client of the server on a loopback port.

    Variables that are already set are kept: `PREFECT_API_URL` selects another server.
    """
    password_text = password(variables=variables)
    root = f"http://127.0.0.1:{port}"
    settings = {
        **SERVER,
        **PRIVACY,
        **PATIENCE,
        "PREFECT_API_URL": f"{root}/api",
        "PREFECT_API_AUTH_STRING": password_text,
        "PREFECT_SERVER_API_AUTH_STRING": password_text,
        # Refuse requests from pages of other sites.
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": f"{root},http://localhost:{port}",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    }
    # An empty variable counts as unset.
    return {**settings, **{name: value for name, value in variables.items() if value or name not in settings}}


def dead_runs() -> "AutomationCore":
    """Return the automation that marks runs without heartbeats as Crashed."""
    from prefect.events.schemas.automations import AutomationCore

    return AutomationCore.model_validate(yaml.safe_load(AUTOMATION.read_text(encoding="utf-8")))


def register() -> None:
    """Create or update the process work pool and the automation."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.exceptions import ObjectNotFound
    from prefect.workers.process import ProcessWorker

    automation = dead_runs()
    with get_client(sync_client=True) as client:
        try:
            client.read_work_pool(POOL)
        except ObjectNotFound:
            template = ProcessWorker.get_default_base_job_template()
            client.create_work_pool(WorkPoolCreate(name=POOL, type="process", base_job_template=template))
        automations = client.read_automations_by_name(automation.name)
        if automations:
            client.update_automation(automations[0].id, automation)
        else:
            client.create_automation(automation)


def _is_starting() -> bool:
    """Return whether the server of this folder has been started and still runs, whether it answers yet or not."""
    try:
        return is_running(STARTED.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return False


def _await_answer(url: str, **options: Any) -> httpx.Response:
    """Return the server's answer, once it is there: one that has just been started takes its time."""
    started, is_said = time.monotonic(), False
    while True:
        try:
            return httpx.get(url, timeout=10, follow_redirects=True, **options).raise_for_status()
        except httpx.HTTPStatusError as error:
            if error.response.status_code != HTTPStatus.SERVICE_UNAVAILABLE:
                raise
            failure: httpx.HTTPError = error
        except (httpx.ConnectError, httpx.ReadError) as error:
            failure = error
        waited_s = time.monotonic() - started
        if waited_s > (STARTING_S if _is_starting() else PATIENCE_S):
            raise failure
        if waited_s > SAID_S and not is_said:
            say(f"Waiting for the Prefect server at {url.removesuffix(VERSION)}.")
            is_said = True
        time.sleep(LOOK_S)


def reach(variables: Mapping[str, str]) -> None:
    """Raise an InputError if the server does not answer or refuses our password."""
    url = variables["PREFECT_API_URL"]
    user, _, key = variables["PREFECT_API_AUTH_STRING"].partition(":")
    try:
        trusted = ssl.create_default_context()  # the system's authorities: httpx alone trusts its own list
        _await_answer(f"{url}{VERSION}", auth=(user, key), verify=trusted, **proxy_options(url))
    except (httpx.InvalidURL, httpx.ProtocolError, httpx.UnsupportedProtocol) as error:
        raise InputError(
            f"PREFECT_API_URL: {url}: not the address of a Prefect server ({error}); expected one such as "
            "http://127.0.0.1:4200/api."
        ) from error
    except httpx.HTTPStatusError as error:
        raise InputError(
            f"{url}: the Prefect server answered {error.response.status_code}. Give its password in "
            "PREFECT_API_AUTH_STRING."
        ) from error
    except httpx.HTTPError as error:
        raise InputError(
            f"{url}: no Prefect server answers. Start one with `{format_command('schedule serve')}`."
        ) from error


def deploy(port: int, file: str, cron: str) -> int:
    """Register work pool, automation and deployments, or only that of one configuration; return the exit code.

    Raises:
        InputError: no server accepts our password, or the configuration or its schedule is invalid.
    """
    variables = environment(port)
    if file:
        check_rows(resolve(read(HERE / file)))
    reach(variables)
    os.environ.update(variables)
    import_prefect()
    route_clients()
    register()
    os.chdir(PLACE)
    with _write_declaration(file, cron) as declaration:
        sys.argv = ["prefect", "--no-prompt", "deploy", "--all", "--prefect-file", str(declaration)]
        try:
            # In this process, which has already imported Prefect; another one would take seconds.
            runpy.run_module("prefect", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else int(end.code is not None)
    return Exit.PASSED


@contextmanager
def _write_declaration(config: str, cron: str) -> Iterator[Path]:
    """Yield the file that declares the deployments, and print which: this folder's, the place's or the shipped one.

    With `config`, generate a file with one deployment of that configuration, whose runs work in this folder. This
    deployment and those of an installed copy find the flow by module name, whatever else is in the folder.
    """
    local_file = _find_local("prefect.yaml")
    if local_file and not config:
        say(f"Deploying what {local_file} declares.")
        yield local_file
        return
    text = (TOP / "prefect.yaml").read_text(encoding="utf-8")
    if config or not CHECKOUT:
        text = text.replace("flows/full_eval.py:full_eval", "basic_control.deployed.full_eval")
    if config:
        text = schedule_configuration(text, (HERE / config).resolve(), cron)
        say(f"Deploying {config} at {cron!r} (UTC), as {Path(config).stem}. Its runs work in {HERE}.")
    else:
        say(f"Deploying the prefect.yaml that ships with the program; one in {HERE} would take precedence.")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prefect.yaml"
        file.write_text(text, "utf-8")
        yield file


def schedule_configuration(text: str, config: Path, cron: str) -> str:
    """Return the text of a `prefect.yaml` with a single deployment: a configuration on a schedule.

    Raises:
        InputError: the schedule is invalid.
    """
    from prefect.client.schemas.schedules import CronSchedule

    try:
        CronSchedule(cron=cron)
    except ValueError as error:
        raise InputError(
            f"--cron {cron!r}: not a schedule; expected minute, hour, day, month and weekday, such as '0 3 * * *'."
        ) from error
    declared = yaml.safe_load(text)
    (first, *_) = declared["deployments"]
    first |= {
        "name": config.stem,
        "description": f"{config.name}, on a schedule.",
        "tags": [POOL],
        "build": [
            {"basic_control.flows.deployment.describe": {"id": "project", "file": str(config), "folder": str(HERE)}}
        ],
        "schedules": [{"cron": cron, "timezone": "UTC", "active": True}],
    }
    return yaml.safe_dump({**declared, "deployments": [first]}, sort_keys=False, allow_unicode=True)


def _become(command: Sequence[str], variables: Mapping[str, str]) -> NoReturn:
    """Replace this process with Prefect's own, so that signals reach it directly."""
    os.chdir(PLACE)
    # A worker's runs must find installed packages, whatever files of such names are in the folder.
    environment = build_prefect_environment({**variables, "PYTHONSAFEPATH": "1"})
    os.execve(sys.executable, [sys.executable, "-m", "prefect", *command], environment)  # noqa: S606 - our own words


def work(port: int) -> NoReturn:
    """Replace this process with a Prefect worker.

    Raises:
        InputError: no server accepts our password.
    """
    variables = environment(port)
    reach(variables)
    # Setting the port of a worker's pages means that its health will be queried there, as compose.yaml does.
    health_options = ["--with-healthcheck"] if variables.get("PREFECT_WORKER_WEBSERVER_PORT") else []
    _become(["worker", "start", "--pool", POOL, "--type", "process", *health_options], variables)


def serve(port: int, host: str) -> NoReturn:
    """Replace this process with the server, listening on `host`; prefect.toml says where its database is.

    First a file is left that says who started it.

    Raises:
        InputError: the database's folder cannot be created.
    """
    variables = environment(port)
    if not any(variables.get(name) for name in VARIABLES):
        try:
            DATABASE.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{DATABASE}: cannot create the folder of Prefect's database ({error.strerror or error})."
            ) from error
        if not CHECKOUT:
            variables = {**variables, VARIABLES[0]: f"sqlite+aiosqlite:///{DATABASE}"}
    with suppress(OSError):  # `deploy` and `worker` wait for it by this
        STARTED.parent.mkdir(parents=True, exist_ok=True)
        STARTED.write_text(name_owner(), encoding="ascii")
    sys.stderr.write(welcome(port))
    sys.stderr.flush()
    _become(["server", "start", "--host", host, "--port", str(port)], variables)


def welcome(port: int, variables: Mapping[str, str] = os.environ) -> str:
    """Return how to log in to the server's pages and where they show runs, without the password."""
    variable = next((name for name in AUTH if variables.get(name)), "")
    source = f"the value of {variable}" if variable else f"the line in {PASSWORD} (cat {PASSWORD.name})"
    root = f"http://127.0.0.1:{port}"
    return (
        f"Pages: {root}\n  Password: {source}; paste the whole of it, such as user:secret.\n"
        f"  Runs: {root}/v2/runs (the first page has those of the last day, and failures).\n"
    )
