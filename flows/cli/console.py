"""The command line's output: results on stdout, everything else on stderr."""

import io
import logging
import os
import sys
from functools import cache
from typing import TYPE_CHECKING

from basic_control.data.characters import make_visible
from basic_control.tasks.runtime.logs import is_structured, log_event

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.text import Text

WIDTH = 160
"""Characters of a line if the width is unknown."""


@cache
def _console() -> "Console":
    from rich.console import Console

    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return Console()
    # A file or a pipe has no width; do not break tables for it.
    return Console(width=WIDTH)


class _Visible:
    """A rich renderable whose text cannot send control characters to the terminal."""

    def __init__(self, part: "RenderableType") -> None:
        self._part = part

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.segment import Segment

        for segment in console.render(self._part, options):
            yield segment if segment.control else Segment(make_visible(segment.text), segment.style)


def prose(text: str, style: str = "") -> "Text":
    """Return a text that wraps at words, with control characters made visible."""
    from rich.text import Text

    return Text(make_visible(text), style=style)


def show(*parts: "RenderableType") -> None:
    """Print lines, wrapped only by the terminal, and rich renderables, with control characters made visible."""
    for part in parts:
        _print_part(_console(), part)


def text_of(*parts: "RenderableType") -> str:
    """Return what `show` would print into a file."""
    from rich.console import Console

    text = io.StringIO()
    # No terminal and no notebook, whatever the environment says.
    console = Console(file=text, width=WIDTH, force_terminal=False, force_jupyter=False)
    for part in parts:
        _print_part(console, part)
    return text.getvalue()


def _print_part(console: "Console", part: "RenderableType") -> None:
    """Print a line, which is plain text and never markup, or a renderable; what may not wrap is not cropped."""
    if isinstance(part, str):
        console.print(_Visible(prose(part)), soft_wrap=True)
    else:
        console.print(_Visible(part), soft_wrap=bool(getattr(part, "no_wrap", False)))


def room() -> tuple[int, bool]:
    """Return the characters of a line, and whether stdout is a terminal (a file has room for any number)."""
    return _console().width, sys.stdout.isatty()


def show_written(paths: "Iterable[object]", language: str = "en") -> None:
    """Print which files were written."""
    from basic_control.prompts.phrases import phrase

    show(*(phrase("screen.written", language, path=path) for path in paths))


def say(message: str, *, level: int = logging.INFO) -> None:
    """Print a message on stderr, as a JSON line if those are requested."""
    if is_structured():
        log_event("message", level=level, message=message)
    else:
        print(make_visible(message), file=sys.stderr)  # noqa: T201 - the command line's voice


def complain(message: str) -> None:
    """Print an error message."""
    say(f"error: {message}", level=logging.ERROR)
