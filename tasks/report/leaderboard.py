"""The leaderboard in words: remarks, the columns and rows of its boards, and all of it as Markdown."""

from collections.abc import Iterator
from functools import partial

from data.commands import typed
from data.exits import OUTCOMES
from prompts.phrases import phrase
from tasks.compare.leaderboard import Board, Leaderboard, LeaderboardEntry
from tasks.compare.trends import trends
from tasks.report.pages import still
from tasks.report.tables import Column, Table, column_maker
from tasks.report.text import estimated, plain, speaking
from tasks.report.trends import EDGE, HEIGHT, LEFT, WIDTH, pictures
from tasks.report.trends import table as trend_table

NAMED = 5
"""Runs that are named where a remark is about many."""


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


def table(found: Leaderboard, board: Board) -> Table:
    """Return a board, the best first."""
    language, suites = found.language, [*board.entries[0].suites]
    column = column_maker("leaderboard", language)
    judged = any(one.judges for one in board.entries)
    return Table.of(
        enumerate(board.entries, 1),
        column("rank", lambda row: str(row[0]), numeric=True),
        column("model", lambda row: row[1].model),
        column("overall", lambda row: estimated(row[1].score, row[1].low, row[1].high), numeric=True),
        *(Column(name, partial(_score, name), numeric=True) for name in suites if len(suites) > 1),
        column("scored", lambda row: " / ".join(map(str, row[1].n)), numeric=True),
        column("verdict", lambda row: _verdict(language, row[1])),
        *([column("judge", lambda row: ", ".join(row[1].judges))] if judged else []),
        column("date", lambda row: f"{row[1].started:%Y-%m-%d %H:%M}", numeric=True, unbroken=True),
        column("run", lambda row: row[1].run, unbroken=True),
    )


def _verdict(language: str, one: LeaderboardEntry) -> str:
    return phrase(f"common.{one.verdict}", language).lower() if one.verdict in OUTCOMES else one.verdict


def _score(suite: str, row: tuple[int, LeaderboardEntry]) -> str:
    part = row[1].suites[suite]
    return estimated(part["score"], part["interval"]["low"], part["interval"]["high"])


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


@speaking(lambda found: found.language)
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
