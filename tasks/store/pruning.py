"""Prune a store: take its inventory, decide what may be deleted, and delete it.

A table is kept while a kept run needs it, or an unfinished run may: each use of a table marks it
(`Store.is_intact`), so all that such a run needs has been written or marked since it began.
"""

import re
import shutil
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from basic_control.data.errors import InputError
from basic_control.tasks.store.owners import is_running
from basic_control.tasks.store.runs import Run, list_runs
from basic_control.tasks.store.tables import RENEWED_S, Store, TableFile, explain_error

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


@dataclass(frozen=True, slots=True)
class PruningPlan:
    """What to delete: runs, tables by digest, stage results; nothing used since `cutoff` (s since 1970)."""

    runs: list[Run]
    tables: set[str]
    results: list[Path]
    cutoff: float
    notes: list[str]


def plan(
    inventory: Inventory,
    *,
    older_than_s: float | None = None,
    keep: int | None = None,
    runs: Collection[str] = (),
    grace_s: float = 86_400.0,
) -> PruningPlan:
    """Return what to delete; ages in seconds.

    Runs older than `older_than_s`, but not the newest `keep` finished ones (`keep` alone: all finished ones but
    those), and the named `runs`. Nothing that was written or used within `grace_s`.

    Raises:
        InputError: a named run does not exist, or may still be running.
    """
    now = time.time()
    names = {run.name for run in inventory.runs}
    missing = sorted(set(runs) - names)
    if missing:
        latest = ", ".join(sorted(names)[-5:]) or "none"
        raise InputError(f"--run {missing[0]}: no such run; the latest are {latest}.")
    finished = [run for run in inventory.runs if run.is_finished]
    spared = []
    if keep is not None:
        spared = finished[max(0, len(finished) - keep) :]
    going = []
    for run in inventory.runs:
        began = run.started.timestamp()
        # A run on another machine is not known to be alive, but changes its folder.
        is_alive = is_running(str(run.manifest.get("owner", "")))
        may_run = not run.is_finished and (is_alive or max(began, _find_last_change(run)) > now - grace_s)
        if run.name in runs and may_run:
            raise InputError(
                f"--run {run.name}: it has not ended and may still be running. Stop it first; then "
                "--grace 0h prunes it."
            )
        is_old = keep is not None and run.is_finished
        if older_than_s is not None:
            is_old = now - began > older_than_s
        if run.name in runs or (is_old and not may_run and run not in spared):
            going.append(run)
    return _plan_without(going, inventory, now - grace_s)


def _plan_without(going: list[Run], inventory: Inventory, cutoff: float) -> PruningPlan:
    """Return what to delete with some runs: what no other run needs, and has not been used since `cutoff`."""
    remaining_runs, notes = [run for run in inventory.runs if run not in going], []
    # An unfinished run may need whatever has been used since it began: its manifest does not say yet.
    for run in remaining_runs:
        began = run.started.timestamp() - RENEWED_S
        if not run.is_finished and run.manifest and began < cutoff:
            cutoff = began
            notes.append(
                f"{run.name} has not ended: tables used since it started are kept. If it no longer runs, prune it "
                f"with --run {run.name}."
            )
    tables: set[str] = set()
    unreadable = [run for run in remaining_runs if run.problem and run.has_manifest]
    if unreadable:
        notes.append(
            f"no tables are deleted: the manifest of {', '.join(run.name for run in unreadable)} cannot be read, "
            f"so its tables are unknown ({unreadable[0].problem}). Restore it, or prune the run with --run."
        )
    else:
        unused = set(inventory.tables)
        for run in remaining_runs:
            unused -= run.digests
        tables = {digest for digest in unused if inventory.tables[digest].modified < cutoff}
    # A stage's result without its tables would only make the stage look for them.
    remaining_tables = set(inventory.tables) - tables
    results = []
    for path, digests in list_stage_results(inventory.store):
        if not digests <= remaining_tables and path.stat().st_mtime < cutoff:
            results.append(path)
    return PruningPlan(going, tables, results, cutoff, notes)


def _find_last_change(run: Run) -> float:
    """Return when a run's folder or a file of it was written last, in seconds since 1970; 0 without a folder."""
    try:
        return max(path.stat().st_mtime for path in (run.folder, *run.folder.iterdir()))
    except OSError:
        if not run.folder.exists():
            return 0.0
        return run.folder.stat().st_mtime


def carry_out(inventory: Inventory, planned: PruningPlan) -> int:
    """Delete what was planned, runs first, so that no run is left without its tables; return the deleted tables.

    Raises:
        InputError: something cannot be deleted.
    """
    for run in planned.runs:
        aside = run.folder.with_name(f".{run.folder.name}.{uuid.uuid4().hex}")
        try:
            run.folder.rename(aside)
            shutil.rmtree(aside)
        except OSError as error:
            raise explain_error(error, f"cannot delete {run.folder}") from error
    for path in planned.results:
        path.unlink(missing_ok=True)
    count = 0
    for digest in sorted(planned.tables):
        count += inventory.store.remove(digest, unless_used_since=planned.cutoff)
    return count
