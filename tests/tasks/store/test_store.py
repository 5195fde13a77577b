"""A table comes back as it was, or is known to be damaged; equal tables have equal addresses."""

import errno
import os
from pathlib import Path

import polars as pl
import pytest

from basic_control.data.batches import Ref
from basic_control.data.errors import InputError
from basic_control.data.tables import RESPONSES, SUMMARY, VERDICTS
from basic_control.tasks.store.tables import Damaged, Store, explain_error, write_atomically
from tests.helpers.tables import response, verdicts


def path_of(store: Store, ref: Ref) -> Path:
    return Path(store.address(ref.digest))


def test_a_table_comes_back_as_it_was(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    ref = store.write(VERDICTS, verdicts())
    assert ref.rows == 3
    assert store.read(ref).equals(verdicts())


def test_equal_tables_have_equal_refs_however_they_are_chunked(tmp_path: Path) -> None:
    one, other = Store(str(tmp_path / "a")), Store(str(tmp_path / "b"))
    pieces = pl.concat([verdicts(3).slice(0, 1), verdicts(3).slice(1, 2)], rechunk=False)
    again = pl.read_parquet(path_of(one, one.write(VERDICTS, verdicts(3))))
    assert one.write(VERDICTS, verdicts(3)) == other.write(VERDICTS, pieces) == one.write(VERDICTS, again)


def test_different_tables_have_different_refs(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    assert store.write(VERDICTS, verdicts()).digest != store.write(VERDICTS, verdicts(reason="wrong")).digest


def test_what_is_only_true_of_one_run_does_not_change_the_content(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    fresh, cached = (store.write(RESPONSES, response(cached=c)) for c in (False, True))
    assert fresh.digest != cached.digest
    assert fresh.content == cached.content
    assert store.write(RESPONSES, response(cached=True, text="no")).content != cached.content


@pytest.mark.parametrize("damage", ["cut", "changed", "deleted", "emptied"])
def test_a_damaged_table_is_never_read(tmp_path: Path, damage: str) -> None:
    store = Store(str(tmp_path))
    ref = store.write(VERDICTS, verdicts())
    path = path_of(store, ref)
    content = path.read_bytes()
    if damage == "deleted":
        path.unlink()
    else:
        middle = len(content) // 2
        changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        path.write_bytes({"cut": content[:-10], "changed": changed, "emptied": b""}[damage])
    assert not store.is_intact(ref)
    with pytest.raises(Damaged, match="missing" if damage == "deleted" else "damaged"):
        store.read(ref)
    assert store.write(VERDICTS, verdicts()) == ref
    assert store.read(ref).equals(verdicts())


def test_a_table_with_wrong_columns_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="correct: String instead of Boolean"):
        Store(str(tmp_path)).write(VERDICTS, verdicts().with_columns(pl.col("correct").cast(pl.String)))
    with pytest.raises(InputError, match="details: missing instead of String"):
        Store(str(tmp_path)).write(VERDICTS, verdicts().drop("details"))
    with pytest.raises(InputError, match="colour: String instead of nothing"):
        Store(str(tmp_path)).write(VERDICTS, verdicts().with_columns(colour=pl.lit("red")))


def test_rows_that_repeat_a_key_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="duplicate rows by item_id, model, repeat"):
        Store(str(tmp_path)).write(VERDICTS, pl.concat([verdicts(), verdicts()]))


def test_an_empty_table_is_a_table(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    assert store.read(store.write(SUMMARY, SUMMARY.frame([]))).height == 0


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "there"
    target.mkdir()
    with pytest.raises(InputError, match="cannot write"):
        write_atomically(target, b"a folder stands in the way")
    assert list(tmp_path.iterdir()) == [target]


def test_any_fsspec_url_is_a_store() -> None:
    store = Store("memory://evaluations/one")
    ref = store.write(VERDICTS, verdicts())
    assert store.local is None
    assert store.read(ref).equals(verdicts())


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EACCES, "Permission denied. The folders of runs and store"),
        (errno.EROFS, "Read-only"),
    ],
)
def test_a_refusing_file_system_is_explained(number: int, words: str) -> None:
    assert words in str(explain_error(OSError(number, os.strerror(number)), "cannot write x"))
