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

WIDTH = 80
"""Characters of a line where nobody says how many there are: in a file, a pipe, or a build's log."""
PAGE = 160
"""Characters of a line in a notebook, or in the message of a failed test."""


@cache
def _console() -> "Console":
    from rich.console import Console

    return Console(width=None if _is_width_known() else WIDTH)


def _is_width_known() -> bool:
    """Return whether a terminal or the environment says how wide a line is."""
    return sys.stdout.isatty() or bool(os.environ.get("COLUMNS"))


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


def show_screen(*parts: "RenderableType") -> None:
    """Print as `show`; where nobody says how wide a line is, lines break between words."""
    from basic_control.tasks.report.text import wrap_line

    for part in parts:
        # Markdown, of several lines, has its own.
        if isinstance(part, str) and "\n" not in part and not _is_width_known():
            show(*wrap_line(make_visible(part), WIDTH) or [""])
        else:
            show(part)


def text_of(*parts: "RenderableType") -> str:
    """Return what `show` prints, in lines of a page."""
    from rich.console import Console

    text = io.StringIO()
    # No terminal and no notebook, whatever the environment says.
    console = Console(file=text, width=PAGE, force_terminal=False, force_jupyter=False)
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
