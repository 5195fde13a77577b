"""Rows in a language that judges have no prompt in are judged in English, and that is said."""

import json
from pathlib import Path

import pytest

from basic_control.metrics.judging import find_template_language
from tests.conftest import Run
from tests.helpers.judges import judged_by
from tests.helpers.runs import latest
from tests.servers.running import serve_openai


@pytest.mark.parametrize(
    ("languages", "says"),
    [
        (["de"], "judges are asked in English about rows in de."),
        (["en", "pt-BR", "ru", "uk"], "judges are asked in English about rows in pt-BR, uk."),
        (["en", "ru", "zh"], ""),
    ],
)
def test_rows_of_other_languages_are_judged_in_english(
    run: Run, tmp_path: Path, languages: list[str], says: str
) -> None:
    rows = [{"question": "?", "response": f"Antwort {name}", "language": name} for name in languages]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    suite = {
        "name": "s",
        "items": {"data": str(tmp_path / "rows.jsonl")},
        "metrics": {"rubric": {"criteria": "Good."}},
    }
    (tmp_path / "run.yaml").write_text(json.dumps({"suites": [suite]}))
    with serve_openai(json.dumps({"reason": "", "rating": 5})) as server:
        done = run("--config", str(tmp_path / "run.yaml"), "--set", judged_by(server))
        systems = [seen.body["messages"][0]["content"].split()[0] for seen in server.requests]
    assert done.returncode == 0, done.stderr
    assert ("asked in English" in done.stderr) is bool(says)
    assert says in done.stderr
    spoken = {"ru": "Ты", "zh": "你是一名细致而公正的评审员。"}
    assert sorted(systems) == sorted(spoken.get(name, "You") for name in languages)
    (model,) = json.loads((latest(tmp_path) / "results.json").read_text())["final"]["models"]
    assert model["suites"][0]["score"] == 1.0


def test_a_prompt_of_the_users_own_is_the_same_in_all_languages() -> None:
    assert find_template_language("Rate {{ response }}", "de") == "de"
