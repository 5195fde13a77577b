"""A small Parquet file that is large when it is read is refused by its metadata, before it is read."""

import resource
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from pyarrow.parquet import ParquetWriter

from basic_control.data.errors import InputError
from basic_control.tasks.exchange import source
from basic_control.tasks.exchange.source import open_source
from basic_control.tasks.store.frames import read_samples
from tests.conftest import TOP

MEMORY = 4 << 30


def write_bomb(path: Path, rows: int, text: str = "yes") -> Path:
    """Write a file of many equal rows, each of which is stored once in a group of a million."""
    group = min(rows, 1_000_000)
    columns = {
        "question": pa.array([text]).dictionary_encode().take(pa.nulls(group, pa.int32()).fill_null(0)),
        "response": pa.array(["yes"]).dictionary_encode().take(pa.nulls(group, pa.int32()).fill_null(0)),
        "score": pa.nulls(group, pa.float64()).fill_null(1.0),
    }
    table = pa.table(columns)
    with ParquetWriter(path, table.schema, compression="zstd") as writer:
        for _ in range(rows // group):
            writer.write_table(table, row_group_size=group)
    return path


def test_millions_of_equal_rows_are_refused_by_their_number(tmp_path: Path) -> None:
    bomb = write_bomb(tmp_path / "bomb.parquet", 6_000_000)
    assert bomb.stat().st_size < 1_000_000
    with pytest.raises(InputError, match=r"bomb.parquet: found 600 MB unpacked, expected at most 537 MB"):
        open_source(bomb)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("compare", "bomb.parquet", "bomb.parquet"), ("gate", "bomb.parquet", "--threshold", "0.5")]
)
def test_a_command_refuses_them_with_a_message(words: tuple[str, ...], tmp_path: Path) -> None:
    write_bomb(tmp_path / "bomb.parquet", 60_000_000)
    command = [sys.executable, "-m", "basic_control", *words]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={"PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY)),
    )
    assert done.returncode == 2, done.stderr
    assert "6,000 MB unpacked" in done.stderr


def test_a_long_text_that_is_stored_once_is_bounded_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "LARGEST", 10_000_000)
    bomb = write_bomb(tmp_path / "bomb.parquet", 50_000, "x" * 1000)
    rows = open_source(bomb).rows()
    with pytest.raises(InputError, match="unpacked"):
        list(rows)


def test_an_honest_table_is_read(tmp_path: Path) -> None:
    rows = {"question": ["a", "b"] * 50_000, "response": ["yes"] * 100_000, "score": [1.0] * 100_000}
    pl.DataFrame(rows).write_parquet(tmp_path / "rows.parquet")
    assert sum(1 for _ in open_source(tmp_path / "rows.parquet").rows()) == 100_000


@pytest.mark.slow
def test_a_table_of_a_run_that_was_sent_is_bounded_too(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    write_bomb(tmp_path / "tables" / "items.parquet", 60_000_000)
    with pytest.raises(InputError, match=r"items.parquet: found 6 GB when read, expected at most 4 GB"):
        read_samples(tmp_path)
