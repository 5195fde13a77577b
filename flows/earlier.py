"""Find earlier runs and their configurations, without Prefect.

Prefect reads its settings once, on import, and those of a command-line run are set after its configuration is
known (`flows.environment`).
"""

import time
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from basic_control.config.reading import parse
from basic_control.config.settings import Judge, Settings
from basic_control.data.commands import format_command
from basic_control.data.errors import InputError
from basic_control.tasks.store.runs import MANIFEST, Run, find_by_name, list_runs

TIME_LABEL = "%Y%m%d_%H%M%S"
"""What `--fresh` labels its requests with: the time, which no later command gives again."""
_ELSEWHERE = (
    "A run's folder stays on the machine that started it. On another one start its command again: with the same "
    "store nothing is asked twice, if the command has --set fresh=LABEL in place of --fresh."
)


def is_time_label(label: str) -> bool:
    """Return whether a label is one of `--fresh`, which the same command would not give again."""
    try:
        time.strptime(label, TIME_LABEL)
    except ValueError:
        return False
    return True


def find_resumed(name: str, runs: Path) -> Run:
    """Return the run that is to be continued.

    Raises:
        InputError: as `find_by_name`; where its folder is on another machine, it says what to do here.
    """
    try:
        return find_by_name(name, runs)
    except InputError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            raise InputError(f"{error} {_ELSEWHERE}") from error
        raise


def to_resume(runs: Path) -> str:
    """Return the name of the last run if it was interrupted or has requests waiting in batches.

    Raises:
        InputError: there is no run, or the last one has ended and need not be resumed.
    """
    started_runs = [run for run in list_runs(runs) if run.has_manifest]
    if not started_runs:
        raise InputError(f"{runs}: found no run; expected folders with a manifest.json. Start one first.")
    last = started_runs[-1]
    if _open(last):
        return last.name
    todo = "Start the command itself."
    for run in started_runs:
        if _open(run):
            todo = f"The last interrupted one is {run.name}: --resume {run.name}."
    raise InputError(
        f"--resume: the last run, {last.name}, has ended and left nothing to continue. {todo} To repeat its failed "
        f"calls: --run {last.name} --only-failed; to repeat it from the caches: --resume {last.name}."
    )


def _open(run: Run) -> bool:
    """Return whether a run can be continued; an unreadable manifest raises its own error."""
    return bool(run.problem) or not run.is_finished or bool(run.manifest.get("requests", {}).get("submitted"))


def has_ended(runs: str, name: str) -> bool:
    """Return whether a run has ended with no requests waiting in batches."""
    return not _open(find_by_name(name, Path(runs)))


def check_judges(run: str, manifest: Mapping[str, Any], judges: Sequence[Judge]) -> None:
    """Refuse to repeat an ended run in its own folder without one of its judges: what that one said would be lost.

    Raises:
        InputError: a judge of the run is not there; the message says how both are kept.
    """
    entries = {(judge.name, judge.provider, judge.model) for judge in judges}
    replaced: list[str] = []
    # An entry may leave out what it has by default.
    for recorded in manifest.get("configuration", {}).get("judges") or ():
        entry = recorded["name"], recorded.get("provider", "ollama"), recorded.get("model", "")
        if entry not in entries:
            replaced.append(recorded["name"])
    if replaced:
        command = format_command(f"run --run {run}")
        raise InputError(
            f"--resume {run}: this run has ended, and what its judge {replaced[0]} said would be replaced. Judge "
            f"its replies in a run of its own, which keeps both: {command} with the same options."
        )


def find_interrupted(runs: str, fresh: str) -> str:
    """Return the interrupted run that was started with this `--fresh` mark; '' if there is none."""
    for run in reversed(list_runs(Path(runs))):
        if run.configuration.get("fresh") == fresh:
            return run.name
    return ""


def settings_of(
    runs: str, run: str, sets: Sequence[str] = (), only: str = ""
) -> tuple[Settings, Mapping[str, Any]]:
    """Return an earlier run's configuration, with `--set` assignments applied, and its manifest.

    Raises:
        InputError: there is no such run, or its configuration is not valid in this version.
    """
    earlier_run = find_by_name(run, Path(runs))
    where = str(earlier_run.folder / MANIFEST)
    return parse(deepcopy({**earlier_run.configuration}), where, {}, sets, only), earlier_run.manifest
