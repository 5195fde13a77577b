"""A user's files of rows: the forms that are read, packed or not, and what is said of those that cannot be."""

import gzip
from pathlib import Path

import polars as pl
import pytest

from basic_control.data.errors import InputError
from basic_control.data.files import cache_parsed, read_file_rows, release

TABLE = 'question,answer\n"a, b",1\nc,"2\n3"\n'
ROWS = [{"question": "a, b", "answer": "1"}, {"question": "c", "answer": "2\n3"}]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "T.CSV.GZ"])
def test_a_table_is_read_packed_or_not(name: str, tmp_path: Path) -> None:
    content = ("\ufeff" + TABLE).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.lower().endswith(".gz") else content)
    assert [*read_file_rows(tmp_path / name)] == ROWS


@pytest.mark.parametrize("name", ["t.csv.gz", "t.tsv.gz"])
@pytest.mark.parametrize("content", [b"question,answer\na,1\n", gzip.compress(TABLE.encode() * 500, mtime=0)[:60]])
def test_what_is_not_gzip_or_cut_off_is_said_so(name: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"{name}: cannot be read as gzip"):
        [*read_file_rows(path)]


def test_a_table_in_another_encoding_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress("question,answer\nd\u00e9j\u00e0,1\n".encode("latin-1")))
    with pytest.raises(InputError, match="not UTF-8"):
        [*read_file_rows(path)]


def test_a_column_that_is_there_twice_is_said_so_and_a_blank_one_is_not(tmp_path: Path) -> None:
    """A spreadsheet's empty columns have no names; of two answers nobody can tell which one counts."""
    path = tmp_path / "t.csv"
    path.write_text("question,answer,answer\na,1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"t\.csv: the column 'answer' is there twice; rename one of them"):
        [*read_file_rows(path)]
    path.write_text("question,answer,,\na,1,,\n", encoding="utf-8")
    assert [row["answer"] for row in read_file_rows(path)] == ["1"]


def test_a_number_of_four_bytes_is_the_one_that_was_stored(tmp_path: Path) -> None:
    pl.DataFrame({"answer": pl.Series([3.14, None], dtype=pl.Float32)}).write_parquet(tmp_path / "t.parquet")
    assert [*read_file_rows(tmp_path / "t.parquet")] == [{"answer": 3.14}, {"answer": None}]


def test_rows_are_parsed_once_inside_until_they_are_released_or_the_file_changes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TABLE, encoding="utf-8")
    with cache_parsed(), cache_parsed():
        first = [*read_file_rows(path)]
        assert all(one is other for one, other in zip(first, read_file_rows(path), strict=True))
        path.write_text(f"{TABLE}d,3\n", encoding="utf-8")
        changed = [*read_file_rows(path)]
        assert len(changed) == 3
        release([path])
        again = [*read_file_rows(path)]
        assert again == changed
        assert again[0] is not changed[0]
    assert next(read_file_rows(path)) is not next(read_file_rows(path)), "outside nothing is kept"
