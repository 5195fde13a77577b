"""A store's inventory: its runs, the tables each needs, and those that no run needs."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from data.errors import InputError
from tasks.store import manifest as manifests
from tasks.store.tables import Store, TableFile

NAME = re.compile(r"(\d{8}_\d{6})(_\d+)?")
"""The name of a run: its start time."""
DIGEST = re.compile(r"[0-9a-f]{64}")


def names_in(listed: Iterable[Any] | None) -> list[str]:
    """Return the names of models or suites in a run's configuration: names, or entries with one."""
    return [str(one.get("name", "?") if isinstance(one, Mapping) else one) for one in listed or ()]


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run's folder; if it cannot be read, `manifest` is empty and `problem` says why."""

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
        """The digests of the tables that the run needs, by their role in it."""
        return {kind: {ref["digest"] for ref in refs} for kind, refs in self.manifest.get("tables", {}).items()}

    @property
    def digests(self) -> set[str]:
        """The digests of all tables that the run needs."""
        return set().union(*self.tables.values())


def runs_in(folder: Path) -> list[RunFolder]:
    """Return the runs in a folder, oldest first; a folder that has neither a run's name nor a manifest is none."""
    try:
        places = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror}). Name the folder of the runs.") from error
    found = [_run(place) for place in places if NAME.fullmatch(place.name) or (place / "manifest.json").is_file()]
    return sorted(found, key=lambda run: (run.started.timestamp(), run.name))


def _run(place: Path) -> RunFolder:
    path = place / "manifest.json"
    try:
        manifest = manifests.read(place)
        if not _sound(manifest.get("configuration", {}), manifest.get("tables", {}), manifest.get("reports", [])):
            raise InputError(f"{path}: its keys are not those that a run writes.")  # noqa: TRY301 - as if unread
        return RunFolder(place, datetime.fromisoformat(manifest["started"]).astimezone(), manifest)
    except (InputError, KeyError, TypeError, ValueError, OverflowError) as error:
        problem = str(error) if path.exists() else "it has no manifest"
    started = datetime.fromtimestamp(place.stat().st_mtime).astimezone()
    if named := NAME.fullmatch(place.name):
        with suppress(ValueError):
            started = datetime.strptime(named[1], "%Y%m%d_%H%M%S").astimezone()
    return RunFolder(place, started, {}, problem)


def _sound(configuration: Any, tables: Any, reports: Any) -> bool:
    """Return whether a manifest's models, suites, reports and table references are well-formed."""
    named = configuration if isinstance(configuration, Mapping) else {"models": configuration}
    lists = (named.get("models", []), named.get("suites", []), reports)
    refs = [ref for listed in tables.values() for ref in listed] if isinstance(tables, Mapping) else [tables]
    digests = [ref.get("digest") if isinstance(ref, Mapping) else None for ref in refs]
    return all(isinstance(one, list) for one in lists) and all(
        isinstance(digest, str) and DIGEST.fullmatch(digest) for digest in digests
    )


def faults_of_run(run: RunFolder, there: set[str]) -> list[str]:
    """Return a run's problems, given the digests of the existing tables."""
    if run.problem:
        return [f"run {run.name}: {run.problem}"] if (run.folder / "manifest.json").exists() else []
    lost = {kind: digests - there for kind, digests in run.tables.items() if digests - there}
    found = [
        f"run {run.name}: {len(digests)} of its {kind} tables missing ({min(digests)[:12]} …)"
        for kind, digests in lost.items()
    ]
    reports = map(str, run.manifest.get("reports", []))
    return found + [
        f"run {run.name}: report {one} is missing" for one in reports if not (run.folder / one).is_file()
    ]


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
        """Return the total bytes of those tables that exist."""
        return sum(entry.size for digest, entry in self.tables.items() if digest in digests)


def take(store: Store, runs: Path) -> Inventory:
    """Take the inventory of a store and its runs."""
    return Inventory(store, runs_in(runs), {entry.digest: entry for entry in store.entries()})


def stage_results(store: Store) -> Iterator[tuple[Path, set[str]]]:
    """Yield Prefect's stored results of finished stages in a local store, with the tables each refers to."""
    if store.local is None or not (store.local / "results").is_dir():
        return
    for path in (store.local / "results").iterdir():
        with suppress(OSError, ValueError):
            yield path, set(re.findall(r'"digest\\*": ?\\*"([0-9a-f]{64})', path.read_text(encoding="utf-8")))
