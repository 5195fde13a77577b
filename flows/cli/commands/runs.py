"""The history of runs: list them, set a run's note, show one."""

from typing import Annotated

from cyclopts import Parameter

from flows.cli.console import show
from flows.cli.options import RUN, USUAL, Where


def list_(*, model: str = "", n: Annotated[int, Parameter(metavar="N")] = 50, at: Where = USUAL) -> None:
    """List runs, the newest first.

    Args:
        model: only those of this model
        n: maximum number of runs
    """
    from tasks.report.text import percent
    from tasks.store.history import history

    runs = [run for run in history(at.existing_runs()) if not model or model in run.models]
    for run in runs[:n]:
        scores = ", ".join(f"{name} {percent(target.score)}" for name, target in run.targets.items())
        code = "" if run.exit_code is None else f"  exit {run.exit_code}"
        note = f"  {run.note}" if run.note else ""
        title = f"  {run.title}" if run.title else ""
        outcome = f"{run.started[:16]}  {run.status}{code}  {scores}"
        show(f"{run.name}{title}  {outcome}  [{', '.join(run.suites)}]{note}")
    if len(runs) > n:
        show(f"{len(runs) - n} more: --n N shows them.")
    if not runs:
        show("No matching run.")


def note(run: Annotated[str, RUN], text: str, /, *, at: Where = USUAL) -> None:
    """Set a run's note, which lists of runs show.

    Args:
        run: a run's id
        text: the note; an empty text removes it
    """
    from tasks.store.history import write_note
    from tasks.store.runs import named

    write_note(named(run, at.existing_runs()).folder, text)
    show(f"{run}: {text or 'no note'}")


def show_(run: Annotated[str, RUN], /, *, at: Where = USUAL) -> None:
    """Show a run: its models and suites, scores, commit, baseline and note.

    Args:
        run: a run's id
    """
    from tasks.report.text import percent
    from tasks.store.history import history
    from tasks.store.runs import named

    named(run, runs := at.existing_runs())
    entry = next(entry for entry in history(runs) if entry.name == run)
    title = f" ({entry.title})" if entry.title else ""
    show(f"Run {entry.name}{title}, {entry.started[:19]}: {entry.status}")
    show(f"  suites: {', '.join(entry.suites)}")
    for name, target in entry.targets.items():
        show(f"  {name}: {percent(target.score)}")
    facts = {
        "exit code": "" if entry.exit_code is None else str(entry.exit_code),
        "commit": entry.commit,
        "baseline": entry.baseline,
        "note": entry.note,
    }
    for name, text in facts.items():
        if text:
            show(f"  {name}: {text}")


VERBS = (list_, note, show_)
