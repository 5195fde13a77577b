"""The manifest: everything needed to describe a run and to repeat it."""

import json
import platform
import re
import subprocess
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import Any

from basic_control.data.errors import InputError, propose_name
from basic_control.tasks.store.tables import write_json

NAME = "manifest.json"
SCHEMA = 1
DIGEST = re.compile(r"[0-9a-f]{64}")
"""A SHA-256 as `hexdigest` writes it, such as 9f86d081…."""
LATEST = 10
"""Runs that are searched for earlier scores."""
PACKAGES = ("basic-control", "prefect", "polars", "pyarrow", "openai", "ollama", "xllamacpp", "wasmtime", "scipy")


@cache
def list_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that a result may depend on."""
    packages = {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return packages


def find_commit() -> str | None:
    """Return the project's git commit, with '+changes' if the tree is dirty; None outside a checkout."""
    top = Path(__file__).parents[2]
    if not (top / ".git").exists():
        # An installed copy may be inside another repository.
        return None
    try:
        head, state = (
            subprocess.run(["git", *words], cwd=top, capture_output=True, text=True, check=True)  # noqa: S603, S607 - the user's own git
            for words in (("rev-parse", "HEAD"), ("status", "--porcelain"))
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip() + ("+changes" if state.stdout.strip() else "")


def write(folder: Path, manifest: Mapping[str, Any]) -> Path:
    """Write `manifest.json` into a run's folder."""
    return write_json(folder / NAME, manifest, indent=2)


def strip_freshness(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's identity without the mark of a run whose replies were all requested again."""
    return {key: value for key, value in identity.items() if key != "fresh"}


def read(folder: Path) -> dict[str, Any]:
    """Read a run's manifest.

    Raises:
        InputError: the run does not exist, or its manifest is not as a run writes it.
    """
    path = folder / NAME
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        names = sorted(path.parent.name for path in folder.parent.glob(f"*/{NAME}"))[-5:]
        latest = ", ".join(names) or "none"
        message = f"{folder}: no such run; the latest are {latest}.{propose_name(folder.name, names)}"
        raise InputError(message) from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read ({error}).") from error
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        raise InputError(f"{path}: expected a manifest of schema {SCHEMA}.")
    configuration, started = manifest.get("configuration"), manifest.get("started", "")
    if not isinstance(configuration, dict):
        raise InputError(f"{path}: found no configuration in it. Start the run's own command again.")
    try:
        datetime.fromisoformat(started).astimezone()
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{path}: found started: {started!r}, expected a date and time.") from error
    if not _is_well_formed(configuration, manifest.get("tables", {}), manifest.get("reports", [])):
        raise InputError(f"{path}: its keys are not those that a run writes.")
    return manifest


def _is_well_formed(configuration: Mapping[str, Any], tables: Any, reports: Any) -> bool:
    """Return whether a manifest's models, suites, reports and table references are well-formed."""
    if not isinstance(tables, Mapping):
        return False
    lists = (configuration.get("models", []), configuration.get("suites", []), reports, *tables.values())
    if not all(isinstance(entries, list) for entries in lists):
        return False
    return all(map(_has_digest, chain.from_iterable(tables.values())))


def _has_digest(ref: Any) -> bool:
    digest = ref.get("digest") if isinstance(ref, Mapping) else None
    return isinstance(digest, str) and DIGEST.fullmatch(digest) is not None
