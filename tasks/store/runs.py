"""Runs: found by name or folder; their manifests, results and tables."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from basic_control.data.batches import Ref
from basic_control.data.commands import LAST
from basic_control.data.documents import RESULTS_VERSION
from basic_control.data.errors import InputError, plural
from basic_control.data.tables import TABLES
from basic_control.tasks.store import manifest as manifests
from basic_control.tasks.store.tables import Damaged, Store

if TYPE_CHECKING:
    from basic_control.metrics.analysis.results import Results
    from basic_control.metrics.analysis.verdict import RunVerdict

MANIFEST, RESULTS = manifests.NAME, "results.json"
NAME = re.compile(r"(\d{8}_\d{6})(_\d+)?")
"""The name of a run: its start time, such as 20261128_203433; of a second one in that second, 20261128_203433_2."""
_CELLS = b'\n "cells": '
"""Start of the cells in our results.json. No text can contain it: JSON writes a line break in one as \\n."""


def list_names(entries: Iterable[Any] | None) -> list[str]:
    """Return the names of models or suites in a run's configuration: names, or entries with one."""
    names = []
    for entry in entries or ():
        name = entry.get("name", "?") if isinstance(entry, Mapping) else entry
        names.append(str(name))
    return names


@dataclass(frozen=True, slots=True)
class Run:
    """A run: `name` is its id, or its folder if two runs have the same id.

    If its manifest cannot be read, `manifest` is empty and `problem` says why.
    """

    name: str
    folder: Path
    started: datetime
    manifest: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""

    @property
    def has_manifest(self) -> bool:
        """Whether the run has a manifest, however damaged."""
        return (self.folder / MANIFEST).exists()

    @property
    def is_finished(self) -> bool:
        """Whether the run ended, so that its manifest names its tables."""
        return bool(self.manifest.get("tables")) and self.manifest.get("status") != "running"

    @property
    def configuration(self) -> Mapping[str, Any]:
        """The configuration that it ran with."""
        return self.manifest.get("configuration", {})

    @property
    def models(self) -> list[str]:
        """The names of the models asked."""
        return list_names(self.configuration.get("models"))

    @property
    def suites(self) -> list[str]:
        """The suites run."""
        return list_names(self.configuration.get("suites"))

    @property
    def is_exam(self) -> bool:
        """Whether it ran the judges' exam alone."""
        from basic_control.config.exam import SUITE  # imports the settings, which lists of runs do not need

        return self.suites == [SUITE]

    @property
    def tables(self) -> dict[str, set[str]]:
        """The digests of the tables that the run needs, by their role in it."""
        digests = {}
        for kind, refs in self.manifest.get("tables", {}).items():
            digests[kind] = {ref["digest"] for ref in refs}
        return digests

    @property
    def digests(self) -> set[str]:
        """The digests of all tables that the run needs."""
        return set().union(*self.tables.values())


def read_run(folder: Path) -> Run:
    """Return the run in a folder, finished or not.

    Raises:
        InputError: there is none, or its manifest is not as a run writes it.
    """
    manifest = manifests.read(folder)
    return Run(folder.name, folder, datetime.fromisoformat(manifest["started"]).astimezone(), manifest)


def list_folders(runs: Path) -> dict[str, Path]:
    """Return the folders of runs by name, also of those that never began or lost their manifest."""
    if not runs.is_dir():
        return {}
    return {path.name: path for path in sorted(runs.iterdir()) if path.is_dir() and not path.name.startswith(".")}


def list_runs(folder: Path) -> list[Run]:
    """Return the runs in a folder, oldest first; a folder that has neither a run's name nor a manifest is none."""
    try:
        paths = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror}). Name the folder of the runs.") from error
    runs = [_read_or_describe(path) for path in paths if NAME.fullmatch(path.name) or (path / MANIFEST).is_file()]
    return sorted(runs, key=lambda run: (run.started.timestamp(), run.name))


def _read_or_describe(folder: Path) -> Run:
    """Return the run in a folder; of one whose manifest cannot be read, what is wrong with it."""
    problem = "it has no manifest"
    if (folder / MANIFEST).exists():
        try:
            return read_run(folder)
        except InputError as error:
            problem = str(error)
    started = datetime.fromtimestamp(folder.stat().st_mtime).astimezone()
    # The folder may have been copied: its name says better when the run began.
    match = NAME.fullmatch(folder.name)
    if match:
        with suppress(ValueError):
            started = datetime.strptime(match[1], "%Y%m%d_%H%M%S").astimezone()
    return Run(folder.name, folder, started, problem=problem)


def find_by_name(name: str, runs: Path) -> Run:
    """Return a run, finished or not, by its name in the folder `runs`; `last` is the newest finished evaluation.

    Raises:
        InputError: it does not exist, or the name is not a run's name, but a path, for example.
    """
    name = resolve_last(name, runs)
    if Path(name).name != name or name in {"", ".", ".."} or "\0" in name or (runs / name).is_symlink():
        raise InputError(
            f"run {name}: expected the name of a run in store.runs ({runs}), not a path. For runs elsewhere, use "
            "--set store.runs=FOLDER."
        )
    return read_run(runs / name)


def find_run(name_or_path: str, runs: Path) -> Run:
    """Return a finished run by its id in the folder `runs`, `last` for the newest, or by the path of its folder.

    Raises:
        InputError: it does not exist, has not finished, or its manifest is invalid.
    """
    name_or_path = resolve_last(name_or_path, runs)
    path = Path(name_or_path)
    is_path = (path / MANIFEST).is_file() or len(path.parts) > 1
    folder = path if is_path else runs / name_or_path
    run = None
    # Where there is no folder, reading says so, and which runs there are.
    if not folder.is_dir() or (folder / MANIFEST).exists():
        run = read_run(folder)
    if run is None or not run.is_finished:
        raise InputError(
            f"run {name_or_path}: {folder} contains no finished run. If it was interrupted, run its command again: "
            "answered questions are not asked twice."
        )
    return replace(run, name=str(run.manifest.get("run") or folder.name))


