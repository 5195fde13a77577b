"""The explainability evaluation of seed 004, as it ships: separate models, a judge, one file with all named."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import TOP, Run
from tests.helpers.runs import latest
from tests.servers.running import serve_openai


def reply(body: dict[str, Any]) -> str:
    """Reason in one wrong step; cite the first passage; judge everything right."""
    schema = json.dumps(body.get("response_format", {}))
    for verdict in ("ENTAILMENT", "CORRECT", "VERIFIED"):
        if f'"{verdict}"' in schema:
            return json.dumps({"reason": "It says so.", "verdict": verdict})
    if "Passage" in str(body["messages"]) or "[1]" in str(body["messages"]):
        return "It is in the first of these passages [1]."
    return "Two and two make <<2+2=4>>4.\n#### -1"


def test_the_shipped_configuration_writes_one_file_with_both_models_and_the_judge(
    run: Run, tmp_path: Path, shared: Path
) -> None:
    with serve_openai(reply) as server:
        at = {"provider": "openai", "base_url": server.base_url}
        models = [{"name": name, **at} for name in ("llama3.1:8b", "qwen2.5:7b")]
        done = run(
            "--config", str(TOP / "config" / "explainability.yaml"),
            "--set", f"models={json.dumps(models)}",
            "--set", f"judges={json.dumps([{'name': 'gpt-4o', **at}])}",
            "--set", f"cot.data={shared / 'gsm8k_test.parquet'}",
            "--set", f"citation.data={shared / 'nq_dev.parquet'}",
        )  # fmt: skip
        asked = [request.body["model"] for request in server.requests]
    assert done.returncode == 1, done.stderr
    folder = latest(tmp_path)
    (path,) = folder.glob("FINAL_RESULTS_*.json")
    assert path.name == f"FINAL_RESULTS_{folder.name[:8]}.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    assert list(found) == ["XAI_overall_score", "overall_pass", "overall_threshold", "cot", "citation", "weights"]
    assert (found["cot"]["model"], found["cot"]["count"], found["cot"]["pass"]) == ("llama3.1:8b", 30, False)
    citation = found["citation"]
    assert (citation["response_model"], citation["judge_model"], citation["count"]) == ("qwen2.5:7b", "gpt-4o", 5)
    joined = (found["cot"]["avg_score"] + citation["avg_score"]) / 2
    assert found["XAI_overall_score"] == pytest.approx(joined, abs=6e-4)
    assert (asked.count("llama3.1:8b"), asked.count("qwen2.5:7b")) == (30, 5)
    document = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert {row["judge"] for row in document["corrected"]} == {"gpt-4o"}, "what the judge is worth stands here"
    assert "overall" not in done.stdout, "each model has one suite, whose own threshold decides"
