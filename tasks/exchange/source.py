"""Another tool's file: opened with limits on size and depth, and its head."""

import csv
import gzip
import json
import marshal
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from data.errors import InputError
from data.files import opened, stream

LARGEST = 512 << 20
"""Bytes of a file, unpacked: the text of a JSON document is kept in memory."""
FORMS = (".eval", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
_CHUNK = 1 << 20
_FEW = 1_000  # elements of a list that may all be objects at once
_BLANK = re.compile(r"[ \t\n\r]*")
_SCAN = json.JSONDecoder().raw_decode


class Packed(list[bytes]):
    """A list whose elements are marshalled until accessed: as objects they take five times the memory."""

    def __iter__(self) -> Iterator[Any]:
        return map(marshal.loads, super().__iter__())

    def __getitem__(self, n: Any) -> Any:
        return marshal.loads(super().__getitem__(n))  # noqa: S302 - what was packed below


def _parsed(text: str) -> Any:
    """Parse JSON; the elements of its top-level lists stay marshalled."""
    value, end = _value(text, _after(text, 0), 2)
    if end < len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    """Return (value, next position) at a position; lists at that depth stay marshalled."""
    opening = text[at : at + 1]
    if opening != "[" and not (opening == "{" and depth):
        value, end = _SCAN(text, at)
        return value, _after(text, end)
    closing = "]" if opening == "[" else "}"
    found, named, at = Packed(), dict[str, Any](), _after(text, at + 1)
    while text[at : at + 1] != closing:
        if found or named:
            at = _after(text, _mark(text, at, ","))
        if opening == "[":
            one, end = _SCAN(text, at)
            found.append(marshal.dumps(one))
            at = _after(text, end)
        else:
            _mark(text, at, '"')
            name, end = _SCAN(text, at)
            end = _mark(text, _after(text, end), ":")
            named[name], at = _value(text, _after(text, end), depth - 1)
    listed = found if len(found) > _FEW else [*found]
    return listed if opening == "[" else named, _after(text, at + 1)


def _after(text: str, at: int) -> int:
    """Return the position of the next non-whitespace character."""
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _mark(text: str, at: int, mark: str) -> int:
    if text[at : at + 1] != mark:
        raise json.JSONDecodeError(f"Expecting {mark}", text, at)
    return at + 1


@dataclass(frozen=True)
class Source:
    """A file; `columns` are our names for its columns, if given by the user."""

    path: Path
    columns: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def whole(self) -> Any:
        """A JSON file's content; None for a file of rows, or one that is not a single JSON document."""
        if self.path.suffix.lower() != ".json":
            return None
        try:
            return _parsed(self.path.read_bytes().decode("utf-8-sig"))
        except RecursionError as error:
            raise InputError(f"{self.path}: cannot be read as JSON (nested too deeply).") from error
        except (OSError, ValueError) as error:
            try:
                next(iter(stream(self.path)))
            except (InputError, StopIteration):
                raise InputError(f"{self.path}: cannot be read as JSON ({error}).") from error
            return None

    @cached_property
    def head(self) -> Mapping[str, Any]:
        """A JSON file's object; for rows the first, with the columns of some more; else empty."""
        if self.path.suffix.lower() == ".eval":
            return {}
        if isinstance(self.whole, Mapping):
            return self.whole
        found: dict[str, Any] = {}
        for row in islice(self.rows(), 100):  # JSON omits what a row does not have
            found = {**row, **found}
        return found

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield the rows: of a table, of JSON lines, or of a JSON list of objects.

        Raises:
            InputError: it cannot be read.
        """
        if self.whole is None:
            return iter(stream(self.path))
        rows = self.whole if isinstance(self.whole, list) else [self.whole]
        return (one for one in rows if isinstance(one, dict))

    @cached_property
    def repeated(self) -> tuple[str, ...]:
        """The columns that occur twice in a CSV or TSV header: rows have the last one's cells."""
        if not self.path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv")):
            return ()
        with opened(self.path) as raw:
            line = raw.readline(_CHUNK).decode("utf-8-sig", "replace")
        names = next(csv.reader([line], delimiter=max(",;\t", key=line.count)), [])
        return tuple(dict.fromkeys(name for name in names if names.count(name) > 1))


def open_source(path: Path, columns: Mapping[str, str] | None = None) -> Source:
    """Open a file of another tool.

    Raises:
        InputError: it does not exist, or is too large.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file. Give a run, or a file of another tool: {', '.join(FORMS)}.")
    size = path.stat().st_size
    if path.suffix.lower() == ".gz":  # its reader reports a damaged one, and a zip's content
        size = 0
        with suppress(ValueError, OSError, EOFError, zlib.error), gzip.open(path) as packed:
            while size <= LARGEST and (part := packed.read(_CHUNK)):
                size += len(part)
    refuse_large(path, size)
    return Source(path, columns or {})


def refuse_large(path: Path, size: int) -> None:
    """Reject a file of too many bytes, unpacked.

    Raises:
        InputError: it is too large.
    """
    if size > LARGEST:
        held = f"more than {LARGEST / 1e6:,.0f}" if path.suffix.lower() == ".gz" else f"{size / 1e6:,.0f}"
        raise InputError(
            f"{path}: it holds {held} MB unpacked, expected at most {LARGEST / 1e6:,.0f} MB, since it "
            "is read whole. Write fewer samples to a log, or several logs."
        )
