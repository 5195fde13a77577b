"""The error for users."""

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(Exception):
    """Bad input: the message says what was found, what was expected, where, and what to do.

    The command line prints the message and exits with 2, without a traceback.
    """


class Stopped(Exception):  # noqa: N818 - said of a run
    """The run was stopped; everything answered so far is kept."""


def nearest(name: str, there: Iterable[str]) -> str:
    """Return a 'did you mean' question to append to a message; '' if no name is similar."""
    near = get_close_matches(name, [*there], n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def plural(number: int, noun: str) -> str:
    """Return a number with its English noun."""
    several = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else several}".replace(",", " ")
