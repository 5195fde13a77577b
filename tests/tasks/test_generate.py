"""Rows of a data set as items: equal ones are kept, each with an id of its own."""

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest

from basic_control.config.settings import Settings
from basic_control.data.errors import InputError
from basic_control.data.tables import ITEMS
from basic_control.tasks.generate import items_of
from tests.helpers.suites import rows_of

ROW = {"question": "How many?", "reference": "Two.", "retrieved_contexts": ["There are two."], "response": "Two."}
OTHER = {**ROW, "question": "How few?"}


@pytest.fixture
def responses(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (ROW, OTHER, ROW, ROW)), encoding="utf-8")
    return path


def test_equal_rows_are_items_of_their_own_and_first_ones_keep_their_ids(responses: Path) -> None:
    kept_rows = rows_of("rag", data=str(responses))
    ids = [row["item_id"] for row in kept_rows]
    assert len(set(ids)) == 4
    assert [row["item_id"] for row in rows_of("rag", data=str(responses))] == ids
    once = rows_of("rag", data=str(responses), sample_method="first", n_samples=2)
    assert ids[:2] == [row["item_id"] for row in once]
    assert [{**row, "item_id": "", "index": 0} for row in kept_rows[2:]] == [
        {**kept_rows[0], "item_id": "", "index": 0}
    ] * 2


def test_the_third_of_a_kind_is_not_the_second(tmp_path: Path) -> None:
    path = tmp_path / "problems.jsonl"
    row = json.dumps({"question": "What is 1 + 1?", "answer": "1 + 1 = <<1+1=2>>2\n#### 2"})
    path.write_text("\n".join([row] * 5), encoding="utf-8")
    items = rows_of("cot", data=str(path), sample_method="all")
    assert len({one["item_id"] for one in items}) == 5
    assert ITEMS.frame(items).height == 5


def own(folder: Path, rows: list[dict[str, object]], prompt: str, **items: object) -> list[dict[str, object]]:
    """Load rows as the items of an own suite."""
    path = folder / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = {"name": "own", "items": {"data": str(path), **items}, "prompt": prompt, "metrics": ["exact_match"]}
    return list(items_of(Settings.model_validate({"suites": [suite], "models": [{"name": "m"}]}).suites[0]))


def test_half_a_character_becomes_a_replacement_character(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"question": "q\ud800", "answer": "a", "tags": ["\udfff", "\U0001f600"]}]
    (item,) = own(tmp_path, rows, "{{ question }}")
    assert (item["prompt"], json.loads(str(item["facts"]))["tags"]) == ("q\ufffd", ["\ufffd", "\U0001f600"])


def test_dates_decimals_and_bytes_of_a_table_are_kept_as_text(tmp_path: Path) -> None:
    row = {"question": "When?", "answer": date(2024, 1, 2), "price": Decimal("1.50"), "at": [{"t": b"x"}]}
    pl.DataFrame([row]).write_parquet(tmp_path / "t.parquet")
    suite = {
        "name": "own",
        "items": {"data": str(tmp_path / "t.parquet")},
        "prompt": "{{ question }}",
        "metrics": ["exact_match"],
    }
    (item,) = items_of(Settings.model_validate({"suites": [suite], "models": [{"name": "m"}]}).suites[0])
    assert item["answer"] == "2024-01-02"
    assert json.loads(item["facts"]) == {
        "question": "When?",
        "answer": "2024-01-02",
        "price": "1.50",
        "at": [{"t": "b'x'"}],
    }


def questions(listed: list[dict[str, object]]) -> list[object]:
    return [one["question_id"] for one in listed]


def test_a_question_is_the_same_by_another_prompt_from_another_place_and_with_another_label(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"question": f"Is {n} even?", "answer": "yes", "n": n} for n in range(4)]
    asked = own(tmp_path, rows, "{{ question }}")
    assert len(set(questions(asked))) == 4
    turned = [{**row, "answer": "no", "n": 9} for row in reversed(rows)]
    again = own(tmp_path, turned, "Answer yes or no.\n{{ row.question }}")
    assert questions(again) == questions(asked)[::-1]
    assert {one["item_id"] for one in again}.isdisjoint(one["item_id"] for one in asked)
    assert {one["answer_digest"] for one in again}.isdisjoint(one["answer_digest"] for one in asked)
    recorded = own(tmp_path, [{**row, "response": "yes"} for row in rows], "{{ question }}")
    assert questions(recorded) == questions(asked)
    assert questions(own(tmp_path, rows, "{{ question }} {{ n }}")) != questions(asked)
    assert questions(own(tmp_path, rows, "{{ row | tojson }}")) != questions(asked)


def test_questions_of_mixed_languages_are_told_apart_only_where_rows_state_them(tmp_path: Path) -> None:
    bare = own(tmp_path, [{"question": "2 + 2"}], "{{ question }}")
    assert questions(own(tmp_path, [{"question": "2 + 2"}], "{{ question }}", language="ru")) == questions(bare)
    stated = own(tmp_path, [{"question": "2 + 2", "language": one} for one in ("en", "ru")], "{{ question }}")
    assert len({*questions(stated), *questions(bare)}) == 3


def test_a_declared_id_names_the_question_and_must_be_unique_in_its_language(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"nr": n, "question": f"Is {n} even?"} for n in range(2)]
    found = own(tmp_path, rows, "{{ question }}", columns={"id": "nr"})
    assert questions(found) == ["0", "1"]
    assert [one["text_digest"] for one in found] == questions(own(tmp_path, rows, "{{ question }}"))
    with pytest.raises(InputError, match=r"duplicate id '1' in rows 2 and 3; expected unique ids\."):
        own(tmp_path, [*rows, rows[1]], "{{ question }}", columns={"id": "nr"})
    with pytest.raises(InputError, match=r"row 1: missing id"):
        own(tmp_path, [{"nr": "", "question": "?"}], "{{ question }}", columns={"id": "nr"})
    spoken = [{**row, "language": language} for row in rows for language in ("en", "ru")]
    assert len(set(questions(own(tmp_path, spoken, "{{ question }}", columns={"id": "nr"})))) == 4
