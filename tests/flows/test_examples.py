"""Every folder of docs/examples runs as it stands, from a copy elsewhere, to the scores worked out here."""

import json
import re
import shutil
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from tests.conftest import TOP
from tests.helpers import inside
from tests.helpers.runs import latest
from tests.servers.running import serve, serve_openai
from tests.servers.service import Service

EXAMPLES = TOP / "docs" / "examples"
FOLDERS = sorted(path.parent.name for path in EXAMPLES.glob("*/run.yaml"))
LINES = 15
"""Lines that a suite may take."""


@dataclass(frozen=True)
class Case:
    """What a model says to a prompt that holds a text (in place of it all: a function), and the scores it comes to.

    `parts`: a system's name -> metric -> mean. `rates`: what the judge says to a question that holds a text.
    """

    parts: Mapping[str, Mapping[str, float]]
    says: Mapping[str, str] | Callable[[str], str] = field(default_factory=dict)
    rates: Mapping[str, int] = field(default_factory=dict)
    service: Mapping[str, Any] = field(default_factory=dict)


def in_order(prompt: str) -> str:
    """Sort the words in English, and say them backwards in Russian."""
    words = prompt.rpartition(": ")[2].split()
    return " ".join(sorted(words) if prompt.startswith("Put") else sorted(words, reverse=True))


CASES: Mapping[str, Case] = {
    "gsm8k": Case(
        {"m": {"number": 2 / 3}},
        {
            "baker": "He bakes 84 and keeps 34.\n#### 34",
            "train": "Adults pay 36, children 27.\n#### $63.00",
            "Nadia": "45 + 60 = 105\n#### 105",
        },
    ),
    "multiple-choice": Case(
        {"m": {"choice": 0.75}},
        {"Cairo": "A", "inland": "The answer is the Aral Sea.", "Atacama": "C) South America", "continents?": "B"},
    ),
    "code-tests": Case(
        {"m": {"code_tests": (1 + 0.75) / 2}},  # initials does not take the empty name: three tests of four
        {
            "middle": "    return sorted([a, b, c])[1]",  # the body alone, which continues the row's own column
            "initials": "def initials(name):\n    return '.'.join(w[0].upper() for w in name.split()) + '.'",
        },
    ),
    "support-rubric": Case(
        {"m": {"rubric": (0.75 + 0.75 + 0.25) / 3}},
        {"parcel": "We search for it.", "twice": "You get it back.", "delete": "Buy a newer account."},
        {"friendly": 3, "newer account": 1, "": 5},
    ),
    "rag-service": Case(
        {"museum-guide": {"contains": 1.0, "response_groundedness": 0.5}},
        rates={"family ticket": 0, "": 2},
        service={
            "Sundays": {"answer": "It opens at 11.", "documents": [{"text": "Sundays from 11 to 18."}]},
            "family": {"answer": "A family ticket is 24 euros.", "documents": [{"text": "Free on Mondays."}]},
        },
    ),
    "python-function": Case({"departures": {"exact_match": 2 / 3}}),
    "two-prompts": Case(
        {"m [short]": {"number": 2 / 3}, "m [steps]": {"number": 1.0}},
        {
            "20 g of leaves. How many grams does tea for 7 take? Answer with": "140",
            "jars": "9 * 8 = 72\nANSWER: 72",
            "leaves": "20 / 4 = 5\n5 * 7 = 35\nANSWER: 35",
            "rope": "17",
        },
    ),
    "given-responses": Case({"last week's model": {"similarity": (1 + 22 / 23 + 1) / 3}}),
    "own-metric": Case(
        {"m": {"brevity": (1 + 8 / 10) / 2}},
        {"photo": "Plants make sugar from light.", "sky": "Air scatters blue light far more than it does red"},
    ),
    "own-family": Case({"m": {"alphabet": 0.5}}, in_order),
    "own-provider": Case({"loud": {"exact_match": 1.0}}),
}


def answering(case: Case) -> Callable[[dict[str, Any]], str]:
    """Return what the server of the models and the judge says."""

    def answer(body: dict[str, Any]) -> str:
        asked = str(body["messages"][-1]["content"])
        if body["model"] == "judge":
            rating = next(value for text, value in case.rates.items() if text in asked)
            return json.dumps({"reason": "as told", "rating": rating})
        if callable(case.says):
            return case.says(asked)
        return next(reply for text, reply in case.says.items() if text in asked)

    return answer


def found_at(case: Case) -> Callable[[int, web.Request, Any], Any]:
    """Return what the service of the example answers."""

    def answer(_number: int, _request: web.Request, body: Any) -> Any:
        return next(reply for text, reply in case.service.items() if text in body["question"])

    return answer


def words(case: Case, raw: Mapping[str, Any], stack: ExitStack) -> Iterator[str]:
    """Yield --set assignments that put a scripted server in place of models and judges."""
    server = stack.enter_context(serve_openai(answering(case)))
    at = {"provider": "openai", "base_url": server.base_url}
    if case.service:
        yield f"models.0.url={stack.enter_context(serve(Service(found_at(case)).build()))}/ask"
    elif case.says:
        yield f"models={json.dumps([{'name': 'm', **at}])}"
    if "judges" in raw:
        yield f"judges={json.dumps([{'name': 'judge', **at}])}"


@pytest.mark.parametrize("name", FOLDERS)
def test_an_example_runs_elsewhere_and_comes_to_its_scores(
    name: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    case, folder = CASES[name], tmp_path / name
    shutil.copytree(EXAMPLES / name, folder)
    raw = yaml.safe_load((folder / "run.yaml").read_text(encoding="utf-8"))
    with ExitStack() as stack:
        sets = [*words(case, raw, stack), "gate=off", f"store.root={tmp_path}/store", f"store.runs={tmp_path}/runs"]
        line = ["run", "--config", "run.yaml", *(word for one in sets for word in ("--set", one))]
        code, out, err = inside.call(line, {**environment, "OPENAI_API_KEY": "k"}, folder)
    assert code == 0, out + err
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    models = document["final"]["models"]
    headlines = {model["model"]: [one["parts"] for one in model["suites"]] for model in models}
    parts = {name: dict(ChainMap(*reversed(own))) for name, own in headlines.items()}
    assert parts == {system: pytest.approx(means) for system, means in case.parts.items()}
    scores = {model["model"]: model["score"] for model in models if len(model["suites"]) == 1}
    means = {system: sum(own.values()) / len(own) for system, own in case.parts.items() if system in scores}
    assert scores == pytest.approx(means)


def test_every_folder_is_listed_and_no_suite_is_long() -> None:
    # `moving` holds other tools' files: test_moving_examples.py.
    names = {path.name for path in EXAMPLES.iterdir() if path.is_dir()} - {"moving"}
    assert set(FOLDERS) == set(CASES) == names
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^- \[([\w-]+)\]\(\1/run.yaml\): ", listed, re.MULTILINE)) == set(FOLDERS)
    for name in FOLDERS:
        text = (EXAMPLES / name / "run.yaml").read_text(encoding="utf-8")
        assert len(text.partition("suites:\n")[2].splitlines()) <= LINES, name
