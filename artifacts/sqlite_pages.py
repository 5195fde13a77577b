"""Read rows straight from the pages of an SQLite file, whatever has become of its header, schema and indexes.

Every page that still is a leaf of a table is read, in the file and in its write-ahead log; what is wrong with a
row is for the caller to find out (the reply cache's rows carry checksums).

Source: "Database File Format" of the SQLite project (b-tree pages, record format, WAL format).
"""

import mmap
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LEAF = 0x0D
HEADER = 100
FRAME = 24
WAL_HEADER = 32
WAL_MAGIC = (0x377F0682, 0x377F0683)
SIZES = tuple(2**n for n in range(9, 17))
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_TEXT = 13
_DOUBLE = 7
_CONTINUES = 0x80
Bytes = bytes | mmap.mmap


@contextmanager
def _mapped(path: Path) -> Iterator[Bytes]:
    """Map a file for reading; an absent or empty one is nothing. A slice is a copy."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        yield b""
        return
    with file:
        if not path.stat().st_size:
            yield b""
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            yield mapped


def _number(data: Bytes, start: int, size: int) -> int:
    return int.from_bytes(data[start : start + size], "big")


def _varint(data: Bytes, at: int) -> tuple[int, int]:
    """Return a variable-length integer and where it ends."""
    value = 0
    for n in range(8):
        byte = data[at + n]
        value = (value << 7) | (byte & 0x7F)
        if byte < _CONTINUES:
            return value, at + n + 1
    return (value << 8) | data[at + 8], at + 9


def _value(kind: int, data: bytes) -> Any:
    if kind >= _TEXT and kind % 2:
        return data.decode("utf-8")
    if kind in _INTEGERS:
        return int.from_bytes(data, "big", signed=True)
    if kind == _DOUBLE:
        return struct.unpack(">d", data)[0]
    return {0: None, 8: 0, 9: 1}.get(kind, data)


def _length(kind: int) -> int:
    if kind >= _TEXT - 1:
        return (kind - _TEXT + 1) // 2
    return _INTEGERS.get(kind, 8 if kind == _DOUBLE else 0)


def _record(payload: bytes) -> tuple[Any, ...]:
    """Return a record's values."""
    size, at = _varint(payload, 0)
    kinds = []
    while at < size:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values, at = [], size
    for kind in kinds:
        length = _length(kind)
        if at + length > len(payload):
            raise ValueError("a value ends outside its record")
        values.append(_value(kind, payload[at : at + length]))
        at += length
    return tuple(values)


class _Pages:
    """The pages of a file as its write-ahead log has them last."""

    def __init__(self, file: Bytes, log: Bytes) -> None:
        self.file = file
        self.log = log
        self.size, reserved = self._sizes()
        self.usable = self.size - reserved
        self.logged = self._logged()

    def _sizes(self) -> tuple[int, int]:
        """Return the page size and the bytes that each page keeps back; the defaults where nothing tells."""
        if len(self.log) >= WAL_HEADER and _number(self.log, 0, 4) in WAL_MAGIC:
            size = _number(self.log, 8, 4)
            if size in SIZES:
                return size, 0
        if len(self.file) >= HEADER and self.file[:15] == b"SQLite format 3":
            size = _number(self.file, 16, 2)
            size = 65536 if size == 1 else size
            if size in SIZES:
                return size, self.file[20]
        return 4096, 0

    def _logged(self) -> Mapping[int, int]:
        """Return where the log holds each page last."""
        step = FRAME + self.size
        starts = range(WAL_HEADER, len(self.log) - step + 1, step)
        return {_number(self.log, start, 4): start + FRAME for start in starts}

    def page(self, number: int, *, logged: bool) -> bytes:
        """Return one page, as the log has it or as the file has."""
        if logged and number in self.logged:
            start = self.logged[number]
            return self.log[start : start + self.size]
        start = (number - 1) * self.size
        if number < 1 or start + self.size > len(self.file):
            raise ValueError("a page outside the file")
        return self.file[start : start + self.size]

    def leaves(self) -> Iterator[tuple[bytes, int]]:
        """Yield every leaf of a table, with where in the page its own header begins."""
        for start in range(0, len(self.file), self.size):
            page = self.file[start : start + self.size]
            head = HEADER if start == 0 else 0
            if len(page) > head and page[head] == LEAF:
                yield page, head
        step = FRAME + self.size
        for start in range(WAL_HEADER, len(self.log) - step + 1, step):
            page = self.log[start + FRAME : start + step]
            head = HEADER if _number(self.log, start, 4) == 1 else 0
            if page[head] == LEAF:
                yield page, head

    def payload(self, page: bytes, at: int, *, logged: bool) -> bytes:
        """Return the whole payload of the cell at a place of a page, overflow pages included."""
        size, at = _varint(page, at)
        _, at = _varint(page, at)
        most = self.usable - 35
        if size <= most:
            return page[at : at + size]
        least = (self.usable - 12) * 32 // 255 - 23
        here = least + (size - least) % (self.usable - 4)
        here = here if here <= most else least
        if size > len(self.file) + len(self.log):
            raise ValueError("a row longer than the file")
        parts = [page[at : at + here]]
        following, left = _number(page, at + here, 4), size - here
        seen: set[int] = set()
        while left > 0:
            if following in seen:
                raise ValueError("pages in a circle")
            seen.add(following)
            more = self.page(following, logged=logged)
            parts.append(more[4 : 4 + min(left, self.usable - 4)])
            following, left = _number(more, 0, 4), left - (self.usable - 4)
        return b"".join(parts)


