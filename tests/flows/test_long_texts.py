"""SPEC 22: a judge whose server enforces the schema judges all of a long text, over real HTTP."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.helpers.enforced import answer
from tests.helpers.judges import judged_by
from tests.helpers.runs import latest
from tests.servers.running import Server, serve_openai
from tests.servers.script import Answer

ALONE = ("--set", "rag.response_groundedness.enabled=false", "--set", "rag.factual_correctness.mode=precision")
SHORT = "Anna wrote the book. It is wrong."


def write(folder: Path, *responses: str) -> Path:
    """Write rows that ask one question, each with its own response."""
    path = folder / "answers.jsonl"
    shared = {"question": "What is known?", "reference": "Anna wrote it.", "retrieved_contexts": ["Anna wrote it."]}
    path.write_text("".join(json.dumps({**shared, "response": text}) + "\n" for text in responses))
    return path


def score(run: Run, tmp_path: Path, server: Server, *responses: str, **judge: Any) -> dict[str, Any]:
    """Return results.json of a run that judges responses."""
    data = write(tmp_path, *responses)
    done = run("--data", str(data), "--set", judged_by(server, **judge), *ALONE, flow="rag")
    assert "Traceback" not in done.stderr
    results: dict[str, Any] = json.loads((latest(tmp_path) / "results.json").read_text())
    return results


def headline(results: Mapping[str, Any]) -> float | None:
    value: float | None = results["final"]["models"][0]["suites"][0]["score"]
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (" ".join(f"Fact {n} is {'right' if n <= 24 else 'wrong'} about the bridge." for n in range(1, 41)), 0.6),
        (" ".join(f"Fact {n} {'is long ' * 16} and it is in the end wrong." for n in range(1, 5)), 0.0),
    ],
    ids=["many claims", "long claims"],
)
def test_all_that_a_long_text_claims_is_judged(run: Run, tmp_path: Path, text: str, value: float) -> None:
    with serve_openai(answer) as server:
        assert headline(score(run, tmp_path, server, text)) == pytest.approx(value)


@pytest.mark.parametrize("finish", ["length", "MAX_TOKENS"])
def test_a_judges_reply_cut_at_its_limit_says_so_and_is_counted(run: Run, tmp_path: Path, finish: str) -> None:
    def cut(body: dict[str, Any]) -> Answer:
        return Answer(answer(body)[:15], finish_reason=finish)

    with serve_openai(cut) as server:
        results = score(run, tmp_path, server, SHORT)
    (cause,) = results["final"]["models"][0]["suites"][0]["failures"]
    assert cause["cause"] == (
        "split: cut reply: the reply was cut at its limit of 1024 tokens; raise the judge's `max_tokens`"
    )
    (page,) = (latest(tmp_path) / "reports").glob("*.html")
    cells = re.findall(r"<td[^>]*>(.*?)</td>", page.read_text().partition("Truncated</th>")[2])
    assert cells[1:4] == ["2", "0", "2"], "replies, those failed and cut; none was answered before"


def test_every_judged_reply_to_a_question_counts_in_the_mean_as_judged(run: Run, tmp_path: Path) -> None:
    with serve_openai(answer) as server:
        results = score(run, tmp_path, server, "It is right.", "It is wrong.", "It was wrong.")
    (mean,) = results["corrected"]
    # Three replies to one question are one sample, by their mean.
    assert (mean["n_samples"], mean["raw"]) == (1, pytest.approx(1 / 3))
    assert headline(results) == pytest.approx(1 / 3)
