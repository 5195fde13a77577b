"""The error for users."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

_HIGHEST = 3
"""Folders above this one in which a relative path is tried."""


class InputError(Exception):
    """Bad input: the message says what was found, what was expected, where, and what to do.

    The command line prints the message and exits with 2, without a traceback.
    """


class Stopped(Exception):  # noqa: N818 - said of a run
    """The run was stopped; everything answered so far is kept."""


class RaisedError(Exception):
    """What a user's function raised elsewhere, as text."""


class ReturnedError(Exception):
    """A user's function returned something else than it must; the text says what, and what is expected."""


def quote_first(texts: Sequence[str], count: int = 3, limit: int = 60) -> str:
    """Return the first `count` of some texts in quotation marks, each on one line and cut to `limit` characters."""
    lines = [" ".join(text.split()) for text in texts[:count]]
    return ", ".join(f"'{line[:limit]}{'…' * (len(line) > limit)}'" for line in lines)


def propose_name(name: str, names: Iterable[object]) -> str:
    """Return a 'did you mean' question to append to a message; '' if no name, of keys or columns, is similar."""
    for similar in get_close_matches(name, [*map(str, names)], n=1):
        return f" Did you mean {similar!r}?"
    return ""


def find_folder_above(path: Path) -> Path | None:
    """Return the nearest folder above this one from which a relative path leads to a file, or None."""
    if path.is_absolute():
        return None
    for folder in islice(Path.cwd().parents, _HIGHEST):
        if (folder / path).is_file():
            return folder
    return None


def plural(number: int, noun: str) -> str:
    """Return a number with its English noun."""
    if number != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun}".replace(",", " ")
