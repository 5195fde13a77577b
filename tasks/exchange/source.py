"""Another tool's file: opened with limits on size and depth, and its head."""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from basic_control.data.errors import InputError
from basic_control.data.files import estimate_memory, stream_rows

LARGEST = 512 << 20
"""Bytes of a file, unpacked: the text of a JSON document is kept in memory."""
FORMS = (".eval", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Source:
    """A file; `columns` are our names for its columns, if given by the user."""

    path: Path
    columns: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def document(self) -> Any:
        """A JSON file's content; None for a file of rows, or one that is not a single JSON document."""
        if self.path.suffix.lower() != ".json":
            return None
        try:
            return json.loads(self.path.read_bytes())
        except RecursionError as error:
            raise InputError(f"{self.path}: cannot be read as JSON (nested too deeply).") from error
        except (OSError, ValueError) as error:
            try:
                next(iter(stream_rows(self.path)))
            except (InputError, StopIteration):
                raise InputError(f"{self.path}: cannot be read as JSON ({error}).") from error
            return None

    @cached_property
    def head(self) -> Mapping[str, Any]:
        """A JSON file's object; for rows the first, with the columns of some more; else empty."""
        if self.path.suffix.lower() == ".eval":
            return {}
        if isinstance(self.document, Mapping):
            return self.document
        columns: dict[str, Any] = {}
        # JSON omits what a row does not have.
        for row in islice(self.rows(repeated=True), 100):
            columns = {**row, **columns}
        return columns

    def rows(self, *, repeated: bool = False) -> Iterator[Mapping[str, Any]]:
        """Yield the rows: of a table, of JSON lines, or of a JSON list of objects.

        `repeated`: also of a table that has a column twice.

        Raises:
            InputError: it cannot be read.
        """
        if self.document is None and self.path.suffix.lower() == ".parquet":
            return self._refuse_large(stream_rows(self.path))
        if self.document is None:
            return stream_rows(self.path, repeated=repeated, halves=True)
        rows = self.document if isinstance(self.document, list) else [self.document]
        return (row for row in rows if isinstance(row, dict))

    def _refuse_large(self, rows: Iterator[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        """Yield rows while their texts fit: a text that is stored once may stand in a million of them."""
        size = 0
        for row in rows:
            size += sum(len(value) for value in row.values() if isinstance(value, str))
            refuse_large(self.path, size)
            yield row


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
    if path.suffix.lower() == ".parquet":
        size = max(size, estimate_memory(path))
    refuse_large(path, size)
    return Source(path, columns or {})


def refuse_large(path: Path, size: int) -> None:
    """Reject a file of too many bytes, unpacked.

    Raises:
        InputError: it is too large.
    """
    if size > LARGEST:
        megabytes = f"{size / 1e6:,.0f}"
        if path.suffix.lower() == ".gz":
            megabytes = f"more than {LARGEST / 1e6:,.0f}"
        raise InputError(
            f"{path}: found {megabytes} MB unpacked, expected at most {LARGEST / 1e6:,.0f} MB. Write fewer "
            "samples to a log, or several logs."
        )