def _cells(page: bytes, head: int) -> Iterator[int]:
    count = _number(page, head + 3, 2)
    for n in range(min(count, len(page) // 2)):
        at = head + 8 + 2 * n
        if at + 2 > len(page):
            return
        place = _number(page, at, 2)
        if place < len(page):
            yield place


def rows(path: Path) -> Iterator[tuple[tuple[Any, ...], ...]]:
    """Yield what can be read of each row in any table of an SQLite file and its log.

    Yields one or two readings of a row: with overflow pages taken from the log where it has them, and without.
    """
    with _mapped(path) as file, _mapped(log_of(path)) as wal:
        pages = _Pages(file, wal)
        for page, head in pages.leaves():
            for place in _cells(page, head):
                readings = []
                for logged in (True, False) if pages.logged else (False,):
                    try:
                        readings.append(_record(pages.payload(page, place, logged=logged)))
                    except (ValueError, IndexError):
                        continue
                if readings:
                    yield tuple(dict.fromkeys(readings))


def log_of(path: Path) -> Path:
    """Return where SQLite keeps the write-ahead log of a file."""
    return path.with_name(path.name + "-wal")


def log_is_cut(path: Path, most: int = 64_000_000) -> bool:
    """Say whether the log of a file has a damaged frame before, or at, the end of a transaction.

    SQLite takes such a log for one that ends there, and forgets what was committed later. Nobody may be writing.
    A log of more than `most` bytes, left behind by a killed run (usually it has 4 MB), is not read.
    """
    with _mapped(log_of(path)) as log:
        if len(log) > most:
            return False
        if len(log) < WAL_HEADER or _number(log, 0, 4) not in WAL_MAGIC:
            return len(log) > WAL_HEADER and any(log[:WAL_HEADER])
        order = ">" if _number(log, 0, 4) & 1 else "<"
        sums = _sums(log[:24], order, (0, 0))
        if sums != struct.unpack(">II", log[24:32]):
            return True
        step, sound = FRAME + _number(log, 8, 4), True
        for start in range(WAL_HEADER, len(log) - step + 1, step):
            if log[start + 8 : start + 16] != log[16:24]:
                # Left over from before the log was begun anew.
                return False
            sums = _sums(log[start : start + 8] + log[start + FRAME : start + step], order, sums)
            sound = sound and sums == struct.unpack(">II", log[start + 16 : start + FRAME])
            if not sound and _number(log, start + 4, 4):
                return True
    return False


def _sums(data: bytes, order: str, sums: tuple[int, int]) -> tuple[int, int]:
    """Return SQLite's running checksum of a log after more data, whose length is a multiple of eight."""
    one, two = sums
    words = iter(struct.unpack(f"{order}{len(data) // 4}I", data))
    for first, second in zip(words, words, strict=True):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two
