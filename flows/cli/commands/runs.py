"""The history of runs: list them, tag them, show one."""

from typing import Annotated

from cyclopts import Parameter

from flows.cli.console import show
from flows.cli.options import RUN, USUAL, Where


def list_(
    *, tag: str = "", model: str = "", n: Annotated[int, Parameter(metavar="N")] = 50, at: Where = USUAL
) -> None:
    """List runs, the newest first.

    Args:
        tag: only those with this tag
        model: only those of this model
        n: maximum number of runs
    """
    from tasks.report.text import percent
    from tasks.store.history import history

    found = [
        one
        for one in history(at.existing_runs())
        if (not tag or tag in one.tags) and (not model or model in one.models)
    ]
    for one in found[:n]:
        scores = ", ".join(f"{name} {percent(score)}" for name, score in one.scored.items())
        code = "" if one.exit_code is None else f"  exit {one.exit_code}"
        tags = "".join(f"  #{name}" for name in one.tags)
        note = f"  {one.note}" if one.note else ""
        named = f"{one.name}  {one.title}" if one.title else one.name
        outcome = f"{one.started[:16]}  {one.status}{code}  {scores}"
        show(f"{named}  {outcome}  [{', '.join(one.suites)}]{tags}{note}")
    if len(found) > n:
        show(f"{len(found) - n} more: --n N shows them.")
    if not found:
        show("No matching run.")


def tag(
    run: Annotated[str, RUN],
    /,
    *tags: Annotated[str, Parameter(metavar="TAG")],
    remove: tuple[str, ...] = (),
    note: str | None = None,
    at: Where = USUAL,
) -> None:
    """Tag a run, or set its note.

    Args:
        run: a run's id
        tags: the tags to add
        remove: a tag to remove; may be repeated
        note: the note; an empty text removes it
    """
    from tasks.store.history import label
    from tasks.store.runs import named

    kept = label(named(run, at.existing_runs()).folder, tags, remove, note)
    show("; ".join(filter(None, (f"{run}: {', '.join(kept['tags']) or 'no tags'}", kept["note"]))))


def show_(run: Annotated[str, RUN], /, *, at: Where = USUAL) -> None:
    """Show a run: its models and suites, scores, commit, baseline, tags and note.

    Args:
        run: a run's id
    """
    from tasks.report.text import percent
    from tasks.store.history import history
    from tasks.store.runs import named

    named(run, there := at.existing_runs())
    one = next(entry for entry in history(there) if entry.name == run)
    called = f" ({one.title})" if one.title else ""
    show(f"Run {one.name}{called}, {one.started[:19]}: {one.status}")
    show(f"  suites: {', '.join(one.suites)}")
    for name, score in one.scored.items():
        show(f"  {name}: {percent(score)}")
    told = {
        "exit code": "" if one.exit_code is None else str(one.exit_code),
        "commit": one.commit,
        "baseline": one.baseline,
        "tags": ", ".join(one.tags),
        "note": one.note,
    }
    for name, text in told.items():
        if text:
            show(f"  {name}: {text}")


VERBS = (list_, tag, show_)
