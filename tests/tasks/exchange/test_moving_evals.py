"""Exports of OpenAI Evals as configurations of ours."""

import json
from pathlib import Path
from typing import Any

import pytest

from basic_control.data.errors import InputError
from basic_control.flows.cli.application import main
from basic_control.tasks.exchange.moving.output import convert_file

OUTPUT = "{{ sample.output_text }}"
GRADERS: list[dict[str, Any]] = [
    {"type": "string_check", "input": OUTPUT, "reference": "{{ item.label }}", "operation": "ilike"},
    {"type": "score_model", "model": "gpt-4o", "input": [{"role": "user", "content": f"Is {OUTPUT} brief?"}]},
    {"type": "python", "source": "def grade(sample, item): return 1"},
]
SOURCE = {
    "type": "completions",
    "model": "gpt-4o-mini",
    "source": {"type": "file_content", "content": [{"item": {"text": "My pump leaks.", "label": "Hardware"}}]},
    "input_messages": {"type": "template", "template": [{"role": "developer", "content": "Sort: {{item.text}}"}]},
}
EXPORT: dict[str, Any] = {"object": "eval", "testing_criteria": GRADERS, "data_source": SOURCE}


def write(folder: Path, export: object) -> Path:
    path = folder / "export.json"
    path.write_text(json.dumps(export), encoding="utf-8")
    return path


@pytest.mark.parametrize("export", [EXPORT, {"eval": EXPORT, "runs": [{"data_source": SOURCE}]}])
def test_an_export_converts(tmp_path: Path, export: dict[str, Any]) -> None:
    path = write(tmp_path, export)
    conversion = convert_file(path)
    assert conversion.tool == "OpenAI Evals"
    (suite,) = conversion.suites
    assert {*suite["metrics"]} == {"checks", "rubric"}
    assert suite["prompt"] == [{"role": "system", "content": "Sort: {{ text }}"}]
    assert suite["metrics"]["rubric"]["criteria"] == "Is the response brief?"
    assert [model["name"] for model in (*conversion.models, *conversion.judges)] == ["gpt-4o-mini", "gpt-4o"]
    assert ("python", "left out") in {(note.subject, note.outcome) for note in conversion.account.notes}
    assert main(["init", str(tmp_path / "new"), "--from", str(path)]) == 0
    assert main(["run", str(path)]) == 2


JUDGED = {"input": [{"role": "user", "content": f"Rate {OUTPUT}."}], "model": "gpt-4o"}
SETTINGS: dict[str, dict[str, Any]] = {
    "passing labels": {"type": "label_model", **JUDGED, "labels": ["good", "bad"], "passing_labels": ["good"]},
    "a threshold": {"type": "score_model", **JUDGED, "range": [1, 7], "pass_threshold": 5},
    "sampling": {"type": "score_model", **JUDGED, "sampling_params": {"seed": 1}},
    "a metric": {**GRADERS[0], "type": "text_similarity", "evaluation_metric": "bleu", "pass_threshold": 0.5},
    "another text": {**GRADERS[0], "input": "{{ sample.output_json }}"},
    "several": {"type": "multi", "graders": {}, "calculate_output": "1"},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_no_setting_of_a_grader_vanishes_in_silence(tmp_path: Path, name: str) -> None:
    conversion = convert_file(write(tmp_path, EXPORT | {"testing_criteria": [SETTINGS[name]]}))
    notes = {note.subject: note.outcome for note in conversion.account.notes if note.outcome != "taken"}
    expected = {
        "passing labels": ("label_model.passing_labels", "changed"),
        "a threshold": ("score_model.pass_threshold", "changed"),
        "sampling": ("score_model.sampling_params", "left out"),
        "a metric": ("text_similarity.evaluation_metric", "left out"),
        "another text": ("string_check", "left out"),
        "several": ("multi", "left out"),
    }
    assert expected[name] in notes.items()


def test_what_passes_is_said_to_the_judge(tmp_path: Path) -> None:
    graders = [SETTINGS["passing labels"]]
    (suite,) = convert_file(write(tmp_path, EXPORT | {"testing_criteria": graders})).suites
    criterion = suite["metrics"]["rubric"]["criteria"]
    assert criterion.endswith("is met if the label of the response is good; it is not met if the label is bad.")
    (suite,) = convert_file(write(tmp_path, EXPORT | {"testing_criteria": [SETTINGS["a threshold"]]})).suites
    assert suite["metrics"]["rubric"]["criteria"].endswith("if that score, from 1 to 7, is at least 5.")


def test_further_runs_and_recorded_replies_are_named(tmp_path: Path) -> None:
    content = [{"item": {"text": "a", "label": "b"}, "sample": {"output_text": "c"}}, {"item": {}}]
    source = {**SOURCE, "source": {"type": "file_content", "content": content}}
    runs = [{"data_source": source}, {"data_source": SOURCE}]
    conversion = convert_file(write(tmp_path, {"eval": EXPORT, "runs": runs}))
    subjects = {note.subject for note in conversion.account.notes if note.outcome == "left out"}
    assert {"runs", "items: sample", "items"} <= subjects


HOSTILE = [{"data_source": {}}, {"testing_criteria": 5}, {"data_source": {"source": {"content": [1, {"item": 2}]}}}]


@pytest.mark.parametrize("changes", HOSTILE)
def test_what_cannot_be_converted_is_one_message_or_measured(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = write(tmp_path, EXPORT | changes)
    if "data_source" in changes:
        with pytest.raises(InputError, match=r"export\.json"):
            convert_file(path)
    else:
        assert {*convert_file(path).suites[0]["metrics"]} == {"regex"}
