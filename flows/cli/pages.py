"""A cache of the --help pages beside the bytecode: the imports to lay one out are the slowest of all.

A page is reprinted as long as the command line's sources, the terminal's width and its colours are unchanged. If
Python may not write bytecode, nothing is cached.
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
    """Run `work` and return its exit code; for --help, print the cached page instead if there is one."""
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
    """A buffer for a page, with the properties of the stream that it is laid out for."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream

    def isatty(self) -> bool:
        return bool(self._stream.isatty())

    def fileno(self) -> int:
        return int(self._stream.fileno())

    @property
    def encoding(self) -> str:  # type: ignore[override] # which a stream of bytes below has
        """The stream's encoding."""
        return str(self._stream.encoding)


def _stamp() -> list[list[Any]]:
    """Return the sources with their modification times."""
    found = (one for folder in _SOURCES for one in os.scandir(folder) if one.is_file())
    return [[sys.version, sys.prefix], *sorted([one.path, one.stat().st_mtime_ns] for one in found)]


def _looks() -> Iterator[object]:
    """Yield everything but its content that decides how a page looks."""
    yield sys.stdout.isatty()
    yield getattr(sys.stdout, "encoding", "")
    yield from map(os.environ.get, _LOOKS)
    for descriptor in range(3):
        with suppress(OSError):
            yield os.get_terminal_size(descriptor).columns
