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


HOSTILE = [{"data_source": {}}, {"testing_criteria": 5}, {"data_source": {"source": {"content": [1, {"item": 2}]}}}]


@pytest.mark.parametrize("changes", HOSTILE)
def test_what_cannot_be_converted_is_one_message_or_measured(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = write(tmp_path, EXPORT | changes)
    if "data_source" in changes:
        with pytest.raises(InputError, match=r"export\.json"):
            convert_file(path)
    else:
        assert {*convert_file(path).suites[0]["metrics"]} == {"regex"}
