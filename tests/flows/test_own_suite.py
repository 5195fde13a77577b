"""The tutorial's metric and family, a suite and a provider: written into an empty folder, and run."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from basic_control.data.draw import draw
from basic_control.flows.cli.application import main
from tests.conftest import Run
from tests.helpers.pages import block
from tests.helpers.runs import latest

PROVIDER = """
from basic_control.data.records import Provider, Reply


class Parrot:
    def __init__(self, model):
        self.model = model

    async def identity(self):
        return {"provider": "parrot", "model": self.model.name}

    async def ask(self, call):
        text = call.messages[-1].content
        if "are in '" in text:
            word = text.split("'")[1]
            return Reply(str(sum(letter in "aeiou" for letter in word)))
        if "backwards" in text:
            return Reply(text.partition(": ")[2][::-1])
        return Reply("Please restart the router." if "network" in text else "I am " + "very " * 12 + "sorry.")

    async def close(self):
        pass


UNIT = Provider(name="parrot", version=1, open=Parrot)
"""
TICKETS = [
    {"ticket": "The network is down.", "expected": "restart"},
    {"ticket": "I was charged twice.", "expected": "refund"},
]


def written(folder: Path) -> Path:
    """Write a configuration and plug-ins, with a provider that needs no network."""
    plugins = folder / "plugins"
    plugins.mkdir()
    for name in ("brief", "vowels"):
        text = block("docs/tutorial.md", "python", f"def {name}(")
        (plugins / f"{name}.py").write_text(text, encoding="utf-8")
    (plugins / "parrot.py").write_text(PROVIDER, encoding="utf-8")
    (folder / "tickets.jsonl").write_text("".join(json.dumps(row) + "\n" for row in TICKETS), encoding="utf-8")
    support = {
        "name": "support",
        "items": {"data": str(folder / "tickets.jsonl"), "columns": {"question": "ticket", "answer": "expected"}},
        "prompt": "Answer the customer in one sentence.\n\n{{ question }}",
        "metrics": {"contains": {}, "brief": {}},
        "score": ["contains", "brief"],
        "weight": 0.3,
    }
    raw: dict[str, Any] = {
        "plugins": [str(plugins)],
        "models": [{"name": "polly", "provider": "parrot"}],
        "suites": ["basic_control", support],
        "basic_control": {"families": ["vowels", "arithmetic"], "n_items": 3},
        "gate": "off",
    }
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    return path


def test_own_units_are_run_scored_and_reported_without_an_edit_of_the_project(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path)
    planned = run("--config", str(path), "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert "support" in planned.stdout
    assert "8 calls" in planned.stdout
    done = run("--config", str(path))
    assert done.returncode == 0, done.stderr
    folder = latest(tmp_path)
    document = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    (model,) = document["final"]["models"]
    basic, support = model["suites"]
    assert basic["parts"]["vowels"] == 1.0
    assert support["parts"]["contains"] == 0.5
    assert support["parts"]["brief"] == 0.5
    assert abs(support["weight"] - 0.3 / 0.7) < 1e-9
    page = next((folder / "reports").glob("*.html")).read_text(encoding="utf-8")
    assert "support" in page
    assert "vowels" in page
    assert "brief" in page
    assert main(["runs", "list", "--set", f"store.runs={tmp_path / 'runs'}"]) == 0
    assert "support" in capsys.readouterr().out
    again = run("--config", str(path))
    assert "No model call was made" in again.stdout


def test_each_model_and_prompt_is_a_target_and_given_responses_need_no_model(run: Run, tmp_path: Path) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "parrot.py").write_text(PROVIDER, encoding="utf-8")
    rows = [{"question": f"say backwards: word{n}", "answer": f"{n}drow", "response": f"{n}drow"} for n in range(6)]
    for name, kept in (("asked", ("question", "answer")), ("given", ("question", "answer", "response"))):
        text = "".join(json.dumps({key: row[key] for key in kept}) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    suites: list[dict[str, Any]] = [
        {
            "name": "pair",
            "items": {"data": str(tmp_path / "asked.jsonl")},
            "prompts": {"plain": "{{ question }}", "other": "Please help. {{ answer }}"},
            "metrics": ["exact_match"],
        }
    ]
    common = {"plugins": [str(plugins)], "gate": "off"}
    path = tmp_path / "run.yaml"
    models = [{"name": "polly", "provider": "parrot"}]
    text = yaml.safe_dump({**common, "models": models, "suites": suites}, sort_keys=False)
    path.write_text(text, encoding="utf-8")
    done = run("--config", str(path))
    assert done.returncode == 0, done.stderr
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    scores = {model["model"]: model["score"] for model in document["final"]["models"]}
    assert scores == {"polly [plain]": 1.0, "polly [other]": 0.0}
    (pair,) = document["comparisons"]
    assert [*suites[0]["prompts"]] == ["plain", "other"]
    assert (pair["model_b"], pair["model_a"]) == ("polly [plain]", "polly [other]")
    assert pair["difference"] == -1.0, "the later minus the earlier, as configured"
    referring = {"schema": {"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n"}, "compare": "none"}
    metrics = {"exact_match": {}, "json_match": referring}  # Prefect has a `$ref` of its own
    given = {
        "name": "given",
        "items": {"data": str(tmp_path / "given.jsonl")},
        "metrics": metrics,
        "score": ["exact_match"],
    }
    path.write_text(yaml.safe_dump({**common, "suites": [given]}), encoding="utf-8")
    done = run("--config", str(path))
    assert done.returncode == 0, done.stderr
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    (model,) = document["final"]["models"]
    assert (model["model"], model["score"]) == ("responses of given", 1.0)


def test_the_tutorials_family_has_room_for_ten_thousand_items() -> None:
    space: dict[str, Any] = {}
    exec(block("docs/tutorial.md", "python", "def vowels"), space)  # noqa: S102 - our own page
    unit = space["vowels"]
    items = draw(unit, level="hard", language="en", seed=1, count=10_000)
    others = {item.prompt for item in draw(unit, level="hard", language="en", seed=2, count=10_000)}
    assert not others & {item.prompt for item in items}
    assert all(unit.verify(item, unit.reference(item)).correct for item in items[:100])


APPLICATION = """
import re


