"""The messages of docs/troubleshooting.md are the program's own: provoked here, or found in its source."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from basic_control import ROOMS
from basic_control.data import plugins
from basic_control.flows.cli import application
from tests.conftest import TOP

PAGE = (TOP / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)
MODEL = "models: [{name: m, provider: openai, base_url: 'http://127.0.0.1:9/v1'}]\n"
SUITE = "suites: [{{name: own, items: {{data: {data}}}, prompt: '{prompt}', metrics: [{metric}]}}]\n"


def suite(
    data: str = "rows.csv", prompt: str = "{{ question }}", metric: str = "exact_match", model: str = MODEL
) -> str:
    return model + SUITE.format(data=data, prompt=prompt, metric=metric)


PROVOKED: dict[str, str | list[str]] = {
    "unknown key": "suitez: [cot]\n",
    "unknown metric": suite(metric="exactmatch"),
    "not valid YAML": "suites:\n  - name: own\n    prompt: {{ question }}\n",
    "prompt: cannot be filled": suite(prompt="{{ questio }}"),
    "found a response in": suite(data="half.jsonl"),
    "nothing listens at": suite(),
    "gate_on is": suite().replace("metrics:", "gate_on: pass_at_k, metrics:"),
}  # fmt: skip
"""A part of a message of the page -> a configuration, or a command, that is answered by it."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(plugins.VARIABLE, "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    (tmp_path / "rows.csv").write_text("question,answer\nFrance,Paris\n", encoding="utf-8")
    half = [{"question": "France", "response": "Paris"}, {"question": "Norway"}]
    (tmp_path / "half.jsonl").write_text("".join(json.dumps(row) + "\n" for row in half), encoding="utf-8")
    yield tmp_path
    plugins.forget()


@pytest.mark.parametrize("part", PROVOKED)
def test_a_mistake_is_answered_by_the_pages_message(
    part: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (message,) = (one for one in MESSAGES if part in one)
    given = PROVOKED[part]
    if isinstance(given, str):
        (folder / "eval.yaml").write_text(given, encoding="utf-8")
        given = ["run", "--config", "eval.yaml"]
    assert application.main(given) == 2
    said = capsys.readouterr().err
    assert re.search(".*".join(map(re.escape, filter(None, message.split("…")))), said, re.DOTALL), said


def texts() -> Iterator[str]:
    """Yield the texts of the code and of the catalogue of phrases, with … for a gap."""
    for room in ROOMS:
        for path in (TOP / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    yield "".join(str(one.value) if isinstance(one, ast.Constant) else "…" for one in node.values)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value
    for part in yaml.safe_load((TOP / "prompts" / "en" / "phrases.yaml").read_text(encoding="utf-8")).values():
        yield from (re.sub(r"\{\w+\}", "…", said) for said in part.values())


def test_every_other_message_stands_in_the_code_or_among_its_phrases() -> None:
    known = "\n".join(texts())
    rest = [one for one in MESSAGES if not any(part in one for part in PROVOKED)]
    assert len(rest) > 5
    assert [one for one in rest if one.strip("… ;.") not in known] == []
