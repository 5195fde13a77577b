"""The one error that a user is meant to read."""

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(Exception):
    """Report bad input in one message: what was found, what was expected, where, what to do.

    The command line prints the message and exits with 2; it never shows a traceback for it.
    """


class Stopped(Exception):  # noqa: N818 - said of a run
    """The run was stopped; everything answered so far is kept."""


def nearest(name: str, there: Iterable[str]) -> str:
    """Return the question whether another name was meant, to stand behind a message; '' where none is like it."""
    near = get_close_matches(name, [*there], n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def plural(number: int, noun: str) -> str:
    """Return a number with its English noun."""
    several = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else several}".replace(",", " ")
