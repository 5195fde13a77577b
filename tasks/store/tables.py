"""The store: content-addressed Parquet tables under a folder or an fsspec URL.

A table's address is the SHA-256 of its Parquet file, so that equal tables are stored once, a damaged file is
detected, and a `Ref` identifies a stage's input completely.

`basic-control store list | verify | prune` maintains it.
"""

import errno
import hashlib
import io
import json
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import fsspec
import polars as pl
from fsspec.implementations.local import LocalFileSystem

from basic_control.data.batches import Ref
from basic_control.data.errors import InputError
from basic_control.data.extras import format_install
from basic_control.data.tables import TABLES, TableSchema

RENEWED_S = 3600.0
"""A remote table in use is rewritten when it is older, so that `prune` sees that it is used."""


class Damaged(Exception):  # noqa: N818 - said of a table
    """A table that is missing, or does not match its address."""


def explain_error(error: OSError, doing: str) -> InputError:
    """Turn a file system error into a message for the user."""
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        todo = "The folders of runs and store are set with --set store.runs=… and store.root=…."
    else:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        first = "The disk is full: free some space" if full else "Check the path"
        todo = f"{first} and run again; everything answered so far is kept."
    return InputError(f"{doing}: {error.strerror or error}. {todo}")


@contextmanager
def open_atomically(path: Path) -> Iterator[BinaryIO]:
    """Open a local file for atomic replacement: in the end it is complete or unchanged, also after a crash.

    Raises:
        InputError: the file system refuses.
    """
    scratch = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with scratch.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except OSError as error:
        raise explain_error(error, f"cannot write {path}") from error
    finally:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes | str) -> Path:
    """Write a local file so that it is there whole or not at all, also after a crash; texts in UTF-8.

    Raises:
        InputError: the file system refuses.
    """
    with open_atomically(path) as file:
        file.write(content.encode("utf-8", "replace") if isinstance(content, str) else content)
    return path


