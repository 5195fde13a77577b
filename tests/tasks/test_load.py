"""Rows of a data set as items: equal ones are kept, each with an id of its own."""

import json
from pathlib import Path

import pytest

from data.tables import ITEMS
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
