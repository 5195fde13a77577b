"""Export: a finished run in the forms of other tools."""

import json
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from data.errors import InputError
from tasks.exchange import every_eval_ever, inspect_log
from tasks.exchange.finished import evaluations
from tasks.store.runs import FinishedRun

Form = Literal["every-eval-ever", "inspect"]
_WRITERS = {"every-eval-ever": every_eval_ever.write, "inspect": inspect_log.write}


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


def export(run: FinishedRun, folder: Path, form: Form, *, root: str = "") -> Iterator[Path]:
    """Write a run, a file or two for each suite and target, and yield the files.

    Raises:
        InputError: the run's tables or results are not whole, the form's package is missing, or the folder cannot
            be written.
    """
    cells = _cells(run)
    facts = {"run": run.name, "started": run.manifest.get("started", ""), "version": _version()}
    for evaluation in evaluations(run, root):
        own = cells.get((evaluation.suite, evaluation.target), {})
        try:
            yield from _WRITERS[form](evaluation, folder, run=facts, cells=own) or ()
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror}).") from error
