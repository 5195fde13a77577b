"""Rows of a user's file: Parquet, JSONL, CSV, TSV (all but Parquet also gzipped); errors name file and line."""

import csv
import gzip
import io
import json
import re
import threading
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, cast

from basic_control.data.characters import make_storable
from basic_control.data.errors import InputError
from basic_control.data.json_tables import read_rows

Row = Mapping[str, Any]
_LONGEST_FIELD = 100_000_000
# The first line that spreadsheets read, such as: sep=;
_SEPARATOR = re.compile(r"sep=(\\t|.)\r?\n?", re.IGNORECASE)
_POINTERS = {
    b"version https://git-lfs.github.com/spec/": "a pointer of Git LFS, not the file; fetch it: git lfs pull",
    b"/annex/objects/": "a pointer of git-annex, not the file; fetch it: git annex get",
    b"<!doctype html": "a web page, not the file; download the raw file",
}
"""How files begin that stand for others, and what they are."""
_BATCH, _BUFFER = 5_000, 1 << 20  # rows and bytes of a Parquet file that are read at once
ROW_BYTES, CELL_BYTES = 100, 16
"""Bytes that a row of a table and one of its cells take in memory at least."""


class _ParsedFiles:
    """The parsed rows of files, kept while some caller wants each file parsed once."""

    def __init__(self) -> None:
        self.users = 0
        self.rows: dict[tuple[Any, ...], list[Row]] = {}
        self.lock = threading.RLock()  # a second concurrent reader waits for the first's rows


_parsed = _ParsedFiles()


@contextmanager
def cache_parsed() -> Iterator[None]:
    """Parse each file only once inside this context, in any thread.

    Rows are kept until `release`, or the outermost exit. A file that changes meanwhile is parsed again.
    """
    with _parsed.lock:
        _parsed.users += 1
    try:
        yield
    finally:
        with _parsed.lock:
            _parsed.users -= 1
            if not _parsed.users:
                _parsed.rows.clear()


def release(paths: Collection[Path]) -> None:
    """Drop the kept rows of these files."""
    names = {path.resolve() for path in paths}
    with _parsed.lock:
        for key in [key for key in _parsed.rows if key[0] in names]:
            del _parsed.rows[key]


