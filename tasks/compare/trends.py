"""Trends: the scores of one version of a model on the same questions over time, oldest first."""

from collections.abc import Iterator
from dataclasses import dataclass

from tasks.compare.leaderboard import Board, LeaderboardEntry


@dataclass(frozen=True, slots=True)
class Trend:
    """The runs of one version of a model on a board's questions, at least two, oldest first.

    `model` is named as on the board: with its version where the name has stood for several. Each score has the
    interval of its own run, pointwise: no difference between two of them is concluded from these.
    """

    model: str
    entries: tuple[LeaderboardEntry, ...]


def trends(board: Board) -> list[Trend]:
    """Return the trends of a board, the models best first as they stand there; none of what ran once."""
    found: dict[str, list[LeaderboardEntry]] = {one.model: [] for one in board.entries}
    for one in board.history:
        found.setdefault(one.model, []).append(one)
    return [
        Trend(model, tuple(sorted(own, key=lambda one: (one.started, one.run))))
        for model, own in found.items()
        if len(own) > 1
    ]


def span(listed: list[Trend]) -> tuple[float, float]:
    """Return the ends of the scores and their intervals that trends show, within which they are drawn."""
    ends = [value for trend in listed for one in trend.entries for value in _ends(one)]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    return (low, high) if high > low else (max(0.0, low - 0.05), min(1.0, high + 0.05))


def _ends(one: LeaderboardEntry) -> Iterator[float]:
    yield from (value for value in (one.low, one.score, one.high) if value is not None)
