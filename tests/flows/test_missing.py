"""A model that is not there does not stop the others: its verdict is an error, theirs are what they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run, free_port
from tests.servers.running import serve_ollama, serve_openai

FEW = (
    "--set", "suites=[basic_control, cot]", "--set", "basic_control.families=[simple_logic, arithmetic]",
    "--set", "basic_control.n_items=3", "--set", "cot.n_samples=3", "--set", "gate=point", "--set", "threshold=0",
    "--set", "basic_control.threshold=0", "--set", "cot.threshold=0",
)  # fmt: skip


def verdicts(folder: Path) -> dict[str, dict[str, Any]]:
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return {model["model"]: model for model in found["final"]["models"]}


def test_the_others_run_and_are_judged(run: Run, tmp_path: Path) -> None:
    with (
        serve_openai("ANSWER: 12", models=["good"]) as server,
        serve_ollama("ANSWER: 12", models=["good"]) as ollama,
    ):
        at = {"provider": "openai", "base_url": server.base_url}
        models = [
            {"name": "away", "provider": "ollama", "base_url": f"http://127.0.0.1:{free_port()}"},
            {"name": "good", **at},
            {"name": "unknown to openai", "model": "none", **at},
            {"name": "unknown to ollama", "model": "none", "provider": "ollama", "base_url": ollama.base_url},
            {"name": "keyless", "provider": "openai", "api_key_env": "NO_SUCH_KEY"},
        ]
        done = run("--set", f"models={json.dumps(models)}", *FEW)
        calls = [seen for seen in server.requests if seen.body["model"] == "good"]
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert len(calls) == 2 * 3 + 3
    (folder,) = (tmp_path / "runs").iterdir()
    found = verdicts(folder)
    assert {name: model["verdict"] for name, model in found.items()} == {
        model["name"]: "pass" if model["name"] == "good" else "error" for model in models
    }
    assert "could not be asked" in found["away"]["reason"]
    assert "NO_SUCH_KEY" in found["keyless"]["reason"]
    assert "ollama pull none" in found["unknown to ollama"]["reason"]
    assert found["good"]["suites"][0]["n_scored"] == 6
    assert all(model["name"] in done.stdout for model in models)
    page = next(folder.rglob("*.html")).read_text(encoding="utf-8")
    assert all(model["name"] in page for model in models)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["status"], sorted(manifest["missing"])) == (
        "completed",
        ["away", "keyless", "unknown to ollama"],
    )


def test_a_run_of_which_no_model_is_there_ends_at_once(run: Run) -> None:
    models = [{"name": n, "provider": "ollama", "base_url": f"http://127.0.0.1:{free_port()}"} for n in "ab"]
    done = run("--set", f"models={json.dumps(models)}", *FEW)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("choice", "sentence"), [("zero", "each scores 0"), ("not_applicable", "does not apply")])
def test_rows_without_contexts_are_counted_though_they_ask_one_question(
    run: Run, tmp_path: Path, choice: str, sentence: str
) -> None:
    """Two rows of one question, without contexts, and a third with them: the screen says 3 of the 4 without."""
    contexts: list[list[str]] = [[], [], ["Paris is in France."], []]
    questions = ["Where is Paris?"] * 3 + ["Where is Oslo?"]
    rows = [
        {"question": question, "response": f"In a country, {number}.", "retrieved_contexts": texts}
        for number, (question, texts) in enumerate(zip(questions, contexts, strict=True))
    ]
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    metrics = {"response_groundedness": {"empty_contexts": choice}, "faithfulness": {"empty_contexts": choice}}
    suite = {"name": "own", "items": {"data": str(data)}, "responses_of": "app", "metrics": metrics}
    path = tmp_path / "eval.yaml"
    judges = [{"name": "overlap", "provider": "rules"}]
    path.write_text(json.dumps({"models": [], "judges": judges, "suites": [suite]}), encoding="utf-8")
    done = run(str(path))
    (line,) = [line for line in done.stdout.splitlines() if "came without retrieved contexts" in line]
    assert "3 replies" in line
    assert sentence in line
    # Both metrics are named: another suite's may count such replies otherwise.
    assert "response_groundedness and faithfulness" in line
