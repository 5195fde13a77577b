"""Data sets of DeepEval and ragas as configurations of ours, and hostile ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from basic_control.data.errors import InputError
from basic_control.flows.cli.application import main
from basic_control.tasks.exchange.moving.output import convert_file

TOWER = {
    "question": "How high?",
    "response": "330 m.",
    "reference": "330 m",
    "retrieved_contexts": ["It is 330 m."],
}
DEEPEVAL = {
    "input": "How high?",
    "actual_output": "330 m.",
    "expected_output": "330 m",
    "retrieval_context": ["It is 330 m."],
}
RAGAS = {
    "user_input": "How high?",
    "response": "330 m.",
    "reference": "330 m",
    "retrieved_contexts": ["It is 330 m."],
}
EARLIER = {"question": "How high?", "answer": "330 m.", "ground_truth": "330 m", "contexts": ["It is 330 m."]}
FILES: dict[str, tuple[str, str, str]] = {
    "a list": ("DeepEval", "set.json", json.dumps([DEEPEVAL])),
    "a mapping of cases": ("DeepEval", "set.json", json.dumps({"test_cases": [DEEPEVAL]})),
    "a table": (
        "DeepEval",
        "set.csv",
        "input,actual_output,expected_output,retrieval_context\nHow high?,330 m.,330 m,It is 330 m.\n",
    ),
    "lines": ("ragas", "set.jsonl", json.dumps(RAGAS) + "\n"),
    "columns": ("ragas", "set.json", json.dumps({name: [value] for name, value in EARLIER.items()})),
    "a table with lists": (
        "ragas",
        "set.csv",
        "user_input,response,reference,retrieved_contexts\nHow high?,330 m.,330 m,['It is 330 m.']\n",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_data_sets_convert(tmp_path: Path, name: str) -> None:
    tool, file, text = FILES[name]
    path = tmp_path / file
    path.write_text(text, encoding="utf-8")
    conversion = convert_file(path)
    assert conversion.tool == tool
    assert conversion.rows == {"answers": [TOWER]}
    assert {*conversion.suites[0]["metrics"]} == {"factual_correctness", "response_groundedness"}
    assert main(["init", str(tmp_path / "new"), "--from", str(path)]) == 0


def test_a_set_without_replies_asks_a_model(tmp_path: Path) -> None:
    path = tmp_path / "goldens.json"
    path.write_text(
        json.dumps([{"input": "Who?", "expected_output": "Ada"}, {"input": ["a", "b"]}]), encoding="utf-8"
    )
    conversion = convert_file(path)
    assert conversion.rows == {"answers": [{"question": "Who?", "reference": "Ada", "retrieved_contexts": []}]}
    assert conversion.suites[0]["prompt"] == "{{ question }}"
    assert main(["init", str(tmp_path / "new"), "--from", str(path)]) == 0


def test_cells_of_any_kind_are_read(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps([{"input": 5, "actual_output": True, "retrieval_context": 7}]), encoding="utf-8")
    (row,) = convert_file(path).rows["answers"]
    assert row == {"question": "5", "response": "true", "reference": "", "retrieved_contexts": ["7"]}


HOSTILE: dict[str, tuple[str, Any]] = {
    "no question": ("a.json", [{"actual_output": "x"}]),
    "numbers": ("a.json", [1, 2]),
    "unequal columns": ("a.json", {"user_input": ["a"], "response": []}),
    "a conversation": ("a.json", [{"user_input": [{"content": "a"}], "reference": {"b": 1}}]),
    "broken": ("a.jsonl", "{"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_data_set_is_one_message(tmp_path: Path, name: str) -> None:
    file, value = HOSTILE[name]
    path = tmp_path / file
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    with pytest.raises(InputError, match=file):
        convert_file(path)


def test_run_answers_with_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "set.json"
    path.write_text(json.dumps([DEEPEVAL]), encoding="utf-8")
    assert main(["run", str(path)]) == 2
    assert f"--from {path}" in capsys.readouterr().err


def test_rows_without_contexts_leave_the_others_theirs(tmp_path: Path) -> None:
    rows = [{**RAGAS, "retrieved_contexts": contexts} for contexts in (["A."], [], "[]")]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    conversion = convert_file(path)
    (suite,) = conversion.suites
    assert {*suite["metrics"]} == {"factual_correctness", "response_groundedness"}
    assert "threshold" not in suite, "shared words decide nothing"
    notes = {note.subject: note.reason for note in conversion.account.notes}
    assert notes["retrieved_contexts, empty in 2 rows"] == "response_groundedness does not apply there"
    assert "no verdict" in notes["metrics"]
    assert main(["init", str(tmp_path / "new"), "--from", str(path)]) == 0
    assert "# The judge rules compares words" in (tmp_path / "new" / "eval.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["query", "input", "user_input"])
def test_questions_by_each_usual_name_are_questions(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({name: "How high?", "response": "r", "retrieved_contexts": ["c"]}), encoding="utf-8")
    (rows,) = convert_file(path).rows.values()
    assert rows[0]["question"] == "How high?"


UNSCORED: dict[str, tuple[str, str, str]] = {
    "ragas": (
        "set.csv",
        "user_input,response\nWho?,Ada\n",
        "data set of ragas, its columns user_input, response: ",
    ),
    "ragas, with an empty score": (
        "set.csv",
        "user_input,response,faithfulness\nWho?,Ada,nan\nWhat?,Bo,\n",
        "no column holds a score (faithfulness: empty in each row)",
    ),
    "ragas of earlier": ("set.csv", "question,answer,contexts\nWho?,Ada,['A.']\n", "data set of ragas"),
    "goldens": ("set.json", json.dumps([{"input": "Who?", "expected_output": "Ada"}]), "data set of DeepEval"),
    "cases": ("set.json", json.dumps({"test_cases": [DEEPEVAL]}), "data set of DeepEval"),
}


@pytest.mark.parametrize("name", UNSCORED)
def test_a_data_set_without_scores_is_answered_with_the_command_that_scores_it(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, text, expected = UNSCORED[name]
    monkeypatch.chdir(tmp_path)
    Path(file).write_text(text, encoding="utf-8")
    assert main(["gate", file, "--threshold", "0.8"]) == 2
    error = capsys.readouterr().err
    assert expected in error
    # The command is the last of the message, and can be typed as it stands.
    _, _, words = error.rstrip().rpartition("init ")
    assert words == f"set --from {file}"
    assert main(["init", *words.split()]) == 0
    capsys.readouterr()
    assert main(["gate", file, "--threshold", "0.8"]) == 2
    assert f"init set-2 --from {file}" in capsys.readouterr().err


def test_scores_in_columns_of_an_earlier_form_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "question,answer,contexts,faithfulness\nWho?,Ada,['A.'],1.0\nWhat?,Bo,['B.'],0.5\n"
    Path("set.csv").write_text(text, encoding="utf-8")
    assert main(["gate", "set.csv", "--threshold", "0.7"]) == 2
    _, _, columns = capsys.readouterr().err.rstrip().rpartition(" ")
    assert main(["gate", "set.csv", "--threshold", "0.7", "--columns", columns]) == 0