def read_file_rows(path: Path, *, unnamed: Sequence[str] = ()) -> Iterator[Row]:
    """Yield a file's rows, lazily if it is read by lines; inside `cache_parsed`, from the cache.

    `unnamed`: the columns of a TSV without header, which is one whose first line does not name the first of them.

    Raises:
        InputError: no such file, an unknown type, or a row that cannot be read.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file. Give a Parquet, JSONL, CSV or TSV file.")
    with _parsed.lock:
        if not _parsed.users:
            return stream_rows(path, unnamed)
        status = path.stat()
        key = (path.resolve(), status.st_ino, status.st_size, status.st_mtime_ns, tuple(unnamed))
        if key not in _parsed.rows:
            _parsed.rows[key] = [*stream_rows(path, unnamed)]
        return iter(_parsed.rows[key])


def stream_rows(
    path: Path, unnamed: Sequence[str] = (), *, repeated: bool = False, halves: bool = False
) -> Iterator[Row]:
    """Yield a file's rows as they are read, without caching, even inside `cache_parsed`.

    `repeated`: a CSV or TSV may have a column twice, of which the last one's cells are read. `halves`: lone
    surrogates of a JSON file, which no table can hold, are kept.

    Raises:
        InputError: an unknown type, or a row that cannot be read.
    """
    name = path.name.lower().removesuffix(".gz")
    readers = {".parquet": _read_parquet, **dict.fromkeys((".csv", ".tsv"), partial(_read_csv, repeated=repeated))}
    readers |= dict.fromkeys((".jsonl", ".ndjson", ".json"), partial(_read_jsonl, halves=halves))
    ending = next(filter(name.endswith, readers), None)
    if ending is None:
        raise InputError(f"{path}: unknown file type {path.suffix!r}; expected one of {', '.join(readers)}.")
    _refuse_pointer(path)
    if unnamed and name.endswith(".tsv") and unnamed[0] not in _read_first_line(path):
        return read_tsv(path, unnamed)
    return readers[ending](path)


def _refuse_pointer(path: Path) -> None:
    """Refuse a file that only stands for another.

    Raises:
        InputError: it is one.
    """
    try:
        with path.open("rb") as raw:
            start = raw.read(64).lstrip().lower()
    except OSError:
        return
    for beginning, what in _POINTERS.items():
        if start.startswith(beginning):
            raise InputError(f"{path}: this is {what}.")


def _read_first_line(path: Path) -> list[str]:
    return next(_read_lines(path), b"").decode("utf-8-sig", "replace").rstrip("\r\n").split("\t")


def read_tsv(path: Path, names: Sequence[str] = ()) -> Iterator[Row]:
    """Read tab-separated lines; quotation marks have no special meaning.

    `names` are the columns if there is no header.

    Raises:
        InputError: a line that cannot be read, or has another number of cells.
    """
    lines = enumerate(_read_lines(path), 1)
    if not names:
        names = _read_first_line(path)
        next(lines, None)
    for number, line in lines:
        text = _decode_line(line, f"{path}, line {number}").rstrip("\r\n")
        if not text.strip():
            continue
        cells = text.split("\t")
        if len(cells) != len(names):
            expected = f"expected {len(names)} ({', '.join(names)})"
            raise InputError(f"{path}, line {number}: found {len(cells)} columns, {expected}.")
        yield dict(zip(names, cells, strict=True))


def _decode_line(line: bytes, where: str) -> str:
    try:
        return line.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8.") from error


def estimate_memory(path: Path) -> int:
    """Return how many bytes a Parquet file has at least when it is read, by its own metadata; 0 if it has none.

    A value that repeats is stored once: 60 million equal rows take a megabyte in the file.
    """
    from pyarrow import ArrowException
    from pyarrow.parquet import read_metadata

    try:
        metadata = read_metadata(path)
    except (ArrowException, OSError):  # which its reader says
        return 0
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    stored = sum(group.total_byte_size for group in groups)
    rows = max(metadata.num_rows, sum(group.num_rows for group in groups))
    return max(stored, rows * max(ROW_BYTES, CELL_BYTES * metadata.num_columns))


def _read_parquet(path: Path) -> Iterator[Row]:
    import polars as pl  # slow import, and checks alone mostly read text files
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path, buffer_size=_BUFFER) as file:
            for batch in file.iter_batches(_BATCH):
                frame = cast("pl.DataFrame", pl.from_arrow(batch))
                # Half of a number's digits are made up where 3.14 was stored in four bytes.
                floats = pl.col(pl.Float32).cast(pl.String).cast(pl.Float64)
                yield from frame.with_columns(floats).iter_rows(named=True)
    except (ArrowException, pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path}: cannot be read as Parquet ({error}).") from error


def _read_csv(path: Path, *, repeated: bool) -> Iterator[Row]:
    """Read CSV with a header; the separator (comma, semicolon or tab) is the header's most frequent one.

    A first line `sep=;`, as spreadsheets write it, names another. Names have no white space around them.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    try:
        with open_file(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
            header = text.readline()
            separator = _SEPARATOR.fullmatch(header)
            delimiter = max(",;\t", key=header.count)
            if separator:
                delimiter = separator[1].replace("\\t", "\t")
                header = text.readline()
            text.seek(0)
            if separator:
                text.readline()
            # `question, answer`: as people write lists; a quotation mark after the space quotes.
            is_spaced = f"{delimiter} " in header
            rows = csv.reader(text, delimiter=delimiter, skipinitialspace=is_spaced, strict=True)
            names = [name.strip() for name in next(filter(None, rows), [])]
            repeated_names = [name for name in names if name and names.count(name) > 1]
            if repeated_names and not repeated:
                raise InputError(f"{path}: the column {repeated_names[0]!r} is there twice; rename one of them.")
            for number, cells in enumerate(filter(None, rows), 1):
                if len(cells) > len(names):
                    raise InputError(f"{path}, row {number}: more cells than the header has columns.")
                yield dict(zip_longest(names, cells))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8.") from error
    except csv.Error as error:
        raise InputError(f"{path}: not CSV ({error}).") from error


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file's bytes, decompressed if it is gzipped."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as raw:
            yield cast("BinaryIO", raw)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read as gzip ({error}).") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error


def _read_lines(path: Path) -> Iterator[bytes]:
    with open_file(path) as lines:
        yield from lines


def _read_jsonl(path: Path, *, halves: bool) -> Iterator[Row]:
    """Read one object a line, or one document with a table, such as our own raw results or pandas' JSON."""
    for number, line in enumerate(_read_lines(path), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        text = _decode_line(line, where)
        if number == 1 and _begins_document(text, path):
            document = _parse_json(_decode_line(b"".join(_read_lines(path)), str(path)), str(path), halves=halves)
            rows = read_rows(document)
            if rows is None:
                rows = [document]
            yield from (_require_object(row, f"{path}, object {n}") for n, row in enumerate(rows, 1))
            return
        yield _require_object(_parse_json(text, where, halves=halves), where)


def _begins_document(text: str, path: Path) -> bool:
    """Return whether a file's first line begins a document, rather than being a row."""
    start = text.lstrip()
    if start.startswith("["):
        return True
    if not start.startswith("{"):
        return False
    has_more = any(line.strip() for line in islice(_read_lines(path), 1, None))
    try:
        first = json.loads(text)
    except (ValueError, RecursionError):
        # An object over several lines; a line that is broken is told by its number.
        is_json = path.name.lower().removesuffix(".gz").endswith(".json")
        return has_more and (start.rstrip() == "{" or is_json)
    return not has_more and read_rows(first) is not None


def _parse_json(text: str, where: str, *, halves: bool) -> Any:
    try:
        document = json.loads(text)
        if halves or "\\ud" not in text.lower():
            return document
        return json.loads(make_storable(json.dumps(document, ensure_ascii=False)))
    except json.JSONDecodeError as error:
        # The decoder counts lines within the text: of one line, only the place is telling.
        position = (
            f"character {error.colno}" if error.lineno == 1 else f"line {error.lineno}, character {error.colno}"
        )
        raise InputError(
            f"{where}: not JSON ({error.msg} at {position}). Expected one object a line, or an array of objects."
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{where}: not JSON ({error}). Expected one object a line, or an array of objects."
        ) from error


def _require_object(row: Any, where: str) -> Row:
    if not isinstance(row, dict):
        raise InputError(f"{where}: expected a JSON object, found a {type(row).__name__}.")
    return row


def convert_text(value: Any, where: str) -> str | None:
    """Return a cell's text or number as text; lone surrogates, which no table can hold, become U+FFFD.

    Raises:
        InputError: it is neither; `where` is the cell.
    """
    if value is None or isinstance(value, str | int | float):
        return None if value is None else make_storable(str(value))
    raise InputError(f"{where}: expected a text, found a {type(value).__name__}.")
