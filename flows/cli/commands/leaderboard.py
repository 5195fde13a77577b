"""`leaderboard`: the models of all runs of a store, ranked."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from data.commands import typed
from flows.cli.console import show, written

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tasks.compare.leaderboard import Board, Entry, Leaderboard


def leaderboard(
    *,
    runs: Annotated[str, Parameter(metavar="FOLDER")] = "",
    every: Annotated[bool, Parameter(name="--all")] = False,
    markdown: Annotated[str, Parameter(metavar="FILE")] = "",
    csv: Annotated[str, Parameter(metavar="FILE")] = "",
) -> None:
    """Rank the models of all finished runs.

    Only results on the same questions stand in one table; of each model the latest there. Nothing is asked.

    Args:
        runs: where runs are (default: artifacts/runs)
        every: every run, not only each model's latest
        markdown: write the tables as Markdown as well
        csv: write all results as one CSV table as well
    """
    from artifacts.store import write_atomically
    from config.settings import Store
    from tasks.compare.leaderboard import frame, gather
    from tasks.report.exports import write_csv

    found = gather(Path(runs or Store().runs), every=every)
    show(*_parts(found))
    if markdown:
        write_atomically(Path(markdown), as_markdown(found).encode("utf-8", "replace"))
        written([markdown])
    if csv:
        written([write_csv(frame(found), Path(csv))])


def _parts(found: "Leaderboard") -> Iterator["RenderableType"]:
    from rich.text import Text

    from tasks.report.text import visible

    for line in remarks(found):
        yield Text(visible(line))
    for number, board in enumerate(found.boards, 1):
        heading = f"Questions {number}: " if len(found.boards) > 1 else ""
        yield Text(visible(heading + "; ".join(board.asked.values())), style="bold")
        yield _table(board)
        for note in board.notes:
            yield Text(visible(f"Not quite comparable: {note}."))


def remarks(found: "Leaderboard") -> Iterator[str]:
    """Yield what is to be known of all results."""
    if len(found.boards) > 1:
        yield (
            f"The runs asked {len(found.boards)} different sets of questions. Only results within one table can be "
            "compared."
        )
    elif found.boards:
        yield "All results are on the same questions."
    else:
        yield f"There is no finished run here that can be read. Start one: {typed('run')}"
    if found.unfinished:
        yield f"Not finished: {_few(found.unfinished)}."
    for name, why in found.unread[:5]:
        yield f"Cannot be read: {name}: {why[:200]}"
    if len(found.unread) > 5:  # noqa: PLR2004 - those shown above
        yield f"… and {len(found.unread) - 5} more that cannot be read."


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""  # noqa: PLR2004 - enough to start with
    return ", ".join(names[:5]) + more


def header(board: "Board") -> list[str]:
    """Return the columns of a board."""
    suites = list(board.entries[0].suites)
    shown = suites if len(suites) > 1 else []
    judges = ["judge"] if any(one.judges for one in board.entries) else []
    return ["#", "model", "overall", *shown, "scored / asked", "verdict", *judges, "date", "run"]


def row(board: "Board", rank: int, one: "Entry") -> list[str]:
    """Return a standing's row under `header`."""
    overall = score({"score": one.score, "interval": {"low": one.low, "high": one.high}})
    suites = [score(suite) for suite in one.suites.values()] if len(one.suites) > 1 else []
    judges = [", ".join(one.judges)] if any(other.judges for other in board.entries) else []
    scored, asked = one.n
    date = f"{one.started:%Y-%m-%d %H:%M}"
    return [str(rank), one.model, overall, *suites, f"{scored} / {asked}", one.verdict, *judges, date, one.run]


def score(part: Mapping[str, Any]) -> str:
    """Write a score with its interval."""
    from tasks.report.text import percent

    low, high = part["interval"]["low"], part["interval"]["high"]
    return percent(part["score"]) + (f" ({percent(low)} – {percent(high)})" if low is not None else "")


def _table(board: "Board") -> "RenderableType":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from tasks.report.text import visible

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    names = header(board)
    for name in names:
        words = {"model", "verdict", "judge", "run"}
        whole = name in {"date", "run"}
        table.add_column(name, justify="left" if name in words else "right", overflow="fold", no_wrap=whole)
    for rank, one in enumerate(board.entries, 1):
        table.add_row(*(Text(visible(cell)) for cell in row(board, rank, one)))
    return table


def as_markdown(found: "Leaderboard") -> str:
    """Return the leaderboard as Markdown."""
    from tasks.report.text import plain, table

    lines = ["# Leaderboard", "", *(f"* {plain(line)}" for line in remarks(found))]
    for number, board in enumerate(found.boards, 1):
        lines += ["", f"## Questions {number}", "", *(f"* {plain(line)}" for line in board.asked.values()), ""]
        rows = [[plain(cell) for cell in row(board, rank, one)] for rank, one in enumerate(board.entries, 1)]
        lines += table(header(board), rows, left=2)
        lines += ["", *(f"* Not quite comparable: {plain(note)}." for note in board.notes)]
    return "\n".join(lines).rstrip() + "\n"
