"""The hashes of a finished run, and whether its files are still those that it wrote."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from basic_control.data.errors import InputError
from basic_control.tasks.store.criteria import FILE as CRITERIA
from basic_control.tasks.store.criteria import hash_file
from basic_control.tasks.store.runs import MANIFEST, RESULTS, Run
from basic_control.tasks.store.tables import Damaged, Store

AUDIT = "audit"
"""The folder, in a run's, of its page and its statement."""
STATEMENT = "statement.json"


def hash_documents(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of the documents in a run's folder, by name; those that are not there have none."""
    names = (MANIFEST, CRITERIA, RESULTS)
    return {name: hash_file(folder / name) for name in names if (folder / name).is_file()}


def find_faults(run: Run, store: Store) -> Iterator[str]:
    """Yield what of a run is not as it was written: its documents, its tables, and what its statement says."""
    yield from find_changed_documents(run)
    for kind, digests in run.tables.items():
        for digest in sorted(digests):
            try:
                store.bytes(digest)
            except Damaged as error:
                yield f"table {kind}: {error}"


def find_changed_documents(run: Run) -> Iterator[str]:
    """Yield which documents of a run are not those of its manifest, or of its statement."""
    hashes = hash_documents(run.folder)
    yield from _compare_hashes(_list_sealed(run), hashes, f"the run's {MANIFEST}")
    try:
        stated = read_statement(run.folder)
    except (ValueError, KeyError, TypeError) as error:
        yield f"{AUDIT}/{STATEMENT}: it cannot be read as a statement of this program ({error!r})"
        return
    yield from _compare_hashes(stated, hashes, f"{AUDIT}/{STATEMENT}")


def check_documents(run: Run) -> None:
    """Reject a run whose documents are not those that it wrote.

    Raises:
        InputError: one was changed, or is gone.
    """
    # What an earlier statement says may be older than the run's documents, and is written anew.
    faults = [*_compare_hashes(_list_sealed(run), hash_documents(run.folder), f"the run's {MANIFEST}")]
    if faults:
        raise InputError(
            f"{run.folder}: {'; '.join(faults)}. A page about it would vouch for that. Put the file back, or have "
            f"the run computed again from its replies: basic-control run --run {run.name} --rerun results"
        )


def _list_sealed(run: Run) -> dict[str, Any]:
    """Return the hashes that a run's manifest has of its documents, by name."""
    sealed = {**(run.manifest.get("digests") or {})}
    if criteria := run.manifest.get("criteria"):
        sealed[criteria["file"]] = criteria["sha256"]
    return sealed


def _compare_hashes(expected: Mapping[str, Any], hashes: Mapping[str, str], source: str) -> Iterator[str]:
    for name, digest in expected.items():
        if name not in hashes:
            yield f"{name}: it is missing; {source} has SHA-256 {digest}"
        elif hashes[name] != digest:
            yield f"{name}: found SHA-256 {hashes[name]}, expected {digest} of {source}; the file was changed"


def read_statement(folder: Path) -> dict[str, str]:
    """Return the hashes that a run's statement holds, by name; none without one.

    Raises:
        ValueError, KeyError, TypeError: it is no such statement.
    """
    path = folder / AUDIT / STATEMENT
    if not path.is_file():
        return {}
    files = json.loads(path.read_text(encoding="utf-8"))["predicate"]["configuration"]
    return {str(file["name"]): str(file["digest"]["sha256"]) for file in files}
