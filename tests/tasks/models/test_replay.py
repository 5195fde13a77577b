"""The replay client on real files."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from basic_control.config.settings import Model
from basic_control.data.errors import InputError
from basic_control.data.records import Reply
from basic_control.tasks.models import open_client
from tests.tasks.models.asking import ask, call, error_of, reply_of, using

ROWS: list[dict[str, Any]] = [
    {"item_id": "i1", "prompt": "one?", "response": "1", "model": "a"},
    {"item_id": "i2", "prompt": "two?\nreally?", "response": "<think>1+1</think>2", "model": "a"},
    {"item_id": "i1", "prompt": "one?", "response": "uno", "model": "b"},
    {"item_id": "i1", "prompt": "one?", "response": "1 again", "model": "a"},
]


def recorded(folder: Path, rows: list[dict[str, Any]], form: str = "jsonl", **fields: Any) -> Model:
    path = folder / f"replies.{form}"
    if form == "parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif form == "json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    given: dict[str, Any] = {"name": "a", "provider": "replay", "file": str(path)} | fields
    return Model(**given)


@pytest.mark.parametrize("form", ["jsonl", "json", "parquet"])
def test_replies_are_found_by_prompt_or_by_item_in_every_file_form(tmp_path: Path, form: str) -> None:
    model = recorded(tmp_path, ROWS, form)
    assert reply_of(model, call("one?")) == Reply("1", finish_reason="stop")
    assert reply_of(model, call("worded otherwise", item_id="i1")).text == "1"
    assert reply_of(model, call("two?\r\nreally?\n")) == Reply("2", "1+1", "stop")


def test_another_models_replies_are_its_own(tmp_path: Path) -> None:
    assert reply_of(recorded(tmp_path, ROWS, name="mine", model="b"), call("one?")).text == "uno"


def test_the_nth_recording_answers_repeat_n_and_no_other(tmp_path: Path) -> None:
    model = recorded(tmp_path, ROWS)
    heard = ask(model, *(call("one?", repeat=n) for n in range(3)))
    assert [h.text if isinstance(h, Reply) else h.kind for h in heard] == ["1", "1 again", "missing"]


def test_a_repeat_column_says_which_repeat_a_row_answers(tmp_path: Path) -> None:
    model = recorded(tmp_path, [{"prompt": "p", "response": "second", "repeat": 1}])
    assert reply_of(model, call("p", repeat=1)).text == "second"
    assert "only repeats 1" in error_of(model, call("p")).message


def test_a_judges_replies_about_one_item_are_told_apart_by_prompt_alone(tmp_path: Path) -> None:
    rows = [{"item_id": "i", "prompt": p, "response": f"to {p}"} for p in ("split", "entails")]
    model = recorded(tmp_path, rows)
    assert reply_of(model, call("entails", item_id="i")).text == "to entails"
    assert error_of(model, call("another", item_id="i")).kind == "missing"


def test_what_the_file_does_not_hold_is_missing_and_says_so(tmp_path: Path) -> None:
    error = error_of(recorded(tmp_path, ROWS), call("three?", item_id="i3"))
    assert error.kind == "missing"
    assert "'i3'" in error.message
    assert "replies.jsonl" in error.message


def test_our_own_raw_results_are_a_replay_file(tmp_path: Path) -> None:
    raw = {"test_id": "t01_1_1", "model_name": "a", "prompt": "p", "llm_response": "r", "expected_output": "x"}
    failed = raw | {"prompt": "q", "llm_response": None}
    model = recorded(tmp_path, [raw, failed], "json")
    assert reply_of(model, call("p")).text == "r"
    assert error_of(model, call("q")).kind == "missing"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"question": "q", "answer": "a"}\n', "found columns answer, question, expected `item_id` or `prompt`"),
        ("", "found columns none"),
        ('{"prompt": "p", "response": "r"}\n{"prompt": \n', "line 2: not JSON"),
        ('{"prompt": "p", "response": "r"}\n7\n', "line 2: expected a JSON object, found a int"),
        (
            '{"prompt": "p", "response": "r", "repeat": "x"}\n',
            "row 1: found repeat 'x', expected a whole number from 0",
        ),
        ('{"prompt": "p", "response": "r", "repeat": Infinity}\n', "row 1: found repeat inf"),
        ('{"prompt": "p", "response": "r", "model": "b"}\n', "contains replies of b .*expected 'a'; set `model`"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_bad_file_is_one_clear_message(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said) as caught:
        open_client(Model(name="a", provider="replay", file=str(path)))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["none.jsonl", "none.parquet", "bad.parquet", "bad.jsonl", "folder.jsonl"])
def test_a_file_that_cannot_be_read_is_one_clear_message(tmp_path: Path, name: str) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    (tmp_path / "bad.jsonl").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(InputError, match="Expected a Parquet or JSONL file"):
        open_client(Model(name="a", provider="replay", file=str(tmp_path / name)))


def test_identity_changes_with_the_file(tmp_path: Path) -> None:
    first = using(recorded(tmp_path, ROWS), lambda c: c.identity())
    second = using(recorded(tmp_path, ROWS[:3]), lambda c: c.identity())
    assert first["digest"] != second["digest"]
    assert first["provider"] == "replay"
