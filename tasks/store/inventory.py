"""A store's inventory: its runs, the tables each needs, and those that no run needs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from basic_control.tasks.store.runs import Run, list_runs
from basic_control.tasks.store.tables import Store, TableFile

# The digests in a result, which is JSON or JSON in a JSON string: "digest": "9f86…" and \"digest\": \"9f86…\".
_DIGESTS = re.compile(r'"digest\\*": ?\\*"([0-9a-f]{64})')


def list_faults(run: Run, existing: set[str]) -> Iterator[str]:
    """Yield a run's problems, given the digests of the existing tables."""
    if run.problem:
        if run.has_manifest:
            yield f"run {run.name}: {run.problem}"
        return
    for kind, digests in run.tables.items():
        lost = digests - existing
        if lost:
            yield f"run {run.name}: {len(lost)} of its {kind} tables missing ({min(lost)[:12]} …)"
    for report in map(str, run.manifest.get("reports", [])):
        if not (run.folder / report).is_file():
            yield f"run {run.name}: report {report} is missing"


@dataclass(frozen=True, slots=True)
class Inventory:
    """A store's tables by their digests, and the runs."""

    store: Store
    runs: Sequence[Run]
    tables: Mapping[str, TableFile]

    @property
    def digests_in_use(self) -> set[str]:
        """The digests of the tables that some run needs."""
        return set().union(*(run.digests for run in self.runs))

    def size(self, digests: set[str]) -> int:
        """Return the total bytes of those tables that exist."""
        return sum(entry.size for digest, entry in self.tables.items() if digest in digests)


def take(store: Store, runs: Path) -> Inventory:
    """Take the inventory of a store and its runs."""
    return Inventory(store, list_runs(runs), {entry.digest: entry for entry in store.entries()})


def list_stage_results(store: Store) -> Iterator[tuple[Path, set[str]]]:
    """Yield Prefect's stored results of finished stages in a local store, with the tables each refers to."""
    if store.local is None or not (store.local / "results").is_dir():
        return
    for path in (store.local / "results").iterdir():
        with suppress(OSError, ValueError):
            yield path, set(_DIGESTS.findall(path.read_text(encoding="utf-8")))
