"""The examples of docs/examples/moving, with recorded replies, and what the tools left behind say of them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from basic_control.flows.cli.application import main
from tests.conftest import TOP

FOLDER = TOP / "docs" / "examples" / "moving"


@dataclass(frozen=True)
class Example:
    """A file of another tool: replies by a text of their questions, and how many rows hold by its own rules."""

    file: str
    replies: dict[str, str]
    n_rows: int
    n_held: int

    def answer(self, body: dict[str, Any]) -> str:
        """Return the recorded reply to a request."""
        question = str(body["messages"][-1]["content"])
        return next(reply for text, reply in self.replies.items() if text in question)

    @property
    def path(self) -> Path:
        return FOLDER / self.file


EXAMPLES = {
    "promptfoo": Example(
        "promptfoo/promptfooconfig.yaml",
        {
            "charged twice": "billing",
            "blinks red": "network.",  # equals compares the full stop
            "on my contract": "Billing",  # … and upper case
            "every evening": "network",
            "my invoice": "The BILLING team",  # icontains does not
            "modem": "Sorry, that is for the network team.",  # no test may hold "sorry"
        },
        6,
        3,
    ),
    "lm-evaluation-harness": Example(
        "lm-evaluation-harness/sums.yaml",
        {
            "bottles": "4 * 12 = 48. The answer is 48",
            "tickets": "The answer is 1,500.",  # commas and final full stops are ignored
            "stamps": "The answer is 23",
            "nuts": "Each gets 9.",  # the filter finds nothing
            "train": "The answer is 80. The answer is 81",  # the first one counts
        },
        5,
        3,
    ),
    "OpenAI Evals": Example(
        "openai-evals/export.json",
        {"pump": "hardware", "app closes": "Software", "office": "other"},
        3,
        2,
    ),
}
DATA_SETS = {"DeepEval": "deepeval/cases.json", "ragas": "ragas/dataset.jsonl"}
"""Files whose replies are in them, judged by rules."""


def prepare(example: Example, folder: Path, base_url: str) -> Path:
    """Write an example as ours into a folder, its model asked at another address; return its configuration."""
    # It runs dry as well, which says that the model itself is not there.
    main(["init", str(folder / "moved"), "--from", str(example.path)])
    path = folder / "moved" / "eval.yaml"
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    raw["models"] = [{**raw["models"][0], "provider": "openai", "base_url": base_url}]
    path.write_text(yaml.safe_dump(raw, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return path


def count_held(results: Path) -> tuple[int, int]:
    """Return how many rows of a run hold, of how many, over its suites."""
    document = json.loads(results.read_text(encoding="utf-8"))
    (model,) = document["final"]["models"]
    counts = [(suite["score"] * suite["n_asked"], suite["n_asked"]) for suite in model["suites"]]
    return round(sum(n_held for n_held, _ in counts)), sum(n_rows for _, n_rows in counts)
