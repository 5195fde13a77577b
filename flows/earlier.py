"""Find earlier runs and their configurations, without Prefect.

Prefect reads its settings once, on import, and those of a command-line run are set after its configuration is
known (`flows.environment`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from config.reading import parse
from config.settings import Settings
from data.errors import InputError
from tasks.store.runs import MANIFEST, Run, named, runs_in


def to_resume(runs: Path) -> str:
    """Return the name of the last run if it was interrupted or has requests waiting in batches.

    Raises:
        InputError: there is no run, or the last one has ended and need not be resumed.
    """
    there = [run for run in runs_in(runs) if run.has_manifest]
    if not there:
        raise InputError(f"{runs}: found no run; expected folders with a manifest.json. Start one first.")
    last = there[-1]
    if _open(last):
        return last.name
    older = next((run.name for run in reversed(there) if _open(run)), "")
    todo = f"The last interrupted one is {older}: --resume {older}." if older else "Start the command itself."
    raise InputError(
        f"--resume: the last run, {last.name}, has ended and left nothing to continue. {todo} To repeat its failed "
        f"calls: --run {last.name} --only-failed; to repeat it from the caches: --resume {last.name}."
    )


def _open(run: Run) -> bool:
    """Return whether a run can be continued; an unreadable manifest raises its own error."""
    return bool(run.problem) or not run.finished or bool(run.manifest.get("requests", {}).get("submitted"))


def ended(runs: str, name: str) -> bool:
    """Return whether a run has ended with no requests waiting in batches."""
    return not _open(named(name, Path(runs)))


def interrupted_fresh_run(runs: str, fresh: str) -> str:
    """Return the interrupted run that was started with this `--fresh` mark; '' if there is none."""
    marked = (run.name for run in reversed(runs_in(Path(runs))) if run.configuration.get("fresh") == fresh)
    return next(marked, "")


def settings_of(
    runs: str, run: str, sets: Sequence[str] = (), only: str = ""
) -> tuple[Settings, Mapping[str, Any]]:
    """Return an earlier run's configuration, with `--set` assignments applied, and its manifest.

    Raises:
        InputError: there is no such run, or its configuration is not valid in this version.
    """
    found = named(run, Path(runs))
    where = str(found.folder / MANIFEST)
    return parse(_recorded(found.configuration), where, {}, sets, only), found.manifest


RETIRED: Mapping[str, tuple[str, ...]] = {"": ("currency",), "report": ("samples", "junit_items")}
"""Keys that earlier versions recorded, by section; none of them affected a score."""


def _recorded(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recorded configuration without retired keys and without judge temperatures that nobody set.

    Before suites were declarations, every judge was recorded with the default 0.0, which was ignored: judges were
    asked at the metric's own temperature.
    """
    kept = {key: value for key, value in configuration.items() if key not in RETIRED[""]}
    if isinstance(report := kept.get("report"), Mapping):
        kept["report"] = {key: value for key, value in report.items() if key not in RETIRED["report"]}
    suites, judges = kept.get("suites"), kept.get("judges")
    if (
        isinstance(suites, list)
        and isinstance(judges, list)
        and not any(isinstance(one, Mapping) for one in suites)
    ):
        kept["judges"] = [
            {key: value for key, value in one.items() if (key, value) != ("temperature", 0.0)}
            if isinstance(one, Mapping)
            else one
            for one in judges
        ]
    return kept
