"""What this machine has for a run, and what it lacks: the lines of `doctor`."""

import asyncio
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

from basic_control.config.settings import USUAL, Model, Settings, StoreSettings
from basic_control.data.commands import CHECKOUT, TOP
from basic_control.data.errors import InputError, plural
from basic_control.data.extras import DISTRIBUTION, format_install, list_packages
from basic_control.tasks.models import bundled, open_client
from basic_control.tasks.models.access import strip_secrets
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.models.readiness import find_obstacle
from basic_control.tasks.models.server_errors import clean_error
from basic_control.tasks.store import manifest

ANSWER_S = 10.0
"""How long a server may take to say who it is."""
EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was looked at, what was found, and whether the configuration cannot run for it."""

    topic: str
    text: str
    is_obstacle: bool = False


def examine_program() -> Iterator[Diagnosis]:
    """Yield the versions, and which extras are installed."""
    versions = dict(manifest.list_versions())
    python, system = versions.pop("python"), versions.pop("system")
    version = versions.pop(DISTRIBUTION, "not installed")
    origin = f"checkout {TOP}" if CHECKOUT else "installed"
    yield Diagnosis("program", f"{version} ({origin}), Python {python}, {system}")
    yield Diagnosis("packages", ", ".join(f"{name} {version}" for name, version in versions.items()))
    present, absent = list[str](), list[str]()
    for extra in _list_extras():
        (present if _is_installed(extra) else absent).append(extra)
    yield Diagnosis("extras", _join(present, "not installed", absent))


def _list_extras() -> list[str]:
    """Return the extras of the installed copy, as its metadata has them."""
    try:
        return sorted(distribution(DISTRIBUTION).metadata.get_all("Provides-Extra") or ())
    except PackageNotFoundError:
        return []


def _join(present: Sequence[str], lacking: str, absent: Sequence[str]) -> str:
    """Return what there is, and under a word of its own what there is not."""
    text = ", ".join(present) or "none"
    return f"{text}; {lacking}: {', '.join(absent)}" if absent else text


def _is_installed(extra: str) -> bool:
    """Return whether all packages of an extra are installed, in whatever version."""
    for package in list_packages(extra):
        name = package.partition("[")[0].rstrip("<>=!~.,0123456789 ")
        try:
            requires(name)
        except PackageNotFoundError:
            return False
    return True


def examine_keys(settings: Settings) -> Diagnosis:
    """Return which variables of keys are set, by name: those of the configuration, and the usual ones."""
    variables = {model.api_key_env for _, model in settings.entries()} - {""}
    # An empty variable holds no key.
    present = {name for name in {*variables, *USUAL} if os.environ.get(name)}
    missing = sorted(variables - present)
    return Diagnosis("keys", _join(sorted(present), "not set", missing), bool(missing))


def examine_models(settings: Settings) -> list[Diagnosis]:
    """Return for each model and judge whether it can be asked, and who its server says that it is."""
    # A model that judges as well is asked once.
    entries = {(model.name, model.provider, model.base_url): model for _, model in settings.entries()}
    return asyncio.run(_examine_all([*entries.values()]))


async def _examine_all(models: Sequence[Model]) -> list[Diagnosis]:
    return list(await asyncio.gather(*map(_examine, models)))


async def _examine(model: Model) -> Diagnosis:
    name = f"{model.name} ({' at '.join(filter(None, (model.provider, model.base_url)))})"
    obstacle = find_obstacle(model)
    if obstacle:
        return Diagnosis("model", f"{name}: {clean_error(obstacle)}", is_obstacle=True)
    try:
        async with asyncio.timeout(ANSWER_S):
            identity = await _ask_identity(model)
    except TimeoutError:
        return Diagnosis("model", f"{name}: no answer within {ANSWER_S:g} s", is_obstacle=True)
    except (CallError, InputError) as error:
        return Diagnosis("model", f"{name}: {clean_error(str(error))}", is_obstacle=True)
    return Diagnosis("model", f"{name}: ready, as {identity.get('model', model.server_name)}")


async def _ask_identity(model: Model) -> Mapping[str, str]:
    client = open_client(model)
    try:
        return await client.identity()
    finally:
        await client.close()


def examine_bundled() -> Diagnosis:
    """Return where the embedded model is, or how to get it."""
    if not _is_installed(EMBEDDED):
        return Diagnosis(EMBEDDED, f"no engine ({format_install(EMBEDDED)})")
    return Diagnosis(EMBEDDED, str(bundled.find_file() or f"no model; {bundled.advise_fetching()}"))


def examine_store(store: StoreSettings) -> Diagnosis:
    """Return whether tables and runs can be written, and what there is."""
    if "://" in store.root:
        return Diagnosis("store", store.root)
    root, runs = Path(store.root).expanduser(), Path(store.runs).expanduser()
    # What is not there yet is made in the nearest folder that is.
    for folder in (root, runs):
        existing = _find_existing(folder)
        if not os.access(existing, os.W_OK):
            return Diagnosis("store", f"{folder}: {existing} cannot be written", is_obstacle=True)
    count = len([*runs.glob(f"*/{manifest.NAME}")])
    free_gb = shutil.disk_usage(_find_existing(root)).free / 1e9
    return Diagnosis("store", f"{root}, {plural(count, 'run')} in {runs}, {free_gb:.0f} GB free")


def _find_existing(folder: Path) -> Path:
    """Return a folder, or the nearest one above it that is there."""
    absolute = folder.absolute()
    return next(path for path in (absolute, *absolute.parents) if path.exists())


def examine_sandbox() -> Diagnosis:
    """Return which layers confine models' programs; build the sandbox if needed."""
    from basic_control.tasks.sandbox import prepare, summarize_layers

    try:
        prepare()
    except InputError as error:
        return Diagnosis("sandbox", str(error), is_obstacle=True)
    return Diagnosis("sandbox", summarize_layers().removeprefix("Sandbox: "))


def examine_server() -> Diagnosis:
    """Return which Prefect server a run uses; without one it needs none."""
    address = os.environ.get("PREFECT_API_URL", "")
    if address:
        return Diagnosis("Prefect", f"server {strip_secrets(address)}")
    return Diagnosis("Prefect", "no server, and none is needed")
