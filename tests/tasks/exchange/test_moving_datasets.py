"""Data sets of DeepEval and ragas as configurations of ours, and hostile ones."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from basic_control.data.errors import InputError
from basic_control.flows.cli.application import main
from basic_control.tasks.exchange.moving.output import convert_file
from tests.conftest import Run
from tests.helpers.runs import latest

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
    assert conversion.rows == {"answers": [{**TOWER, "answer": "330 m"}]}
    judged = {"factual_correctness", "faithfulness", "context_recall", "context_precision"}
    apart = {"ragas": {"response_groundedness", "similarity"}, "DeepEval": {"exact_match"}}
    assert {*conversion.suites[0]["metrics"]} == judged | apart[tool]
    assert main(["init", str(tmp_path / "new"), "--from", str(path)]) == 0


def test_a_set_without_replies_asks_a_model(tmp_path: Path) -> None:
    path = tmp_path / "goldens.json"
    path.write_text(
        json.dumps([{"input": "Who?", "expected_output": "Ada"}, {"input": ["a", "b"]}]), encoding="utf-8"
    )
    conversion = convert_file(path)
    (row,) = conversion.rows["answers"]
    assert row == {"question": "Who?", "reference": "Ada", "answer": "Ada", "retrieved_contexts": []}
    assert conversion.suites[0]["prompt"] == "{{ question }}"
    assert main(["init", str(tmp_path / "new"), "--from", str(path)]) == 0


def test_an_empty_reply_among_others_is_one_and_the_others_stay(tmp_path: Path, run: Run) -> None:
    """A bot that said nothing to one question was asked all the same."""
    path = tmp_path / "bot.csv"
    replies = ["Ada wrote it.", "", "Eve wrote it."]
    lines = ["question,answer,contexts,ground_truth"]
    lines += [f"Who wrote {n}?,{reply},\"['Ada wrote it.']\",Ada wrote it." for n, reply in enumerate(replies)]
    path.write_text("\n".join(lines), encoding="utf-8")
    conversion = convert_file(path)
    assert [row["response"] for row in conversion.rows["answers"]] == replies
    assert not conversion.models
    notes = {note.subject: note.reason for note in conversion.account.notes}
    assert notes["replies"] == "empty in 1 row, and scored as such"
    assert main(["init", str(tmp_path / "new"), "--from", str(path)]) == 0
    done = run(str(tmp_path / "new" / "eval.yaml"), "--set", "judges.0.exam=0")
    assert "3 replies given; no model was asked" in " ".join(done.stdout.split()), done.stdout + done.stderr
    # Of most rows without a reply, those that have one are left out by name.
    path.write_text("\n".join(lines[:3] + lines[2:3]), encoding="utf-8")
    notes = {note.subject: note.reason for note in convert_file(path).account.notes}
    assert notes["replies"] == "2 rows of 3 have none: a model is asked: the package's stands in"


@pytest.mark.parametrize("cell", ["['A; b.', 'C.']", "['A; b.' 'C.']", "('A; b.', 'C.')", "['A; b.', nan, 'C.']"])
def test_contexts_are_taken_as_pandas_prints_them(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "set.csv"
    path.write_text(f'user_input,response,reference,retrieved_contexts\nWho?,r,e,"{cell}"\n', encoding="utf-8")
    (row,) = convert_file(path).rows["answers"]
    assert row["retrieved_contexts"] == ["A; b.", "C."]


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
    assert {"factual_correctness", "response_groundedness"} < {*suite["metrics"]}
    assert "threshold" not in suite, "shared words decide nothing"
    notes = {note.subject: note.reason for note in conversion.account.notes}
    assert notes["retrieved_contexts, empty in 2 rows"] == (
        "faithfulness, response_groundedness, context_recall, context_precision: no score there"
    )
    assert "no verdict" in notes["metrics"]
    assert main(["init", str(tmp_path / "new"), "--from", str(path)]) == 0
    assert "# The judge rules compares words" in (tmp_path / "new" / "eval.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["query", "input", "user_input"])
def test_questions_by_each_usual_name_are_questions(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({name: "How high?", "response": "r", "retrieved_contexts": ["c"]}), encoding="utf-8")
    (rows,) = convert_file(path).rows.values()
    assert rows[0]["question"] == "How high?"


CHOSEN: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a question and a reply": ({"response": "r"}, ["regex"]),
    "a reference": ({"response": "r", "reference": "e"}, ["factual_correctness", "similarity"]),
    "contexts": ({"response": "r", "retrieved_contexts": ["c"]}, ["faithfulness", "response_groundedness"]),
    "all but a reply, which a model gives": (
        {"reference": "e", "retrieved_contexts": ["c"]},
        [
            *("factual_correctness", "faithfulness", "response_groundedness"),
            *("context_recall", "context_precision", "similarity"),
        ],
    ),
    "an empty reference": (
        {"response": "r", "reference": "", "retrieved_contexts": "['c']"},
        ["faithfulness", "response_groundedness"],
    ),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_metrics_are_those_whose_columns_are_there(tmp_path: Path, name: str) -> None:
    cells, metrics = CHOSEN[name]
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"user_input": "How high?", **cells}) + "\n", encoding="utf-8")
    assert main(["init", str(tmp_path / "new"), "--from", str(path)]) == 0
    text = (tmp_path / "new" / "eval.yaml").read_text(encoding="utf-8")
    (suite,) = yaml.safe_load(text)["suites"]
    assert [*suite["metrics"]] == metrics
    lines = text.splitlines()
    # What each stands for, and whether a judge decides it, is in the head.
    assert "#   answers_question: ResponseRelevancy; a judge that is a model decides" in lines
    assert ("similarity" in metrics) == (
        "#   similarity: NonLLMStringSimilarity; computed, without a judge" in lines
    )
    assert ("faithfulness" in metrics) == ("#   faithfulness: Faithfulness; a judge decides" in lines)


def test_a_metric_that_compares_leaves_out_rows_without_a_reference(run: Run, tmp_path: Path) -> None:
    rows = [{**RAGAS, "user_input": f"How high is {n}?", "reference": "330 m" * (n > 0)} for n in range(3)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert main(["init", str(tmp_path / "new"), "--from", str(path)]) == 0
    done = run("--config", str(tmp_path / "new" / "eval.yaml"))
    assert done.returncode == 0, done.stderr
    (model,) = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))["final"]["models"]
    counts = {suite["metric"]: suite["n_scored"] for suite in model["suites"]}
    assert (counts["similarity"], counts["faithfulness"]) == (2, 3)


UNSCORED: dict[str, tuple[str, str, str]] = {
    "ragas, of many columns": (
        "set.csv",
        f"user_input,response,{','.join(f'm{n}' for n in range(11))}\nWho?,Ada{',x' * 11}\n",
        "m8, m9, …: no score",
    ),
    "ragas": (
        "set.csv",
        "user_input,response\nWho?,Ada\n",
        "data set of ragas, its columns user_input, response: ",
    ),
    "ragas, with an empty score": (
        "set.csv",
        "user_input,response,faithfulness\nWho?,Ada,nan\nWhat?,Bo,\n",
        "its columns user_input, response, faithfulness: no score",
    ),
    "ragas of earlier, with a score": (
        "set.csv",
        "question,answer,contexts,faithfulness\nWho?,Ada,['A.'],1.0\nWhat?,Bo,['B.'],0.5\n",
        "Name the one that holds it, --columns question=question,score=…",
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
    assert words == f"moved --from {file}"
    assert main(["init", *words.split()]) == 0
