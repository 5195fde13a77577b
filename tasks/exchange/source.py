"""A file of another tool: opened within bounds of size and depth, and what it begins with."""

import csv
import gzip
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from data.errors import InputError
from data.files import opened, stream

LARGEST = 512 << 20
"""Bytes of a file, unpacked: JSON is read whole, and takes some five times that much memory."""
FORMS = (".eval", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
_CHUNK = 1 << 20
_HEAD = 100


@dataclass(frozen=True)
class Source:
    """A file; `columns` are our names for its columns, where the user gives them."""

    path: Path
    columns: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def whole(self) -> Any:
        """What a JSON file holds; None for a file of rows, or one that is no JSON as a whole."""
        if self.path.suffix.lower() != ".json":
            return None
        try:
            return json.loads(self.path.read_bytes().decode("utf-8-sig"))
        except RecursionError as error:
            raise InputError(f"{self.path}: cannot be read as JSON (nested too deeply).") from error
        except (OSError, ValueError) as error:
            first = next(self._lines(), None)
            if first is None:
                raise InputError(f"{self.path}: cannot be read as JSON ({error}).") from error
            return None

    @cached_property
    def head(self) -> Mapping[str, Any]:
        """The object that a JSON file holds; of rows the first, with the columns of some more; else empty."""
        if self.path.suffix.lower() == ".eval":
            return {}
        whole = self.whole
        if isinstance(whole, Mapping):
            return whole
        found: dict[str, Any] = {}
        for row in islice(self.rows(), _HEAD):  # JSON leaves out what a row does not have
            found = {**row, **found}
        return found

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield the rows: of a table, of JSON lines, or of a JSON list of objects.

        Raises:
            InputError: it cannot be read.
        """
        if isinstance(self.whole, list):
            return (one for one in self.whole if isinstance(one, Mapping))
        if self.whole is not None:
            return iter([self.whole] if isinstance(self.whole, Mapping) else [])
        return iter(stream(self.path))

    @cached_property
    def repeated(self) -> tuple[str, ...]:
        """The columns of a CSV or TSV that stand twice in its header: rows have the last one's cells."""
        if not self.path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv")):
            return ()
        with opened(self.path) as raw:
            line = raw.readline(_CHUNK).decode("utf-8-sig", "replace")
        names = next(csv.reader([line], delimiter=max(",;\t", key=line.count)), [])
        return tuple(dict.fromkeys(name for name in names if names.count(name) > 1))

    def _lines(self) -> Iterator[Mapping[str, Any]]:
        try:
            yield from stream(self.path)
        except InputError:
            return


def open_source(path: Path, columns: Mapping[str, str] | None = None) -> Source:
    """Open a file of another tool.

    Raises:
        InputError: no such file, or one that is too large.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file. Give a run, or a file of another tool: {', '.join(FORMS)}.")
    if (size := _unpacked(path)) > LARGEST:
        more = "more than" if path.suffix.lower() == ".gz" else "unpacked"
        told = f"{more} {LARGEST / 1e6:,.0f} MB unpacked" if more == "more than" else f"{size / 1e6:,.0f} MB {more}"
        raise InputError(
            f"{path}: it holds {told}, expected at most {LARGEST / 1e6:,.0f} MB, since it "
            "is read whole. Write fewer samples to a log, or several logs."
        )
    return Source(path, columns or {})


def _unpacked(path: Path) -> int:
    """Return how many bytes a file has, of a zip those of its members; a damaged one is its reader's to tell."""
    size = path.stat().st_size
    try:
        if path.suffix.lower() == ".gz":
            size = 0
            with gzip.open(path) as packed:
                while size <= LARGEST and (part := packed.read(_CHUNK)):
                    size += len(part)
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                size = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, zlib.error):
        return size
    return size
