"""Word problems are read in every form that people have them in; a wrong file is named with what it lacks."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from basic_control.data.errors import InputError
from basic_control.data.loaders.word_problems import read_problems
from basic_control.data.records import Item

STEPS = "He has 2 + 3 = <<2+3=5>>5.\n#### 5"
ROW = {"question": "Two and 3?", "answer": STEPS}


def jsonl(path: Path, *rows: Mapping[str, object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_jsonl_and_parquet_and_csv_read_alike(tmp_path: Path) -> None:
    pl.DataFrame([ROW]).write_parquet(tmp_path / "same.parquet")
    pl.DataFrame([ROW]).write_csv(tmp_path / "same.csv")
    expected = [Item("", "5", {"question": "Two and 3?", "reference": STEPS})]
    assert read_problems(jsonl(tmp_path / "same.jsonl", ROW)) == expected
    assert all(read_problems(tmp_path / f"same.{form}") == expected for form in ("parquet", "csv"))


def test_mgsm_has_an_answer_and_no_steps(tmp_path: Path) -> None:
    path = tmp_path / "mgsm_ru.tsv"
    path.write_text("Сколько?\t1,080\nА сколько тут?\t-3\n", "utf-8")
    found = read_problems(path)
    assert [item.facts["reference"] for item in found] == ["#### 1,080", "#### -3"]
    assert [item.answer for item in found] == ["1,080", "-3"]
    assert [item.language for item in found] == ["ru", "ru"]


def test_a_quotation_mark_in_mgsms_own_form_is_a_character_as_any_other(tmp_path: Path) -> None:
    path = tmp_path / "mgsm_en.tsv"
    path.write_text('"Two", he said. How many?\t2\n"Three\t3\n', "utf-8")
    assert [item.facts["question"] for item in read_problems(path)] == ['"Two", he said. How many?', '"Three']


def test_a_tsv_may_have_a_header(tmp_path: Path) -> None:
    path = tmp_path / "own.tsv"
    path.write_text("question\tanswer_number\nHow many?\t18\n", "utf-8")
    assert [item.facts["reference"] for item in read_problems(path)] == ["#### 18"]


def test_answer_number_is_written_without_a_point_where_it_is_whole(tmp_path: Path) -> None:
    rows = [{"question": "a", "answer_number": 18.0}, {"question": "b", "answer_number": 2.5}]
    assert [item.answer for item in read_problems(jsonl(tmp_path / "numbers.jsonl", *rows))] == ["18", "2.5"]


def test_language_comes_from_the_row_the_name_or_the_letters(tmp_path: Path) -> None:
    rows = [{"question": q, "answer_number": 1} for q in ("How many?", "Сколько яиц?", "多少？")]
    mixed = read_problems(jsonl(tmp_path / "mixed.jsonl", *rows))
    assert [item.language for item in mixed] == ["en", "ru", "zh"]
    assert [item.language for item in read_problems(jsonl(tmp_path / "mgsm_zh.jsonl", rows[0]))] == ["zh"]
    stated = {**rows[0], "language": "ru"}
    assert len(read_problems(jsonl(tmp_path / "stated.jsonl", stated, rows[1]), language="ru")) == 2


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        (
            "a.jsonl",
            '{"prompt": 1, "gold": 2}\n',
            "found columns prompt, gold; expected columns question and answer",
        ),
        ("b.jsonl", '{"question": "q"}\n', "found columns question; expected columns question and answer"),
        ("c.jsonl", "", "found no row"),
        ("d.jsonl", '{"question": "q", "answer": "5"}\n{oops\n', "line 2: not JSON"),
        ("e.jsonl", "[1, 2]\n", "object 1: expected a JSON object, found a int"),
        ("f.jsonl", '{"question": "q", "answer": "no idea"}\n', "row 1: no final answer"),
        ("g.jsonl", '{"question": "", "answer": "5"}\n', "row 1: no question"),
        ("h.parquet", "not parquet", "cannot be read as Parquet"),
        ("i.tsv", "one\ttwo\tthree\n", "line 1: found 3 columns, expected 2"),
        ("k.jsonl", '{"question": "q", "answer_number": {}}', "row 1: no final answer"),
        ("l.jsonl", "[" * 100_000, "not JSON"),
        ("m.csv", 'question,answer\n"q"x,5\n', "not CSV"),
        ("m.txt", '{"question": "q", "answer": "5"}', "unknown file type"),
        ("n.jsonl", '{"question": "q", "answer": "16 - 7 = 9 eggs. 9 * 2 = 18."}\n', "row 1: no final answer"),
    ],
)
def test_a_wrong_file_is_one_clear_error(tmp_path: Path, name: str, content: str, complaint: str) -> None:
    path = tmp_path / name
    path.write_text(content, "utf-8")
    with pytest.raises(InputError, match=complaint) as error:
        read_problems(path)
    assert str(path) in str(error.value)


def test_half_a_surrogate_pair_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "half.jsonl"
    path.write_text('{"question": "\\ud800?", "answer": "\\udfff #### 5"}', "utf-8")
    (found,) = read_problems(path)
    assert found.facts == {"question": "\ufffd?", "reference": "\ufffd #### 5"}


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "latin.jsonl"
    path.write_bytes('{"question": "caf\u00e9"}'.encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8"):
        read_problems(path)


def test_what_is_not_there_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASIC_CONTROL_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"python -m basic_control fetch gsm8k"):
        read_problems("gsm8k")
    with pytest.raises(InputError, match=r"mgsm_en, mgsm_ru, mgsm_zh"):
        read_problems("mgsm")
    with pytest.raises(InputError, match="no such file"):
        read_problems(tmp_path / "nowhere.jsonl")
    jsonl(tmp_path / "gsm8k.jsonl", ROW)
    assert len(read_problems("gsm8k")) == 1


def test_a_language_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no rows in language 'zh' among 1 \(found: en\). Set `language`"):
        read_problems(jsonl(tmp_path / "one.jsonl", ROW), language="zh")


def test_the_real_files(shared: Path) -> None:
    gsm = read_problems(shared / "gsm8k_test.parquet")
    assert len(gsm) == 1319
    assert all("####" in item.facts["reference"] for item in gsm)
    for language in ("en", "ru", "zh"):
        mgsm = read_problems(shared / f"mgsm_{language}.parquet")
        assert len(mgsm) == 250
        assert {item.language for item in mgsm} == {language}
        assert all(re.fullmatch(r"#### -?[\d,]+", item.facts["reference"]) for item in mgsm)
        # MGSM is the first 250 problems of GSM8K, with the same answers.
        values = [item.answer.replace(",", "") for item in mgsm]
        assert values == [item.answer.replace(",", "") for item in gsm[:250]]
