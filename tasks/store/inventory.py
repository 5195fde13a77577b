"""A store's inventory: its runs, the tables each needs, and those that no run needs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from basic_control.tasks.store.runs import Run, runs_in
from basic_control.tasks.store.tables import Store, TableFile


def faults_of_run(run: Run, there: set[str]) -> list[str]:
    """Return a run's problems, given the digests of the existing tables."""
    if run.problem:
        return [f"run {run.name}: {run.problem}"] if run.has_manifest else []
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
    runs: Sequence[Run]
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
