"""What a store holds: its runs, what each needs, and what no run needs."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from data.errors import InputError
from tasks.store import manifest as manifests
from tasks.store.tables import Store, TableFile

NAME = re.compile(r"(\d{8}_\d{6})(_\d+)?")
"""How runs are named: by their start."""
DIGEST = re.compile(r"[0-9a-f]{64}")


def names_in(listed: Iterable[Any] | None) -> list[str]:
    """Return the names of models or suites as a run's configuration lists them: names, or entries with one."""
    return [str(one.get("name", "?") if isinstance(one, Mapping) else one) for one in listed or ()]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run's folder; `manifest` is empty, and `problem` says why, where it cannot be read."""

    folder: Path
    started: datetime
    manifest: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""

    @property
    def name(self) -> str:
        """The run's name."""
        return self.folder.name

    @property
    def finished(self) -> bool:
        """Whether the run ended, so that its manifest names its tables."""
        return bool(self.manifest.get("tables")) and self.manifest.get("status") != "running"

    @property
    def models(self) -> list[str]:
        """The names of the models asked."""
        return names_in(self.manifest.get("configuration", {}).get("models"))

    @property
    def suites(self) -> list[str]:
        """The suites run."""
        return names_in(self.manifest.get("configuration", {}).get("suites"))

    @property
    def tables(self) -> dict[str, set[str]]:
        """The digests of the tables that the run needs, by what they are to it."""
        return {kind: set(_digests(refs)) for kind, refs in self.manifest.get("tables", {}).items()}

    @property
    def digests(self) -> set[str]:
        """The digests of all tables that the run needs."""
        return set().union(*self.tables.values())


def _digests(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if isinstance(value.get("digest"), str):
            yield value["digest"]
        for part in value.values():
            yield from _digests(part)
    elif isinstance(value, list):
        for part in value:
            yield from _digests(part)


def runs_in(folder: Path) -> list[RunFolder]:
    """Return the runs in a folder, the oldest first; what is neither named as a run nor has a manifest is none."""
    try:
        places = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror}). Name the folder of the runs.") from error
    found = [_run(place) for place in places if _is_run(place)]
    return sorted(found, key=lambda run: (run.started.timestamp(), run.name))


def _is_run(place: Path) -> bool:
    return bool(NAME.fullmatch(place.name)) or (place / "manifest.json").is_file()


def _run(place: Path) -> RunFolder:
    try:
        manifest = manifests.read(place)
        _check(place, manifest)
        return RunFolder(place, datetime.fromisoformat(manifest["started"]).astimezone(), manifest)
    except (InputError, KeyError, TypeError, ValueError, OverflowError) as error:
        there = (place / "manifest.json").exists()
        return RunFolder(place, _named(place), {}, str(error) if there else "it has no manifest")


def _check(place: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest that does not say in the way it should what its run needs.

    Raises:
        InputError: it does not.
    """
    configuration, tables = manifest.get("configuration", {}), manifest.get("tables", {})
    named = configuration if isinstance(configuration, Mapping) else {"models": configuration}
    reports = manifest.get("reports", [])
    sound = all(isinstance(one, list) for one in (named.get("models", []), named.get("suites", []), reports))
    refs = [ref for listed in tables.values() for ref in listed] if isinstance(tables, Mapping) else [tables]
    if not sound or not all(isinstance(ref, Mapping) and _is_digest(ref.get("digest")) for ref in refs):
        raise InputError(f"{place / 'manifest.json'}: found other shapes of keys than a run writes.")


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and bool(DIGEST.fullmatch(value))


def _named(place: Path) -> datetime:
    """Return a run's start from its name, or from its folder."""
    if named := NAME.fullmatch(place.name):
        try:
            return datetime.strptime(named[1], "%Y%m%d_%H%M%S").astimezone()
        except ValueError:
            pass
    return datetime.fromtimestamp(place.stat().st_mtime).astimezone()


@dataclass(frozen=True, slots=True)
class Inventory:
    """A store's tables by their digests, and the runs."""

    store: Store
    runs: Sequence[RunFolder]
    tables: Mapping[str, TableFile]

    @property
    def needed(self) -> set[str]:
        """The digests of the tables that some run needs."""
        return set().union(*(run.digests for run in self.runs))

    def size(self, digests: set[str]) -> int:
        """Return the bytes of those tables that are there."""
        return sum(entry.size for digest, entry in self.tables.items() if digest in digests)


def take(store: Store, runs: Path) -> Inventory:
    """Look at a store and its runs."""
    return Inventory(store, runs_in(runs), {entry.digest: entry for entry in store.entries()})


_DIGEST = re.compile(r'"digest\\*": ?\\*"([0-9a-f]{64})')


def stage_results(store: Store) -> Iterator[tuple[Path, set[str]]]:
    """Yield what Prefect keeps of finished stages in a local store, with the tables that each promises."""
    local = store.local
    if local is None or not (local / "results").is_dir():
        return
    for path in (local / "results").iterdir():
        try:
            text = path.read_text(encoding="utf-8")
            json.loads(text)
        except (OSError, ValueError):
            continue
        yield path, set(_DIGEST.findall(text))