def resolve_last(name: str, runs: Path, *, before: int = 0) -> str:
    """Return a run's name, where it is `last` the newest finished evaluation's, or of one so many `before` it.

    An exam of judges is no evaluation: what follows `last` shows, compares or pins models.

    Raises:
        InputError: no such run has finished.
    """
    if name != LAST or (runs / LAST).exists():
        return name
    finished = [run for run in reversed(list_runs(runs)) if run.is_finished and not run.is_exam]
    if len(finished) <= before:
        raise InputError(
            f"last: found {plural(len(finished), 'finished evaluation')} in {runs}; expected {before + 1}. Run an "
            "evaluation, or name a folder."
        )
    return finished[before].name


def find_all(names_or_paths: Sequence[str], runs: Path) -> list[Run]:
    """Return several finished runs, in order, without duplicates, each with a unique name.

    Raises:
        InputError: one cannot be found, or one is named twice.
    """
    selection = [find_run(name, runs) for name in names_or_paths]
    folders_of_runs = [run.folder.resolve() for run in selection]
    for folder, name in zip(folders_of_runs, names_or_paths, strict=True):
        if folders_of_runs.count(folder) > 1:
            raise InputError(f"run {name} is named twice; expected different runs.")
    # Runs of two stores may have begun in the same second.
    counts = Counter(run.name for run in selection)
    for position, run in enumerate(selection):
        if counts[run.name] > 1:
            selection[position] = replace(run, name=str(run.folder))
    return selection


def read_front(path: Path) -> Any:
    """Read a document of a run: results.json up to its cells, which are nine tenths of it and seldom needed."""
    text, cells, _ = path.read_bytes().partition(_CELLS)
    if cells:
        text = text.rstrip().removesuffix(b",") + b"}"
    return json.loads(text)


def read_results(folder: Path, *, whole: bool = False) -> "tuple[Results, RunVerdict]":
    """Read the results and the verdict in a run's folder: the front of results.json, or the `whole`.

    Raises:
        ValueError, KeyError, TypeError: it is not such a document.
        OSError: it cannot be read.
    """
    from basic_control.metrics.analysis.document import (
        read,  # imports half of the statistics, which few commands need
    )

    path = folder / RESULTS
    document = json.loads(path.read_bytes()) if whole else read_front(path)
    if not isinstance(document, dict) or document.get("schema_version") != RESULTS_VERSION:
        raise ValueError(f"expected results of schema {RESULTS_VERSION}")
    return read(document)


def load_results(run: Run, *, whole: bool = False) -> "tuple[Results, RunVerdict]":
    """Return a run's results and verdict, as `read_results`.

    Raises:
        InputError: they are not there, or not as a run writes them.
    """
    try:
        return read_results(run.folder, whole=whole)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        why = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        raise InputError(
            f"{run.folder / RESULTS}: cannot be read ({why}). `basic-control run --run {run.name} --rerun report` "
            "makes a new run from the same replies; no model is called."
        ) from error


def load_table(run: Run, table: str, root: str = "") -> pl.DataFrame:
    """Return a table of a run (all its batches) from the store that it was written to.

    `root` is the store's current location, if it differs from the run's configuration.

    Raises:
        InputError: the manifest does not list it, or the store does not have it intact.
    """
    store_root = root or str((run.configuration.get("store") or {}).get("root") or "")
    try:
        refs = list(map(Ref.read, run.manifest["tables"][table]))
    except KeyError as error:
        raise InputError(f"run {run.name}: its manifest does not list the table {table!r}.") from error
    try:
        return Store(store_root).read_all(refs, TABLES[table.removeprefix("judge_")])
    except Damaged as error:
        raise InputError(
            f"run {run.name}: {error}. Name its store with --set store.root=FOLDER, or run the evaluation again "
            "with the same configuration: answered questions are not asked twice."
        ) from error


def load_items(run: Run, root: str = "") -> pl.DataFrame:
    """Return the items of a run, all its batches, each with the id of its question.

    Raises:
        InputError: the store does not have them intact, or they are of an earlier version.
    """
    items = load_table(run, "items", root)
    if items["question_id"].null_count():
        raise InputError(
            f"run {run.name}: its items were written by an earlier version and have no question ids. Run the "
            "evaluation again with the same configuration: answered questions are not asked twice."
        )
    return items


def load_calls(run: Run, root: str = "") -> pl.DataFrame:
    """Return each request with its response.

    Raises:
        InputError: the store does not have them intact.
    """
    responses = load_table(run, "responses", root).unique("request_id", maintain_order=True)
    return load_table(run, "requests", root).join(responses, on="request_id", how="left", maintain_order="left")


def load_replies(run: Run, root: str = "") -> pl.DataFrame:
    """Return each model's reply to each item and repeat: item_id, model, repeat, text, error, latency_s.

    Of a reply without text there is also `extra`, as calls of tools.

    Raises:
        InputError: the store does not have them intact.
    """
    extra = pl.when(pl.col("text").fill_null("") == "").then("extra").alias("extra")
    frame = load_calls(run, root).select("item_id", "model", "repeat", "text", "error", "latency_s", extra)
    return frame.unique(["item_id", "model", "repeat"], maintain_order=True)
