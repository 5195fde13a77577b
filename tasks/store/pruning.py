"""Prune a store: decide what may be deleted, and delete it.

A table is kept while a kept run needs it, or an unfinished run may: each use of a table marks it (`Store.whole`),
so all that such a run needs has been written or marked since it began.
"""

import shutil
import time
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from basic_control.data.errors import InputError
from basic_control.tasks.store.inventory import Inventory, stage_results
from basic_control.tasks.store.owners import is_running
from basic_control.tasks.store.runs import Run
from basic_control.tasks.store.tables import RENEWED_S, explain


@dataclass(frozen=True, slots=True)
class PruningPlan:
    """What to delete: runs, tables by digest, stage results; nothing used since `cutoff` (s since 1970)."""

    runs: list[Run]
    tables: set[str]
    results: list[Path]
    cutoff: float
    notes: list[str]


def plan(
    there: Inventory,
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
    named = {run.name for run in there.runs}
    if missing := sorted(set(runs) - named):
        latest = ", ".join(sorted(named)[-5:]) or "none"
        raise InputError(f"--run {missing[0]}: no such run; the latest are {latest}.")
    finished = [run for run in there.runs if run.finished]
    spared = finished[max(0, len(finished) - keep) :] if keep is not None else []
    going = []
    for run in there.runs:
        began = run.started.timestamp()
        alive = is_running(str(run.manifest.get("owner", "")))
        fresh = not run.finished and (alive or max(began, _touched(run)) > now - grace_s)
        if run.name in runs and fresh:
            raise InputError(
                f"--run {run.name}: it has not ended and may still be running. Stop it first; then "
                "--grace 0h prunes it."
            )
        old = keep is not None and run.finished if older_than_s is None else now - began > older_than_s
        if run.name in runs or (old and not fresh and run not in spared):
            going.append(run)
    return _emptied(there, going, now - grace_s)


def _emptied(there: Inventory, going: list[Run], cutoff: float) -> PruningPlan:
    """Return what to delete with some runs: what no other run needs, and has not been used since `cutoff`."""
    kept, notes = [run for run in there.runs if run not in going], []
    for run in kept:
        began = run.started.timestamp() - RENEWED_S
        if not run.finished and run.manifest and began < cutoff:
            cutoff = began
            notes.append(
                f"{run.name} has not ended: tables used since it started are kept. If it no longer runs, prune it "
                f"with --run {run.name}."
            )
    tables: set[str] = set()
    unreadable = [run for run in kept if run.problem and run.has_manifest]
    if unreadable:
        notes.append(
            f"no tables are deleted: the manifest of {', '.join(run.name for run in unreadable)} cannot be read, "
            f"so its tables are unknown ({unreadable[0].problem}). Restore it, or prune the run with --run."
        )
    else:
        needed = set().union(*(run.digests for run in kept))
        unused = there.tables.keys() - needed
        tables = {digest for digest in unused if there.tables[digest].modified < cutoff}
    left = set(there.tables) - tables
    results = [
        path
        for path, digests in stage_results(there.store)
        if not digests <= left and path.stat().st_mtime < cutoff
    ]
    return PruningPlan(going, tables, results, cutoff, notes)


def _touched(run: Run) -> float:
    try:
        return max(path.stat().st_mtime for path in (run.folder, *run.folder.iterdir()))
    except OSError:
        return run.folder.stat().st_mtime if run.folder.exists() else 0.0


def carry_out(there: Inventory, planned: PruningPlan) -> int:
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
            raise explain(error, f"cannot delete {run.folder}") from error
    for path in planned.results:
        path.unlink(missing_ok=True)
    return sum(there.store.remove(digest, unless_used_since=planned.cutoff) for digest in sorted(planned.tables))
