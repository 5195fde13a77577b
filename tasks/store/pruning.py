"""Prune: what may go from a store, and its going.

A table stays while a kept run needs it, and while a run that has not ended may: whoever uses a table marks it
(`Store.whole`), so all that such a run needs has been written or marked since it began.
"""

import shutil
import time
import uuid
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from data.errors import InputError
from tasks.store.inventory import Inventory, RunFolder, stage_results
from tasks.store.tables import RENEWED_S, explain


@dataclass(frozen=True, slots=True)
class PruningRequest:
    """What a user wants gone; ages in seconds.

    Runs older than `older_than_s`, but not the newest `keep` finished ones (`keep` alone: all finished ones but
    those), and the named `runs`. Nothing that was written or used within `grace_s`.
    """

    older_than_s: float | None = None
    keep: int | None = None
    runs: Collection[str] = ()
    grace_s: float = 86_400.0


@dataclass(frozen=True, slots=True)
class PruningPlan:
    """What will go: runs, tables by their digests, stage results; nothing used since `cutoff` (s since 1970)."""

    runs: list[RunFolder]
    tables: set[str]
    results: list[Path]
    cutoff: float
    notes: list[str] = field(default_factory=list)


def plan(there: Inventory, wish: PruningRequest) -> PruningPlan:
    """Say what will go.

    Raises:
        InputError: a run is named that is not there, or that may still be running.
    """
    now = time.time()
    going = _going(there.runs, wish, now)
    kept = [run for run in there.runs if run not in going]
    notes = []
    cutoff = now - wish.grace_s
    for run in kept:
        if not run.finished and run.manifest:
            began = run.started.timestamp() - RENEWED_S
            if began < cutoff:
                cutoff = began
                notes.append(
                    f"{run.name} has not ended: tables used since it began stay. If it is dead, `--run {run.name}`."
                )
    tables: set[str] = set()
    unreadable = [run for run in kept if not run.manifest and run.problem != "it has no manifest"]
    if unreadable:
        notes.append(
            f"no table can go: what {', '.join(run.name for run in unreadable)} needs is not known "
            f"({unreadable[0].problem}). Put its manifest back, or prune it with --run."
        )
    else:
        needed = set().union(*(run.digests for run in kept))
        tables = {d for d, entry in there.tables.items() if d not in needed and entry.modified < cutoff}
    left = set(there.tables) - tables
    results = [
        path
        for path, digests in stage_results(there.store)
        if not digests <= left and path.stat().st_mtime < cutoff
    ]
    return PruningPlan(going, tables, results, cutoff, notes)


def _going(runs: Collection[RunFolder], wish: PruningRequest, now: float) -> list[RunFolder]:
    named = {run.name for run in runs}
    if missing := sorted(set(wish.runs) - named):
        latest = ", ".join(sorted(named)[-5:]) or "none"
        raise InputError(f"--run {missing[0]}: there is no such run; the latest are {latest}.")
    going = []
    finished = [run for run in runs if run.finished]
    spared = finished[max(0, len(finished) - wish.keep) :] if wish.keep is not None else []
    for run in runs:
        age = now - run.started.timestamp()
        fresh = not run.finished and max(run.started.timestamp(), _touched(run)) > now - wish.grace_s
        if run.name in wish.runs:
            if fresh:
                raise InputError(
                    f"--run {run.name}: it has not ended and may be running still. Stop it first; once it is dead, "
                    "--grace 0h prunes it."
                )
            going.append(run)
        elif fresh or run in spared:
            continue
        elif wish.older_than_s is not None:
            if age > wish.older_than_s:
                going.append(run)
        elif wish.keep is not None and run.finished:
            going.append(run)
    return going


def _touched(run: RunFolder) -> float:
    try:
        return max(path.stat().st_mtime for path in (run.folder, *run.folder.iterdir()))
    except OSError:
        return run.folder.stat().st_mtime if run.folder.exists() else 0.0


def carry_out(there: Inventory, planned: PruningPlan) -> int:
    """Delete what was planned, runs first, so that no run is left without its tables; return the tables gone.

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
