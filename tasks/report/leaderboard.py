"""The leaderboard in words: remarks, the columns and rows of its boards, and all of it as Markdown."""

from collections.abc import Iterator, Mapping
from typing import Any

from data.commands import typed
from data.exits import OUTCOMES
from prompts.phrases import phrase
from tasks.compare.leaderboard import Board, Leaderboard, LeaderboardEntry
from tasks.compare.trends import trends
from tasks.report.pages import still
from tasks.report.tables import Column, Table
from tasks.report.text import estimated, plain
from tasks.report.trends import EDGE, HEIGHT, LEFT, WIDTH, pictures
from tasks.report.trends import table as trend_table

NAMED = 5
"""Runs that are named where a remark is about many."""

WORDS = frozenset({"model", "verdict", "judge", "run"})
"""Columns of texts; the others hold numbers."""

WHOLE = frozenset({"date", "run"})
"""Columns whose texts are never folded."""


def heading(found: Leaderboard, number: int, board: Board) -> str:
    """Say which questions a board is about."""
    asked = "; ".join(one.said(found.language) for one in board.asked)
    several = len(found.boards) > 1
    return f"{phrase('leaderboard.questions', found.language, n=number)}: {asked}" if several else asked


def remarks(found: Leaderboard) -> Iterator[str]:
    """Yield what is to be known of all results."""
    language = found.language
    if len(found.boards) > 1:
        yield phrase("leaderboard.several", language, n=len(found.boards))
    elif found.boards:
        yield phrase("leaderboard.one", language)
    else:
        yield phrase("leaderboard.none", language, command=typed("run"))
    if found.unfinished:
        names = ", ".join(found.unfinished[:NAMED])
        more = len(found.unfinished) - NAMED
        names = phrase("leaderboard.more", language, names=names, n=more) if more > 0 else names
        yield phrase("leaderboard.unfinished", language, names=names)
    for name, why in found.unread[:NAMED]:
        yield phrase("leaderboard.unread", language, name=name, why=why[:200])
    if (more := len(found.unread) - NAMED) > 0:
        yield phrase("leaderboard.more_unread", language, n=more)


def notes(found: Leaderboard, board: Board) -> Iterator[str]:
    """Yield by what else the scores of a board may differ."""
    for key, values in board.differing.items():
        said = phrase("leaderboard.differs", found.language, key=key, values=" / ".join(values))
        yield phrase("leaderboard.not_comparable", found.language, note=said)


def columns(board: Board) -> list[tuple[str, str]]:
    """Return the columns of a board: ('suite', its name), or the name of a column and ''."""
    suites = [("suite", name) for name in board.entries[0].suites]
    judges = [("judge", "")] if any(one.judges for one in board.entries) else []
    first, then = ("rank", "model", "overall"), ("scored", "verdict")
    return [
        *((name, "") for name in first),
        *(suites if len(suites) > 1 else ()),
        *((name, "") for name in then),
        *judges,
        ("date", ""),
        ("run", ""),
    ]


def table(found: Leaderboard, board: Board) -> Table:
    """Return a board, the best first."""
    heads = [
        Column(suite or phrase(f"leaderboard.{name}", found.language), name not in WORDS, name in WHOLE)
        for name, suite in columns(board)
    ]
    return Table(heads, [_row(found, board, rank, one) for rank, one in enumerate(board.entries, 1)])


def _row(found: Leaderboard, board: Board, rank: int, one: LeaderboardEntry) -> list[str]:
    scored, asked = one.n
    cells = {
        "rank": str(rank),
        "model": one.model,
        "overall": estimated(one.score, one.low, one.high),
        "scored": f"{scored} / {asked}",
        "verdict": phrase(f"common.{one.verdict}", found.language).lower()
        if one.verdict in OUTCOMES
        else one.verdict,
        "judge": ", ".join(one.judges),
        "date": f"{one.started:%Y-%m-%d %H:%M}",
        "run": one.run,
    }
    return [_score(one.suites[suite]) if suite else cells[name] for name, suite in columns(board)]


def _score(part: Mapping[str, Any]) -> str:
    return estimated(part["score"], part["interval"]["low"], part["interval"]["high"])


def page(found: Leaderboard) -> str:
    """Return the whole leaderboard as one page: no script, no network; names are escaped."""
    return still(
        "leaderboard.html.j2",
        t=lambda name, **values: phrase(f"leaderboard.{name}", found.language, **values),
        language=found.language,
        remarks=[*remarks(found)],
        boards=[
            {
                "head": phrase("leaderboard.questions", found.language, n=number),
                "asked": [one.said(found.language) for one in board.asked],
                "table": table(found, board),
                "notes": [*notes(found, board)],
                "trends": pictures(trends(board)),
            }
            for number, board in enumerate(found.boards, 1)
        ],
        width=WIDTH,
        height=HEIGHT,
        edge=EDGE,
        left=LEFT,
    )


def markdown(found: Leaderboard) -> str:
    """Return the leaderboard as Markdown."""
    lines = [
        f"# {phrase('leaderboard.title', found.language)}",
        "",
        *(f"* {plain(line)}" for line in remarks(found)),
    ]
    for number, board in enumerate(found.boards, 1):
        lines += ["", f"## {phrase('leaderboard.questions', found.language, n=number)}", ""]
        lines += [*(f"* {plain(one.said(found.language))}" for one in board.asked), ""]
        lines += table(found, board).markdown()
        lines += ["", *(f"* {plain(note)}" for note in notes(found, board))]
        if listed := trends(board):
            over_time = trend_table(found, listed)
            lines += ["", f"### {over_time.title}", "", *over_time.markdown(), "", plain(over_time.caption)]
    return "\n".join(lines).rstrip() + "\n"
