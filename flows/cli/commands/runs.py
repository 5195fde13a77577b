"""The history of runs: list them, set a run's note."""

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


VERBS = (list_, note)
