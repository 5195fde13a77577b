"""Trends in words and pictures: scores with their intervals over time, for a terminal, Markdown and a page."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from prompts.phrases import phrase
from tasks.compare.leaderboard import Leaderboard, LeaderboardEntry
from tasks.compare.trends import Trend, span
from tasks.report.tables import Column, Table, column_maker
from tasks.report.text import estimated

CELLS = 17
"""Characters of a drawn interval."""
LATEST = 12
"""Runs of a model that a terminal and Markdown show; the page has all."""
WIDTH, HEIGHT, EDGE, LEFT = 680, 120, 10, 44
"""Of a picture, in its own units; `LEFT` of its points, where the ends of the axis are told."""


def table(found: Leaderboard, listed: Sequence[Trend]) -> Table:
    """Return the latest runs of each trend as a table: a row a run, oldest first, its interval drawn."""
    low, high = span([*listed])
    axis = f"{100 * low:.0f} – {100 * high:.0f}%"
    column = column_maker("leaderboard", found.language)
    return Table.of(
        ((n, trend, one) for trend in listed for n, one in enumerate(trend.entries[-LATEST:])),
        column("model", lambda row: row[1].model if not row[0] else ""),
        column("date", lambda row: f"{row[2].started:%Y-%m-%d}", unbroken=True),
        column("overall", lambda row: _score(row[2])),
        Column(axis, lambda row: drawn(row[2], low, high), unbroken=True),
        column("run", lambda row: row[2].run, unbroken=True),
        title=phrase("leaderboard.trends", found.language),
        caption=notes(found, listed),
    )


def notes(found: Leaderboard, listed: Sequence[Trend]) -> str:
    """Say what the intervals are, and how many runs are not shown."""
    more = sum(max(0, len(trend.entries) - LATEST) for trend in listed)
    earlier = [phrase("leaderboard.earlier", found.language, n=more)] if more else []
    return " ".join([phrase("leaderboard.trends_note", found.language), *earlier])


def drawn(one: LeaderboardEntry, low: float, high: float) -> str:
    """Draw a score between two ends in characters, `├──●──┤`; dots where nothing is."""

    def at(value: float) -> int:
        return round((value - low) / (high - low) * (CELLS - 1))

    cells = ["·"] * CELLS
    if one.score is None:
        return "".join(cells)
    if one.low is not None and one.high is not None:
        first, last = at(one.low), at(one.high)
        cells[first : last + 1] = "─" * (last + 1 - first)
        cells[first], cells[last] = "├", "┤"
    cells[at(one.score)] = "●"
    return "".join(cells)


def _score(one: LeaderboardEntry) -> str:
    return estimated(one.score, one.low, one.high)


def picture(trend: Trend, low: float, high: float) -> Iterator[Mapping[str, Any]]:
    """Yield where a trend's runs are drawn, by their time, and what they came to.

    `x`, and `y`, `top` and `bottom` of the score and the ends of its interval, None where there is none; `suites`
    are their scores, where there are several.
    """
    times = [one.started.timestamp() for one in trend.entries]
    wide = (times[-1] - times[0]) or 1.0

    def height(value: float | None) -> float | None:
        if value is None:
            return None
        return round(EDGE + (HEIGHT - 2 * EDGE) * (1 - (value - low) / (high - low)), 1)

    for one, time in zip(trend.entries, times, strict=True):
        yield {
            "x": round(LEFT + (WIDTH - LEFT - EDGE) * (time - times[0]) / wide, 1),
            "y": height(one.score),
            "top": height(one.high),
            "bottom": height(one.low),
            "date": f"{one.started:%Y-%m-%d %H:%M}",
            "score": _score(one),
            "suites": _suites(one),
            "run": one.run,
        }


def _suites(one: LeaderboardEntry) -> dict[str, str]:
    if len(one.suites) == 1:
        return {}
    ends = {
        name: (part["score"], part["interval"]["low"], part["interval"]["high"])
        for name, part in one.suites.items()
    }
    return {name: estimated(*three) for name, three in ends.items()}


def pictures(listed: list[Trend]) -> list[Mapping[str, Any]]:
    """Return each trend as it is drawn: its points, and the ends of the axis."""
    low, high = span(listed)
    draw = partial(picture, low=low, high=high)
    axis = {"low": f"{100 * low:.0f}%", "high": f"{100 * high:.0f}%"}
    return [{"model": one.model, "points": [*draw(one)], **axis} for one in listed]