def answer(prompt, system=""):
    asked = re.search(r"[-+*() 0-9]{5,}", prompt)
    return f"ANSWER: {eval(asked[0]) if system else 'none'}"
"""


def test_two_suites_that_draw_the_same_items_are_each_scored_by_their_own_replies(run: Run, tmp_path: Path) -> None:
    """The same families and seed with another system prompt: the scores of one are no repeats of the other's."""
    (tmp_path / "app.py").write_text(APPLICATION, encoding="utf-8")
    drawn = {"loader": "families", "families": ["arithmetic"], "n_items": 4}
    shared: dict[str, Any] = {"metrics": ["correct"], "threshold": 0.5}
    raw = {
        "models": [{"name": "sums", "provider": "python", "function": f"{tmp_path / 'app.py'}:answer"}],
        "suites": [
            {"name": "plain", "items": drawn, **shared},
            {"name": "told", "items": {**drawn, "levels": ["easy", "medium"]}, "system": "Calculate.", **shared},
        ],
        "gate": "off",
    }
    path = tmp_path / "run.yaml"
    path.write_text(json.dumps(raw), encoding="utf-8")
    done = run("--config", str(path))
    assert done.returncode == 0, done.stderr
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    (model,) = document["final"]["models"]
    assert {one["suite"]: (one["score"], one["n_asked"]) for one in model["suites"]} == {
        "plain": (0.0, 4),
        "told": (1.0, 8),
    }


LISTED = """
from pathlib import Path

from basic_control.data.records import Metric, Score


def score(sample, found, options):
    return Score(float(sample["response"] in Path(options["words"]).read_text().split()))


UNIT = Metric("listed", 1, bounds=(0.0, 1.0), score=score, options={"words": ""})
"""


def test_a_file_that_a_metrics_option_names_scores_again_where_it_was_edited(run: Run, tmp_path: Path) -> None:
    (tmp_path / "listed.py").write_text(LISTED, encoding="utf-8")
    (tmp_path / "given.jsonl").write_text('{"question": "?", "response": "yes"}\n', encoding="utf-8")
    words = tmp_path / "words.txt"
    suite = {
        "name": "given",
        "items": {"data": str(tmp_path / "given.jsonl")},
        "metrics": {"listed": {"words": str(words)}},
    }
    path = tmp_path / "run.yaml"
    path.write_text(json.dumps({"plugins": [str(tmp_path / "listed.py")], "suites": [suite]}), encoding="utf-8")
    scores = []
    for text in ("no", "yes no"):
        words.write_text(text, encoding="utf-8")
        assert run("--config", str(path)).returncode == 0
        document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
        scores.append(document["final"]["models"][0]["score"])
    assert scores == [0.0, 1.0]
