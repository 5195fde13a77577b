"""The progress display of a run at a terminal."""

from typing import TYPE_CHECKING, Any

from data.characters import visible

if TYPE_CHECKING:
    from data.records import Cell
    from tasks.models.scheduler import Tally


def progress() -> Any:
    """Return a progress display, fed from the asking thread."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from tasks.query import watch

    display = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn(
            "{task.fields[rate]:.1f} calls/s · cached {task.fields[cached]} · failed {task.fields[failed]} · "
            "{task.fields[tokens]} tokens"
        ),
        transient=False,
    )
    bars: dict[str, Any] = {}

    def show(cell: "Cell", tally: "Tally") -> None:
        label = visible(cell)
        if label not in bars or display.tasks[bars[label]].total != tally.total:
            bars[label] = display.add_task(label, total=tally.total, rate=0.0, cached=0, failed=0, tokens=0)
        span = tally.last_s - tally.first_s
        display.update(
            bars[label],
            completed=tally.done,
            rate=tally.answered / span if span > 0 else 0.0,
            cached=tally.cached,
            failed=tally.failed,
            tokens=tally.tokens_in + tally.tokens_out,
        )

    watch(show)
    return display
