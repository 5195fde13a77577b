"""The command line's two voices: what it was asked for on stdout, everything else on stderr."""

import logging
import os
import sys
from functools import cache
from typing import TYPE_CHECKING

from data.characters import visible
from tasks.runtime.logs import event, structured

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.text import Text

WIDTH = 160
"""Characters of a line where nobody says how many there are."""


@cache
def _console() -> "Console":
    from rich.console import Console

    class Heard(Console):
        """A console whose reader may have read enough, such as `head`: the command's result stays as it is."""

        def on_broken_pipe(self) -> None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    # A file or a pipe has no width; a table is not to be broken for it.
    return Heard(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH)


class _Visible:
    """Something of rich's in whose text no character of others' acts on the terminal."""

    def __init__(self, part: "RenderableType") -> None:
        self._part = part

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.segment import Segment

        for segment in console.render(self._part, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def prose(text: str, style: str = "") -> "Text":
    """Return a text to be wrapped at words, whoever wrote what stands there."""
    from rich.text import Text

    return Text(visible(text), style=style)


def show(*parts: "RenderableType") -> None:
    """Print lines, to be wrapped by the terminal alone, and what rich lays out, whoever wrote what stands there."""
    for part in parts:
        line = isinstance(part, str)  # which is no markup, whatever stands in it
        _console().print(_Visible(prose(part) if isinstance(part, str) else part), soft_wrap=line)


def room() -> tuple[int, bool]:
    """Return how many characters a line has, and whether that is a terminal's: a file has room for any."""
    return _console().width, sys.stdout.isatty()


def written(paths: "Iterable[object]", language: str = "en") -> None:
    """Say which files were written."""
    from prompts.phrases import phrase

    show(*(phrase("screen.written", language, path=path) for path in paths))


def say(message: str, *, level: int = logging.INFO) -> None:
    """Say something on stderr, as a JSON line where those are asked for."""
    if structured():
        event("message", level=level, message=message)
    else:
        print(visible(message), file=sys.stderr)  # noqa: T201 - the command line's voice


def complain(message: str) -> None:
    """Say what is wrong."""
    say(f"error: {message}", level=logging.ERROR)
