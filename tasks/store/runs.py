"""Finished runs: found by id or folder, their tables read from the store, their configurations compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from data.batches import Ref
from data.errors import InputError
from data.tables import TABLES
from tasks.store import manifest as manifests
from tasks.store.tables import Damaged, Store

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A finished run: `name` is its id, or its folder if two runs have the same id."""

    name: str
    folder: Path
    manifest: Mapping[str, Any]

    @property
    def configuration(self) -> Mapping[str, Any]:
        """The configuration that it ran with."""
        found = self.manifest.get("configuration")
        return found if isinstance(found, Mapping) else {}


def find(named: str, runs: Path) -> FinishedRun:
    """Return a run by its id in the folder `runs`, or by the path of its own folder.

    Raises:
        InputError: it does not exist, has not finished, or its manifest is invalid.
    """
    given = Path(named)
    folder = given if (given / MANIFEST).is_file() or len(given.parts) > 1 else runs / named
    unfinished = (
        f"run {named}: {folder} contains no finished run. If it was interrupted, run its command again: answered "
        "questions are not asked twice."
    )
    if folder.is_dir() and not (folder / MANIFEST).exists():
        raise InputError(unfinished)
    found = manifests.read(folder)
    if found.get("status", "completed") != "completed":
        raise InputError(unfinished)
    return FinishedRun(str(found.get("run") or folder.name), folder, found)


def find_all(named: Sequence[str], runs: Path) -> list[FinishedRun]:
    """Return several runs, in order, without duplicates, each with a unique name.

    Raises:
        InputError: one cannot be found, or one is named twice.
    """
    found = [find(one, runs) for one in named]
    places = [run.folder.resolve() for run in found]
    for place, one in zip(places, named, strict=True):
        if places.count(place) > 1:
            raise InputError(f"run {one} is named twice; expected different runs.")
    names = [run.name for run in found]
    return [
        run if names.count(run.name) == 1 else FinishedRun(str(run.folder), run.folder, run.manifest)
        for run in found
    ]


def load(run: FinishedRun, table: str, kind: str, root: str = "") -> pl.DataFrame:
    """Return a table of a run (all its batches), of the schema `kind`, from the store that it was written to.

    `root` is the store's current location, if it differs from the run's configuration.

    Raises:
        InputError: the manifest does not list it, or the store does not have it intact.
    """
    place = root or str((run.configuration.get("store") or {}).get("root") or "")
    try:
        refs = list(map(Ref.read, run.manifest["tables"][table]))
    except (KeyError, TypeError) as error:
        raise InputError(f"run {run.name}: its manifest does not list the table {table!r}.") from error
    try:
        return Store(place).read_all(refs, TABLES[kind])
    except Damaged as error:
        raise InputError(
            f"run {run.name}: {error}. Name its store with --set store.root=FOLDER, or run the evaluation again "
            "with the same configuration: answered questions are not asked twice."
        ) from error


def items_of(run: FinishedRun, root: str = "") -> pl.DataFrame:
    """Return the items of a run, all its batches, each with the id of its question.

    Raises:
        InputError: the store does not have them intact, or they are of an earlier version.
    """
    items = load(run, "items", "items", root)
    if items["question_id"].null_count():
        raise InputError(
            f"run {run.name}: its items were written by an earlier version and have no question ids. Run the "
            "evaluation again with the same configuration: answered questions are not asked twice."
        )
    return items


def replies(run: FinishedRun, root: str = "") -> pl.DataFrame:
    """Return each model's reply to each item and repeat: item_id, model, repeat, text, error.

    Raises:
        InputError: the store does not have them intact.
    """
    requests = load(run, "requests", "requests", root).select("request_id", "item_id", "model", "repeat")
    responses = load(run, "responses", "responses", root).select("request_id", "text", "error").unique("request_id")
    asked = requests.join(responses, on="request_id", how="left", maintain_order="left")
    return asked.drop("request_id").unique(["item_id", "model", "repeat"], maintain_order=True)