def write_json(path: Path, value: Any, *, indent: int = 1) -> Path:
    """Write a document as JSON, atomically."""
    return write_atomically(path, json.dumps(value, ensure_ascii=False, indent=indent))


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table as a file: `size` in bytes, `modified` in seconds since 1970."""

    digest: str
    size: int
    modified: float


@dataclass(frozen=True)
class Store:
    """Tables under `root`, a local folder or any fsspec URL (`s3://bucket/prefix`)."""

    root: str

    @cached_property
    def _location(self) -> tuple[Any, str]:
        try:
            filesystem, path = fsspec.core.url_to_fs(self.root)
        except (ImportError, ValueError) as error:
            raise InputError(
                f"store.root: {self.root}: cannot be used ({error}). Expected a folder or an fsspec URL, such as "
                f"s3://bucket/folder (the extra `s3`: {format_install('s3')})."
            ) from error
        return filesystem, str(path).rstrip("/")

    @property
    def local(self) -> Path | None:
        """The root as a local folder, or None for a remote one."""
        filesystem, path = self._location
        return Path(path) if isinstance(filesystem, LocalFileSystem) else None

    def address(self, digest: str) -> str:
        """Return the path of the table with that digest within the file system."""
        return f"{self._location[1]}/tables/{digest[:2]}/{digest}.parquet"

    def write(self, table: TableSchema, frame: pl.DataFrame) -> Ref:
        """Store a table, once, and return its address.

        Raises:
            InputError: the frame does not fit the schema, or the store cannot be written.
        """
        table.check(frame)
        # An added column without values is dropped: file and digest are as they were before it was added.
        frame = frame.drop([name for name in table.added if frame[name].is_null().all()])
        content = encode_parquet(frame)
        digest = hashlib.sha256(content).hexdigest()
        ref = Ref(table.name, digest, frame.height, _content(table, frame, digest))
        if not self.is_intact(ref):
            self._put(self.address(digest), content)
        return ref

    def _put(self, path: str, content: bytes) -> None:
        if self.local is not None:
            write_atomically(Path(path), content)
            return
        try:
            self._location[0].pipe_file(path, content)
        except Exception as error:
            raise self._explain_unreachable(error) from error

    def put_document(self, name: str, content: bytes) -> None:
        """Write a file of the store that is no table, atomically.

        Raises:
            InputError: the store cannot be written.
        """
        self._put(f"{self._location[1]}/{name}", content)

    def document(self, name: str) -> "bytes | None":
        """Return the content of such a file; None if it does not exist."""
        filesystem, root = self._location
        with suppress(OSError), self._reading():
            return bytes(filesystem.cat_file(f"{root}/{name}"))
        return None

    def _explain_unreachable(self, error: Exception) -> InputError:
        if isinstance(error, FileNotFoundError):
            return InputError(f"store.root: {self.root}: not found ({error}). Create the bucket first.")
        return InputError(
            f"store.root: {self.root}: cannot be reached ({type(error).__name__}: {error}). Check the address and "
            "the credentials in the environment, and run again; everything answered so far is kept."
        )

    def bytes(self, digest: str) -> bytes:
        """Return a table's Parquet file, verified against its address.

        Raises:
            Damaged: it is missing, truncated or changed.
        """
        filesystem, _ = self._location
        try:
            with self._reading():
                content = bytes(filesystem.cat_file(self.address(digest)))
        except FileNotFoundError as error:
            raise Damaged(f"table {digest[:12]} is missing from {self.root}") from error
        except OSError as error:
            raise Damaged(f"table {digest[:12]} cannot be read from {self.root}: {error}") from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise Damaged(f"table {digest[:12]} in {self.root} is damaged: its content does not match its address")
        return content

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Pass on a missing table and a local disk's errors unchanged; turn a remote store's into InputError."""
        if self.local is not None:
            yield
            return
        try:
            yield
        except FileNotFoundError:
            raise
        except Exception as error:  # file systems raise errors of their own, without a common base
            raise self._explain_unreachable(error) from error

    def read(self, ref: Ref) -> pl.DataFrame:
        """Return a table.

        Raises:
            Damaged: it is missing, truncated or changed.
            InputError: it does not have the table's schema.
        """
        return self._read(ref.digest, TABLES[ref.table])

    def _read(self, digest: str, table: TableSchema) -> pl.DataFrame:
        frame = pl.read_parquet(io.BytesIO(self.bytes(digest)))
        return table.check(frame, where=f"{self.root}/{digest[:12]}")

    def read_all(self, refs: list[Ref], table: TableSchema) -> pl.DataFrame:
        """Return several tables of one kind as one frame."""
        return pl.concat([self.read(ref) for ref in refs]) if refs else table.frame([])

    def is_intact(self, ref: Ref) -> bool:
        """Return whether a table exists and matches its address, and mark it as used."""
        path = self.address(ref.digest)
        if self.local is not None:
            # Before it is read: `prune` checks the time once more after moving a table aside.
            with suppress(OSError):
                os.utime(path)
        try:
            content = self.bytes(ref.digest)
        except Damaged:
            return False
        if self.local is None:
            with self._reading():
                age = time.time() - _read_modified(self._location[0], self._location[0].info(path))
            if age > RENEWED_S:
                self._put(path, content)
        return True

    def entries(self) -> Iterator[TableFile]:
        """Yield the files in the tables' folder, intact or not."""
        filesystem, top = self._location
        try:
            with self._reading():
                filesystem.invalidate_cache()
                files = filesystem.find(f"{top}/tables", detail=True)
        except FileNotFoundError:
            return
        for path, about in files.items():
            digest, _, kind = str(path).rpartition("/")[2].partition(".")
            if kind == "parquet" and path.endswith(self.address(digest).removeprefix(top)):
                yield TableFile(digest, int(about["size"]), _read_modified(filesystem, about))

    def read_if_kind(self, digest: str, table: TableSchema) -> pl.DataFrame | None:
        """Return a table if its file's schema has the columns of a kind, else None.

        Raises:
            Damaged: it is missing, truncated or changed.
        """
        try:
            with self._reading(), self._location[0].open(self.address(digest), "rb") as file:
                columns = dict(pl.read_parquet_schema(file))
        except (OSError, pl.exceptions.PolarsError) as error:
            raise Damaged(f"table {digest[:12]} cannot be read from {self.root}: {error}") from error
        # A table of an earlier version, or without values of it, lacks a column that was added.
        expected = {
            name: kind for name, kind in table.columns.items() if name in columns or name not in table.added
        }
        return self._read(digest, table) if columns == expected else None

    def remove(self, digest: str, *, unless_used_since: float) -> bool:
        """Delete a table, unless it was written or used since (seconds since 1970); return whether it is gone.

        Raises:
            InputError: the store refuses.
        """
        filesystem, _ = self._location
        path = self.address(digest)
        try:
            if self.local is not None:
                return _remove(Path(path), unless_used_since)
            with self._reading():
                if _read_modified(filesystem, filesystem.info(path, refresh=True)) >= unless_used_since:
                    return False
                filesystem.rm_file(path)
        except FileNotFoundError:
            return True
        except OSError as error:
            raise explain_error(error, f"cannot delete {path}") from error
        return True


def _remove(path: Path, unless_used_since: float) -> bool:
    """Delete a local file, checking its time again once it is out of reach."""
    if path.stat().st_mtime >= unless_used_since:
        return False
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    path.rename(aside)
    if aside.stat().st_mtime >= unless_used_since:
        aside.replace(path)
        return False
    aside.unlink()
    return True


def _read_modified(filesystem: Any, about: Any) -> float:
    """Return a file's modification time, in seconds since 1970, from its file system's metadata."""
    for key in ("mtime", "LastModified", "last_modified", "created"):
        value = about.get(key)
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, int | float):
            return float(value)
    return float(filesystem.modified(about["name"]).timestamp())


def encode_parquet(frame: pl.DataFrame) -> bytes:
    """Return a frame as a Parquet file."""
    buffer = io.BytesIO()
    # Rechunked, since the file's row groups, and so its address, follow the frame's chunks.
    frame.rechunk().write_parquet(buffer, compression="zstd", statistics=True)
    return buffer.getvalue()


def _content(table: TableSchema, frame: pl.DataFrame, digest: str) -> str:
    """Return the digest of what later stages depend on: all columns except those specific to one run."""
    if not table.volatile:
        return digest
    fixed = frame.with_columns(pl.lit(None, dtype=table.columns[name]).alias(name) for name in table.volatile)
    return hashlib.sha256(encode_parquet(fixed)).hexdigest()
