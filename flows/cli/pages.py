"""The pages of --help, kept beside the bytecode: what lays one out takes longer to import than anything else does.

A page is printed as it was the last time while the sources of the command line, the terminal's width and whether it
has colours are what they were. Where Python may not write bytecode, nothing is kept.
"""

import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout, suppress
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

HELP = frozenset({"-h", "--help"})
_HERE = Path(__file__).parent
_SOURCES = (_HERE, _HERE / "commands", _HERE.parents[1] / "config", _HERE.parents[1] / "data")
_LOOKS = ("COLUMNS", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE")


def page(name: str, words: Sequence[str], work: Callable[[], int]) -> int:
    """Do a command's work and return its exit code; print the page of --help that it printed before, if it did."""
    if not words or words[-1] not in HELP or any(word.startswith("-") for word in words[:-1]):
        return work()
    path, key, now = Path(cache_from_source(str(_HERE / "help.py"))).with_suffix(".json"), "", _stamp()
    kept: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        kept = json.loads(path.read_text(encoding="utf-8"))
    pages = kept["pages"] if kept.get("sources") == now else {}
    key = repr((name, *words, *_looks()))
    if key in pages:
        sys.stdout.write(pages[key])
        return 0
    with redirect_stdout(_Page(sys.stdout)) as made:
        code = work()
    sys.stdout.write(made.getvalue())
    if not (code or sys.dont_write_bytecode):
        with suppress(OSError):
            written = path.with_suffix(f".{os.getpid()}")
            written.write_text(
                json.dumps({"sources": now, "pages": {**pages, key: made.getvalue()}}), encoding="utf-8"
            )
            written.replace(path)
    return code


class _Page(io.StringIO):
    """A page in the making, laid out for the stream that it will go to."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream

    def isatty(self) -> bool:
        return bool(self._stream.isatty())

    def fileno(self) -> int:
        return int(self._stream.fileno())

    @property
    def encoding(self) -> str:  # type: ignore[override] # which a stream of bytes below has
        """The other's."""
        return str(self._stream.encoding)


def _stamp() -> list[list[Any]]:
    """Return which sources there are, and when they changed."""
    found = (one for folder in _SOURCES for one in os.scandir(folder) if one.is_file())
    return [[sys.version, sys.prefix], *sorted([one.path, one.stat().st_mtime_ns] for one in found)]


def _looks() -> Iterator[object]:
    """Yield what decides how a page looks, apart from what it says."""
    yield sys.stdout.isatty()
    yield getattr(sys.stdout, "encoding", "")
    yield from map(os.environ.get, _LOOKS)
    for descriptor in range(3):
        with suppress(OSError):
            yield os.get_terminal_size(descriptor).columns
