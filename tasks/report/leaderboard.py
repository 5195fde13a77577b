"""The leaderboard in words: remarks, the columns and rows of its boards, their scores over time, and its page."""

from collections.abc import Iterator
from functools import partial

from data.commands import typed
from data.suites import Suite
from prompts.phrases import phrase
from tasks.compare.configurations import flatten
from tasks.compare.leaderboard import Board, Leaderboard, LeaderboardEntry
from tasks.report.pages import still
from tasks.report.tables import Column, Table, column_maker
from tasks.report.text import estimated, listed, speaking

NAMED = 5
"""Unreadable runs that are named."""
LATEST = 12
"""Runs of a model shown over time."""


def heading(found: Leaderboard, number: int, board: Board) -> str:
    """Return which questions a board is about."""
    asked = "; ".join(questions(*one, found.language) for one in board.asked)
    several = len(found.boards) > 1
    return f"{phrase('leaderboard.questions', found.language, n=number)}: {asked}" if several else asked


def questions(suite: Suite, n: int | None, language: str) -> str:
    """Return which questions a suite asked: how many, from where."""
    told = []
    for path, value in flatten(dict(suite.source)):
        key = path.rpartition(".")[2]
        if key in {"n_items", "n"} or value in (None, "", {}, [], ()):
            continue
        if (key, value) == ("method", "all"):
            told.append(phrase("leaderboard.all", language))
        elif key == "seed":
            told.append(phrase("leaderboard.seed", language, n=value))
        else:
            told.append(", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
    counted = "?" if n is None else n
    return phrase("leaderboard.asked", language, suite=suite.name, n=counted, what="; ".join(told))


def remarks(found: Leaderboard) -> Iterator[str]:
    """Yield remarks on all results."""
    language = found.language
    if len(found.boards) > 1:
        yield phrase("leaderboard.several", language, n=len(found.boards))
    elif found.boards:
        yield phrase("leaderboard.one", language)
    else:
        yield phrase("leaderboard.none", language, command=typed("run"))
    if found.unfinished:
        yield phrase("leaderboard.unfinished", language, names=listed(found.unfinished, language))
    for name, why in found.unread[:NAMED]:
        yield phrase("leaderboard.unread", language, name=name, why=why[:200])
    if (more := len(found.unread) - NAMED) > 0:
        yield phrase("leaderboard.more_unread", language, n=more)


def notes(found: Leaderboard, board: Board) -> Iterator[str]:
    """Yield other possible reasons for differences between a board's scores."""
    for key, values in board.differing.items():
        yield phrase("leaderboard.differs", found.language, key=key, values=" / ".join(values))


def table(found: Leaderboard, board: Board) -> Table:
    """Return a board, the best first."""
    language, suites = found.language, [*board.entries[0].suites]
    column = column_maker("leaderboard", language)
    judged = any(one.judges for one in board.entries)

    def score(row: tuple[int, LeaderboardEntry], suite: str) -> str:
        part = row[1].suites[suite]
        return estimated(part["score"], part["interval"]["low"], part["interval"]["high"], part["threshold"])

    def verdict(row: tuple[int, LeaderboardEntry]) -> str:
        return phrase(f"common.{row[1].verdict}", language).lower() if row[1].verdict else ""

    return Table.of(
        enumerate(board.entries, 1),
        column("rank", lambda row: str(row[0]), numeric=True),
        column("model", lambda row: row[1].model),
        column("overall", lambda row: _overall(row[1]), numeric=True),
        *(Column(name, partial(score, suite=name), numeric=True) for name in suites if len(suites) > 1),
        column("scored", lambda row: " / ".join(map(str, row[1].n)), numeric=True),
        column("verdict", verdict),
        *([column("judge", lambda row: ", ".join(row[1].judges))] if judged else []),
        column("date", lambda row: f"{row[1].started:%Y-%m-%d %H:%M}", numeric=True, unbroken=True),
        column("run", lambda row: row[1].run, unbroken=True),
    )


def _overall(entry: LeaderboardEntry) -> str:
    return estimated(entry.score, entry.low, entry.high, entry.threshold)


def trend_table(found: Leaderboard, board: Board) -> Table:
    """Return the latest runs of each trend of a board: one row per run, oldest first."""
    trends = board.trends()
    column = column_maker("leaderboard", found.language)
    more = sum(max(0, len(own) - LATEST) for own in trends.values())
    earlier = [phrase("leaderboard.earlier", found.language, n=more)] if more else []
    return Table.of(
        ((n, model, one) for model, own in trends.items() for n, one in enumerate(own[-LATEST:])),
        column("model", lambda row: row[1] if not row[0] else ""),
        column("date", lambda row: f"{row[2].started:%Y-%m-%d}", unbroken=True),
        column("overall", lambda row: _overall(row[2])),
        column("run", lambda row: row[2].run, unbroken=True),
        title=phrase("leaderboard.trends", found.language),
        caption=" ".join([phrase("leaderboard.trends_note", found.language), *earlier]),
    )


def _drawn(board: Board) -> Iterator[tuple[str, list[tuple[str, float]]]]:
    """Yield the lines of a board's trends: a model with the dates and scores of its latest runs, oldest first."""
    for model, own in board.trends().items():
        scores = [(f"{one.started:%Y-%m-%d}", one.score) for one in own[-LATEST:] if one.score is not None]
        if len(scores) > 1:
            yield model, scores


@speaking(lambda found: found.language)
def page(found: Leaderboard) -> str:
    """Return the whole leaderboard as one page: no script, no network; names are escaped."""
    return still(
        "leaderboard.html.j2",
        section="leaderboard",
        language=found.language,
        remarks=[*remarks(found)],
        boards=[
            {
                "head": phrase("leaderboard.questions", found.language, n=number),
                "asked": [questions(*one, found.language) for one in board.asked],
                "table": table(found, board),
                "notes": [*notes(found, board)],
                "trends": trend_table(found, board),
                "drawn": [*_drawn(board)],
            }
            for number, board in enumerate(found.boards, 1)
        ],
    )
