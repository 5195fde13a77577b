"""Files as people and programs write them: spaces after commas, sep=, documents, pandas' JSON, pointers."""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from basic_control.data.errors import InputError
from basic_control.data.files import read_file_rows
from basic_control.data.json_tables import read_rows
from basic_control.data.loaders.table import read_response

ROWS = [{"question": "a?", "answer": "x, y"}, {"question": "b?", "answer": "z"}]


@pytest.mark.parametrize(
    "text",
    [
        'question,answer\na?,"x, y"\nb?,z\n',
        'question, answer\na?, "x, y"\nb?, z\n',
        ' question , answer \na?, "x, y"\nb?, z\n',
        "sep=;\nquestion;answer\na?;x, y\nb?;z\n",
        "SEP=;\r\nquestion;answer\r\na?;x, y\r\nb?;z\r\n",
        "\ufeffsep=|\nquestion|answer\na?|x, y\nb?|z\n",
        "sep=\t\nquestion\tanswer\na?\tx, y\nb?\tz\n",
        "question; answer\na?; x, y\nb?; z\n",
    ],
)
def test_csv_is_read_as_it_is_written(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    assert [*read_file_rows(path)] == ROWS


def test_white_space_that_a_value_begins_with_stays_where_the_header_has_none(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("question,answer\na?,  x\n")
    assert [*read_file_rows(path)] == [{"question": "a?", "answer": "  x"}]


FRAME = pd.DataFrame(ROWS)
DOCUMENTS: dict[str, Any] = {
    "list": ROWS,
    **{key: {"version": 1, key: ROWS} for key in ("data", "examples", "rows", "questions")},
    "columns": json.loads(FRAME.to_json(orient="columns")),
    "index": json.loads(FRAME.to_json(orient="index")),
    "split": json.loads(FRAME.to_json(orient="split")),
    "table": json.loads(FRAME.to_json(orient="table")),
}  # fmt: skip


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("ending", [".json", ".jsonl", ".json.gz"])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_read_as_its_rows(tmp_path: Path, name: str, ending: str, indent: int | None) -> None:
    path = tmp_path / f"a{ending}"
    text = json.dumps(DOCUMENTS[name], indent=indent)
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    found = [{key: row[key] for key in ("question", "answer")} for row in read_file_rows(path)]
    assert found == ROWS


@pytest.mark.parametrize(
    "row",
    [
        {"question": "a?", "contexts": [{"text": "t"}]},
        {"question": "a?", "data": "x"},
        {"question": {"text": "a?"}, "answer": {"value": 1}},
        {"data": []},
        {"a": {}},
    ],
)
def test_one_row_is_no_document(tmp_path: Path, row: dict[str, Any]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row) + "\n")
    assert [*read_file_rows(path)] == [row]
    assert read_rows(row) is None


def test_rows_with_a_table_in_them_stay_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(2 * (json.dumps({"question": "a?", "data": ROWS}) + "\n"))
    assert len([*read_file_rows(path)]) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\n", "git lfs pull"),
        (b"/annex/objects/SHA256E-s1--ab.csv\n", "git annex get"),
        (b"<!DOCTYPE html>\n<html>", "a web page"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "tsv", "json"])
def test_a_file_that_stands_for_another_is_named(tmp_path: Path, content: bytes, message: str, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        [*read_file_rows(path)]


def test_a_broken_row_is_told_by_its_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n\n{"a": 1 "b": 2}\n')
    with pytest.raises(InputError, match=r"a.jsonl, line 3: not JSON \(Expecting ',' delimiter at character 9\)"):
        [*read_file_rows(path)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(4, "4"), (4.0, "4"), (0.5, "0.5"), (True, "true"), ("x", "x"), ("", ""), (None, None), (float("nan"), None)],
)
def test_a_number_is_a_response(value: Any, expected: str | None) -> None:
    assert read_response(value) == expected
