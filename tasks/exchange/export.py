"""Export: a finished run in the forms of other tools."""

import json
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from data.errors import InputError
from tasks.exchange.discovery import writers
from tasks.exchange.finished import evaluations
from tasks.store.runs import FinishedRun


def _cells(run: FinishedRun) -> Mapping[tuple[str, str], Mapping[str, Mapping[str, Any]]]:
    """Return the means of whole suites, from the run's results, by suite and model, then by metric."""
    path = run.folder / "results.json"
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{path}: cannot be read ({error}). Make it again with --run {run.name} --rerun report."
        ) from error
    found: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for cell in cells:
        if not (cell["family"] or cell["level"] or cell["language"]) and cell["mean"] is not None:
            found.setdefault((cell["suite"], cell["model"]), {})[cell["metric"]] = cell
    return found


def _version() -> str:
    try:
        return version("basic-control")
    except PackageNotFoundError:
        return "unknown"


def export(run: FinishedRun, folder: Path, form: str, *, root: str = "") -> Iterator[Path]:
    """Write a run, a file or two for each suite and target, and yield the files.

    Raises:
        InputError: there is no such form, the run's tables or results are not whole, the form's package is missing,
            or the folder cannot be written.
    """
    if form not in writers():
        raise InputError(f"--form {form}: there is no such form; expected one of {', '.join(writers())}.")
    cells = _cells(run)
    facts = {"run": run.name, "started": run.manifest.get("started", ""), "version": _version()}
    for evaluation in evaluations(run, root):
        own = cells.get((evaluation.suite, evaluation.target), {})
        try:
            yield from writers()[form].write(evaluation, folder, run=facts, cells=own) or ()
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror}).") from error
