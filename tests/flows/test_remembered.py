"""What is remembered of a run: nothing that an edited rule made, and everything else."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Run
from tests.helpers.runs import latest
from tests.servers.running import serve_openai

METRIC = """
from basic_control.data.records import Metric, Score


def score(sample, found, options):
    from _words import polite

    return Score(float(polite in sample["response"]))


UNIT = Metric("tone", 1, bounds=(0.0, 1.0), score=score)
"""
FAMILY = """
from basic_control.data.records import Family, Item, Verdict


def generate(rng):
    return Item(f"Say {rng.randint(1, 10**9)}.", "yes")


def verify(item, reply):
    return Verdict(item.answer in reply, "said")


UNIT = Family("saying", 1, {"easy": {}}, generate, verify)
"""
JUDGED = """
from basic_control.data.records import Metric, Question, Score, Step

RATE = Step(
    "rate", lambda sample, found, options: [Question("1", {"text": sample["response"]})], "polite/rate",
    lambda question, text: float(text),
)
UNIT = Metric("polite", 1, bounds=(0.0, 1.0), score=lambda sample, found, options: Score(found["rate"]["1"]),
              steps=(RATE,))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a configuration of two suites, with metrics, a family and their helper of one's own."""
    plugins = tmp_path / "plugins"
    (plugins / "en" / "polite").mkdir(parents=True)
    texts = {"tone.py": METRIC, "saying.py": FAMILY, "polite.py": JUDGED, "_words.py": "polite = 'please'\n"}
    texts |= {"en/polite/rate.j2": "How polite is this? {{ text }}"}
    for name, text in texts.items():
        (plugins / name).write_text(text, encoding="utf-8")
    rows = [{"question": word, "answer": word} for word in ("red", "green", "blue")]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


def configured(folder: Path, url: str) -> str:
    model = {"name": "m", "provider": "openai", "base_url": url}
    own: dict[str, Any] = {"name": "own", "items": {"data": str(folder / "rows.jsonl")}, "prompt": "{{ question }}"}
    own["metrics"] = {"contains": {}, "tone": {}, "polite": {}}
    raw = {
        "models": [model],
        "judges": [{**model, "name": "judge"}],
        "suites": [own, "basic_control"],
        "basic_control": {"families": ["saying"], "n_items": 3},
        "plugins": [str(folder / "plugins")],
        "report": {"html": False},
        "gate": "off",
    }
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    return str(path)


def means(folder: Path) -> dict[str, float]:
    (model,) = json.loads((latest(folder) / "results.json").read_text(encoding="utf-8"))["final"]["models"]
    return {name: value for suite in model["suites"] for name, value in suite["parts"].items()}


def ran(folder: Path) -> set[str]:
    """Return the stages of the latest run that came from no cache, of those that have one; with their metrics."""
    manifest = json.loads((latest(folder) / "manifest.json").read_text(encoding="utf-8"))
    never = {"query", "judge", "results", "gate", "report"}
    rows = (row for row in manifest["stages"] if not row["cached"] and row["stage"] not in never)
    return {" ".join(filter(None, (row["stage"], row["metric"]))) for row in rows}


def edit(path: Path, changes: Mapping[str, str]) -> None:
    text = path.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def test_an_edited_rule_scores_again_without_a_call_and_nothing_else_runs(run: Run, folder: Path) -> None:
    def reply(body: dict[str, Any]) -> str:
        return "0.5" if "How polite" in body["messages"][-1]["content"] else "yes, green, please"

    plugins = folder / "plugins"
    with serve_openai(reply) as server:
        config = configured(folder, server.base_url)

        def again(calls: int = 0) -> None:
            before = len(server.requests)
            done = run("--config", config)
            assert done.returncode == 0, done.stderr
            assert len(server.requests) - before == calls

        again(calls=7)  # three rows and three of the family; the judge sees one reply three times
        third = pytest.approx(1 / 3)
        assert means(folder) == {"contains": third, "tone": 1.0, "polite": 0.5, "saying": 1.0}

        (plugins / "_unrelated.py").write_text('"""A docstring."""\n', encoding="utf-8")
        again()
        assert ran(folder) == set(), "all from the cache"

        # The version stands as it was: the source alone says that the rule is another one.
        edit(plugins / "tone.py", {"float(polite in": "0.25 * float(polite in"})
        again()
        assert means(folder)["tone"] == 0.25
        assert ran(folder) == {"measure tone", "aggregate"}

        again()
        assert ran(folder) == set()

        edit(plugins / "_words.py", {"please": "green, please!"})
        edit(
            plugins / "polite.py",
            {'Score(found["rate"]["1"])': 'Score(found["rate"]["1"] / 2)', '"polite", 1': '"polite", 2'},
        )
        again()
        assert (means(folder)["tone"], means(folder)["polite"]) == (0.0, 0.25)
        assert ran(folder) == {"measure tone", "score_judged polite", "aggregate"}

        edit(plugins / "saying.py", {"item.answer in reply": "item.answer == reply"})
        again()
        assert means(folder)["saying"] == 0.0
        assert ran(folder) == {"generate", "verify", "score", "aggregate"}, "the items are drawn, and are the same"

        # Another prompt is another question: the judge is asked, and nobody else.
        edit(plugins / "en" / "polite" / "rate.j2", {"How polite": "Now: How polite"})
        again(calls=1)
        assert ran(folder) <= {"score_judged polite"}


COUNTED = '''
"""Counts its calls in a file beside it; among its words are those that runs name their folders and files by."""

from pathlib import Path

from basic_control.data.records import Provider, Reply

WORDS = ("runs", "store", "artifacts", "report.md", "results.json")


class Client:
    def __init__(self, model):
        self.model = model

    async def identity(self):
        return {"provider": "counted"}

    async def ask(self, call):
        with (Path(__file__).parent / "calls.log").open("a") as log:
            log.write("asked\\n")
        return Reply("red", finish_reason="stop")

    async def close(self):
        """Nothing is open."""


UNIT = Provider(name="counted", version=1, open=Client)
'''


def test_what_a_run_writes_beside_a_provider_of_ones_own_asks_nothing_again(run: Run, folder: Path) -> None:
    (folder / "counted.py").write_text(COUNTED, encoding="utf-8")
    raw = {
        "models": [{"name": "m", "provider": "counted"}],
        "suites": [
            {
                "name": "own", "items": {"data": str(folder / "rows.jsonl")}, "prompt": "{{ question }}",
                "metrics": {"contains": {}},
            }
        ],
        "plugins": [str(folder / "counted.py")],
        "report": {"markdown": str(folder / "out.md")},
        "gate": "off",
    }  # fmt: skip
    (folder / "run.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    (folder / "artifacts").mkdir()
    for start in range(3):
        done = run("--config", str(folder / "run.yaml"))
        assert done.returncode == 0, done.stderr
        (folder / "artifacts" / f"{start}.md").write_text("written meanwhile", encoding="utf-8")
        (folder / "counted.csv").write_text(f"data {start}", encoding="utf-8")
    assert (folder / "calls.log").read_text(encoding="utf-8") == "asked\n" * 3, "each of three rows, once"
