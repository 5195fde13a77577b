"""Every YAML block of docs/suites.md runs, all in one configuration; every key stands on the page."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from basic_control.data.plugins import discover, metrics
from basic_control.data.records import Loader
from basic_control.data.suites import Suite, Use
from tests.conftest import TOP, Run
from tests.helpers.pages import blocks, write_files
from tests.helpers.runs import latest
from tests.servers.running import serve_openai

PAGE = (TOP / "docs" / "suites.md").read_text(encoding="utf-8")
BLOCKS = [yaml.safe_load(one) for one in blocks("docs/suites.md", "yaml")]

SAYS: Mapping[str, str] = {
    "capitals. The network": "RESTART it",
    "capitals. I was": "REFUND",
    "The network": "Please restart your router.",
    "charged twice": "You get it back, and I am sorry for all the trouble that this was.",
    "5.7?": "",
    "3.20? Show": "2.50 + 3.20 = 5.70 EUR\nAnswer: 5.70 EUR",
    "3.20?": "3.20 and 2.50 make 5.80 EUR",
    "teas": '{"item": "tea", "count": 2, "sugar": true}',
    "cakes": '{"item": "cake", "count": 0}',
    "letter of three": "Dear all. It is fine. Bye.",
    "Greet": "Hello, Anna!",
    "Are you there?": "Yes.",
    "Weather?": "It is fine.",
    "Say hello to Anna.": "Hello, Anna!",
    "How hot is it?": "Sorry, that is unknown.",
}
# System -> suite -> the mean of each metric that makes the score.
ONE = {
    "support": {"contains": 0.5},
    "orders": {"json_match": 0.5},
    "letters": {"rubric": 0.75},
    "short": {"brief": 0.5},
    "assistant": {"tool_calls": 0.5},
    "calls": {"rubric": 1.0},
    "greetings": {"contains": 1.0},
}
EXPECTED: Mapping[str, Mapping[str, Any]] = {
    "llama3.1:8b": ONE,
    "qwen2.5:7b": ONE,
    "llama3.1:8b [plain]": {"sums": {"number": 0.0}},
    "llama3.1:8b [steps]": {"sums": {"number": 1.0}},
    "qwen2.5:7b [plain]": {"sums": {"number": 0.0}},
    "qwen2.5:7b [steps]": {"sums": {"number": 1.0}},
    "last week": {"recorded": {"exact_match": 0.5}},
}


def speak(body: dict[str, Any]) -> str:
    asked = str(body["messages"][-1]["content"])
    if body["model"] == "gpt-6.1-terra":  # two models say the same, so that preference needs nobody
        return json.dumps({"reason": "as told", "rating": 2 if "friendly" in asked else 1})
    return next(said for text, said in SAYS.items() if text in asked)


def written(folder: Path, url: str) -> str:
    """Write all blocks as one configuration, with the files that they name; return its path."""
    write_files(folder, "docs/suites.md")
    whole: dict[str, Any] = {"gate": "off"}
    for one in BLOCKS:
        whole = {**whole, **one, "suites": [*whole.get("suites", ()), *one["suites"]]}
    at = {"provider": "openai", "base_url": url}
    named = next(one["models"] for one in BLOCKS if len(one.get("models", ())) > 1)
    whole |= {"models": [{**one, **at} for one in named], "judges": [{"name": "gpt-6.1-terra", **at}]}
    (folder / "run.yaml").write_text(yaml.safe_dump(whole, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return str(folder / "run.yaml")


def test_every_block_runs_and_comes_to_its_scores(run: Run, tmp_path: Path) -> None:
    with serve_openai(speak) as server:
        done = run("--config", written(tmp_path, server.base_url), cwd=tmp_path)
        temperatures = {
            seen.body["temperature"] for seen in server.requests if seen.body["model"] == "gpt-6.1-terra"
        }
        sums = [seen for seen in server.requests if "3.20" in str(seen.body["messages"])]
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    models = document["final"]["models"]
    found: dict[str, dict[str, dict[str, float]]] = {model["model"]: {} for model in models}
    for model in models:
        for headline in model["suites"]:
            if headline["metric"] != "all":
                found[model["model"]].setdefault(headline["suite"], {}).update(headline["parts"])
    assert found == EXPECTED
    assert temperatures == {0.0, 0.2}, "that of letters, and the default of calls"
    assert len(sums) == 2 * 2 * 2, "two models, two prompts, twice"
    means = {cell["metric"]: cell["mean"] for cell in document["cells"] if cell["suite"] == "letters"}
    assert (means["preference"], means["preference.flipped"]) == (0.5, 0.0)


def test_every_key_and_loader_stands_on_the_page_and_every_metric_on_its_own() -> None:
    reference = (TOP / "docs" / "reference.md").read_text(encoding="utf-8")
    keys = set(re.findall(r"`([\w.]+)`", reference))
    assert {*Suite.model_fields, *Use.model_fields} <= keys
    assert "[reference](reference.md#suites)" in PAGE
    named = set(re.findall(r"`([\w.]+)`", PAGE))
    assert {*discover(Loader)} - {"exam"} <= named, "the judges' exam: docs/judges.md"
    explained = set(re.findall(r"`([\w.]+)`", (TOP / "docs" / "metrics.md").read_text(encoding="utf-8")))
    # What another tool stated: docs/exchange.md.
    assert {*metrics()} - {"stated", "exam"} <= explained
