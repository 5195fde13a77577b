"""The leaderboard over all runs of a store: `python -m flows.leaderboard`. Nothing is asked."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.offline import carry_out

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tasks.compare.leaderboard import Board, Entry, Leaderboard


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m flows.leaderboard",
        description="Rank the models of all finished runs. Only results on the same questions stand in one table; "
        "of each model the latest there.",
        epilog="Exit codes: 0 shown, 2 an error.",
    )
    parser.add_argument("--runs", metavar="FOLDER", help="where runs are (default: artifacts/runs)")
    parser.add_argument("--all", action="store_true", help="every run, not only each model's latest")
    parser.add_argument("--markdown", metavar="FILE", help="write the tables as Markdown as well")
    parser.add_argument("--csv", metavar="FILE", help="write all results as one CSV table as well")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Show the leaderboard from the command line and return the exit code."""
    given = arguments().parse_args(argv)

    def work() -> None:
        from config.settings import Store
        from tasks.compare.leaderboard import gather

        found = gather(Path(given.runs or Store().runs), every=given.all)
        _show(found)
        _write(found, given)

    return carry_out(work)


def _write(found: "Leaderboard", given: argparse.Namespace) -> None:
    from rich.console import Console
    from rich.text import Text

    written = []
    if given.markdown:
        from artifacts.store import write_atomically

        write_atomically(Path(given.markdown), markdown(found).encode("utf-8", "replace"))
        written.append(given.markdown)
    if given.csv:
        from tasks.compare.leaderboard import frame
        from tasks.report.exports import write_csv

        written.append(write_csv(frame(found), Path(given.csv)))
    for path in written:
        Console().print(Text(f"Written: {path}"), soft_wrap=True)


def _show(found: "Leaderboard") -> None:
    from rich.console import Console

    console = Console()
    for part in _parts(found):
        console.print(part)


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
        yield "There is no finished run here that can be read. Start one: python -m flows.full_eval"
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


def markdown(found: "Leaderboard") -> str:
    """Return the leaderboard as Markdown."""
    from tasks.report.text import plain, table

    lines = ["# Leaderboard", "", *(f"* {plain(line)}" for line in remarks(found))]
    for number, board in enumerate(found.boards, 1):
        lines += ["", f"## Questions {number}", "", *(f"* {plain(line)}" for line in board.asked.values()), ""]
        rows = [[plain(cell) for cell in row(board, rank, one)] for rank, one in enumerate(board.entries, 1)]
        lines += table(header(board), rows, left=2)
        lines += ["", *(f"* Not quite comparable: {plain(note)}." for note in board.notes)]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
