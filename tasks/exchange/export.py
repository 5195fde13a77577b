"""Export: a finished run in the forms of other tools."""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from data.errors import InputError
from tasks.exchange.discovery import writer
from tasks.exchange.finished import evaluations
from tasks.store.runs import FinishedRun


def _version() -> str:
    try:
        return version("basic-control")
    except PackageNotFoundError:
        return "unknown"


def export(run: FinishedRun, folder: Path, form: str, *, root: str = "") -> Iterator[Path]:
    """Write a run in a form, and yield the files.

    Raises:
        InputError: there is no such form, the run's tables or results are not whole, the form's package is missing,
            or the folder cannot be written.
    """
    facts = {"run": run.name, "started": run.manifest.get("started", ""), "version": _version()}
    adapter = writer(form)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield from adapter.write(evaluations(run, root), folder, run=facts)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}).") from error
