"""A user's file becomes the items that both metrics read, or one clear message."""

import json
from pathlib import Path

import polars as pl
import pytest

from basic_control.data.errors import InputError
from basic_control.data.loaders.retrieved import read_questions
from basic_control.data.records import Item

ROW = {"question": "Q?", "response": "R.", "reference": "G.", "retrieved_contexts": ["a", "b"]}
EXPECTED = Item("", "G.", ROW)


def test_parquet_jsonl_and_csv_give_the_same_items(tmp_path: Path) -> None:
    pl.DataFrame([ROW]).write_parquet(tmp_path / "x.parquet")
    (tmp_path / "x.jsonl").write_text("\ufeff" + json.dumps(ROW) + "\n\n", encoding="utf-8")
    (tmp_path / "x.csv").write_text('question,response,reference,retrieved_contexts\nQ?,R.,G.,"[""a"", ""b""]"\n')
    (tmp_path / "y.csv").write_text(
        'question;response;reference;retrieved_contexts\nQ?;R.;G.;"[""a"", ""b""]"\n', encoding="utf-8-sig"
    )
    for name in ("x.parquet", "x.jsonl", "x.csv", "y.csv"):
        assert read_questions(tmp_path / name) == [EXPECTED]


def test_the_response_may_be_absent_and_other_tools_names_are_known(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"user_input": "Q?", "ground_truth": "G.", "contexts": [{"text": "a"}, "", None]}))
    row = read_questions(path)[0].facts
    assert (row["question"], row["response"], row["reference"], row["retrieved_contexts"]) == (
        "Q?",
        None,
        "G.",
        ["a"],
    )


def test_contexts_in_csv_may_be_one_text_or_none(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('question,reference,retrieved_contexts\nQ,G,"[sic] a text"\nQ,G,plain\nQ,G,\n')
    assert [item.facts["retrieved_contexts"] for item in read_questions(path)] == [["[sic] a text"], ["plain"], []]


def test_all_missing_columns_are_named_at_once(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"question": "Q", "text": "t"}')
    with pytest.raises(
        InputError, match=r"found columns question, text; missing: reference \(or .*retrieved_contexts"
    ):
        read_questions(path)
    assert len(read_questions(path, required=("question",))) == 1


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("x.jsonl", "{", "line 1: not JSON"),
        ("x.jsonl", "1", "line 1: expected a JSON object, found a int"),
        ("x.jsonl", "", "no rows; expected columns question"),
        ("x.jsonl", '{"question": ["Q"], "reference": "", "contexts": []}', "row 1, question: expected a text"),
        (
            "x.jsonl",
            '{"question": "Q", "reference": "", "contexts": [[1]]}',
            "row 1, retrieved_contexts: expected a text",
        ),
        ("x.csv", "question,reference,contexts\nQ,G,c,d\n", "row 1: more cells than the header"),
        ("x.csv", 'question,reference,contexts\n"Q,G,c\n', "not CSV"),
        ("x.xlsx", "", "unknown file type '.xlsx'"),
        ("x.parquet", "no", "cannot be read as Parquet"),
    ],
)
def test_a_broken_file_is_named_with_its_row(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=says):
        read_questions(tmp_path / name)


def test_a_csv_in_another_encoding_is_said_plainly(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes("question,reference,contexts\nЧто?,Да,c\n".encode("cp1251"))
    with pytest.raises(InputError, match="not UTF-8"):
        read_questions(tmp_path / "x.csv")


def test_the_sample_has_twelve_rows_in_two_languages_with_contexts_that_hold_the_reference() -> None:
    sample = read_questions()
    assert len(sample) >= 12
    assert {item.language for item in sample} == {"en", "ru"}
    assert all(item.facts["response"] is None for item in sample)
    assert all(len(item.facts["retrieved_contexts"]) >= 2 and item.facts["reference"] for item in sample)
    assert {item.language for item in read_questions(language="ru")} == {"ru"}


def test_a_list_as_pandas_writes_it_to_csv_is_read_as_a_list(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('question,reference,retrieved_contexts\nQ,G,"[\'a\', ""it\'s b""]"\n')
    assert [item.facts["retrieved_contexts"] for item in read_questions(path)] == [["a", "it's b"]]


@pytest.mark.parametrize("encoding", ["cp1251", "utf-16"])
def test_jsonl_in_another_encoding_is_refused_with_the_line_and_what_to_do(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(json.dumps({**ROW, "question": "вопрос"}, ensure_ascii=False).encode(encoding))
    with pytest.raises(InputError, match=r"line 1: not UTF-8.*save it as UTF-8"):
        read_questions(path)


def test_half_a_surrogate_pair_and_a_hundred_thousand_brackets_are_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({**ROW, "question": "\ud800?", "retrieved_contexts": ["a\udfff"]}))
    row = read_questions(path)[0].facts
    assert (row["question"], row["retrieved_contexts"]) == ("\ufffd?", ["a\ufffd"])
    path.write_text('{"question": ' + "[" * 100_000)
    with pytest.raises(InputError, match="line 1: not JSON"):
        read_questions(path)
    (tmp_path / "x.csv").write_text("question,reference,retrieved_contexts\nQ,G," + "[" * 100_000)
    assert [len(item.facts["retrieved_contexts"]) for item in read_questions(tmp_path / "x.csv")] == [1]


@pytest.mark.parametrize("question", [None, "", "  "])
def test_a_row_with_neither_question_nor_response_is_named(tmp_path: Path, question: str | None) -> None:
    path = tmp_path / "x.jsonl"
    rows = [ROW, {**ROW, "question": question}, {**ROW, "question": question, "response": None}]
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match="row 3: found neither a question nor a response"):
        read_questions(path)
