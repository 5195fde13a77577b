"""`leaderboard`: the models of all runs of a store, ranked."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from flows.cli.console import show, written
from flows.cli.options import Where

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tasks.compare.leaderboard import Leaderboard


def leaderboard(
    *,
    html: Annotated[str, Parameter(metavar="FILE")] = "",
    language: str = "",
    at: Where | None = None,
) -> None:
    """Rank the models of all finished runs.

    Only results on the same questions stand in one table; of each version of a model the latest there, and how it
    came to be over time where there are several. Nothing is asked.

    Args:
        html: write tables and trends as one HTML page as well
        language: of what is said, such as en or ru (default: that of the latest run's report)
    """
    from tasks.compare.leaderboard import gather
    from tasks.report import leaderboard as words
    from tasks.store.tables import write_atomically

    found = gather((at or Where()).existing_runs(), language=language)
    show(*_parts(found))
    if html:
        write_atomically(Path(html), words.page(found))
        written([html], found.language)


def _parts(found: "Leaderboard") -> Iterator["RenderableType"]:
    from rich.text import Text

    from data.characters import visible
    from tasks.report import leaderboard as words

    for line in words.remarks(found):
        yield Text(visible(line))
    for number, board in enumerate(found.boards, 1):
        yield Text(visible(words.heading(found, number, board)), style="bold")
        yield words.table(found, board).terminal(len(board.entries))
        for note in words.notes(found, board):
            yield Text(visible(note))
        if (over_time := words.trend_table(found, board)).rows:
            yield over_time.terminal(language=found.language)
