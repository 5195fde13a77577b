"""The history of runs: list them, set a run's note, show one."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from basic_control.flows.cli.console import show
from basic_control.flows.cli.options import RUN, USUAL, Where

if TYPE_CHECKING:
    from basic_control.tasks.store.history import HistoryEntry


def list_(*, model: str = "", n: Annotated[int, Parameter(metavar="N")] = 50, at: Where = USUAL) -> None:
    """List runs, the newest first.

    Args:
        model: only those of this model
        n: maximum number of runs
    """
    from basic_control.tasks.store.history import read_history

    runs = read_history(at.find_runs_folder())
    if model:
        runs = [run for run in runs if model in run.models]
    for run in runs[:n]:
        outcome = [
            run.started[:16],
            run.status,
            _exit_code(run),
            ", ".join(_scores(run)),
            f"[{', '.join(run.suites)}]",
        ]
        # What a run does not have leaves no gap.
        show("  ".join(filter(None, (run.name, run.title, *outcome, run.note))))
    if len(runs) > n:
        show(f"{len(runs) - n} more: --n N shows them.")
    if not runs:
        show("No matching run.")


def _exit_code(run: "HistoryEntry") -> str:
    if run.exit_code is None:
        return ""
    return f"exit {run.exit_code}"


def _scores(run: "HistoryEntry") -> list[str]:
    from basic_control.tasks.report.text import percent

    return [f"{name} {percent(target.score)}" for name, target in run.targets.items()]


def note(run: Annotated[str, RUN], text: str, /, *, at: Where = USUAL) -> None:
    """Set a run's note, which lists of runs show.

    Args:
        run: a run's id
        text: the note; an empty text removes it
    """
    from basic_control.tasks.store.history import write_note
    from basic_control.tasks.store.runs import find_by_name

    noted_run = find_by_name(run, at.find_runs_folder())
    write_note(noted_run.folder, text)
    show(f"{noted_run.name}: {text or 'no note'}")


def show_(run: Annotated[str, RUN], /, *, at: Where = USUAL) -> None:
    """Show a run: its models and suites, scores, commit, baseline and note.

    Args:
        run: a run's id
    """
    from basic_control.tasks.store.history import read_history
    from basic_control.tasks.store.runs import find_by_name

    runs = at.find_runs_folder()
    name = find_by_name(run, runs).name
    entry = next(entry for entry in read_history(runs) if entry.name == name)
    show(f"Run {entry.name}, {entry.started[:19]}: {entry.status}")
    for line in _scores(entry):
        show(f"  {line}")
    facts = {
        "suites": ", ".join(entry.suites),
        "name": entry.title,
        "ended with": _exit_code(entry),
        "commit": entry.commit,
        "baseline": entry.baseline,
        "note": entry.note,
    }
    for name, text in facts.items():
        if text:
            show(f"  {name}: {text}")


VERBS = (list_, note, show_)
