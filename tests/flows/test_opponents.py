"""Preference against another model of the run: both orders, ties, disagreement counted, nothing asked in vain."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from basic_control.config.reading import read
from basic_control.data.errors import InputError
from basic_control.tasks.plan import resolve
from tests.conftest import Run
from tests.helpers.estimates import estimate
from tests.helpers.runs import latest
from tests.servers.running import serve_openai

# What each model says, and what the judge says of (new, old): a winner, or the place that it always takes.
CASES: Mapping[str, tuple[str, str, str]] = {
    "one": ("new one", "old one", "new"),
    "two": ("new two", "old two", "new"),
    "three": ("new three", "old three", "first"),
    "four": ("new four", "old four", "tie"),
    "five": ("the same", "the same", ""),
    "six": ("new six", "old six", "old"),
}


def speak(body: dict[str, Any]) -> str:
    said = body["messages"][-1]["content"]
    if body["model"] != "judge":
        return CASES[said.rpartition(" ")[2]][body["model"].startswith("old")]
    first = re.search(r"<first-\w+>\s*(\w+) (\w+)", said)
    assert first, said
    winner = CASES[first[2]][2]
    if winner in {"new", "old"}:
        winner = "first" if winner == first[1] else "second"
    return json.dumps({"reason": "as told", "winner": winner})


def written(folder: Path, url: str, *, baseline: str = "old", prompts: bool = False, **more: Any) -> Path:
    rows = "".join(json.dumps({"question": name}) + "\n" for name in CASES)
    (folder / "rows.jsonl").write_text(rows, encoding="utf-8")
    server = {"provider": "openai", "base_url": url}
    one, two = (
        {"prompt": "Say {{ question }}"},
        {"prompts": {"a": "Say {{ question }}", "b": "Say: {{ question }}"}},
    )
    suite: dict[str, Any] = {
        "name": "pairs",
        "items": {"data": str(folder / "rows.jsonl")},
        **(two if prompts else one),
        "metrics": {"preference": {"baseline": baseline}},
        **more,
    }
    run = {
        "models": [{"name": name, **server} for name in ("new", "old")],
        "judges": [{"name": "judge", **server}],
        "suites": [suite],
        "gate": "off",
    }
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(run), encoding="utf-8")
    return path


def scores(tmp_path: Path) -> dict[str, tuple[float, float]]:
    """Return each target's score, and its share of disagreements between the two orders."""
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    own = {model["model"]: model["suites"][0] for model in document["final"]["models"]}
    flipped = {
        row["model"]: row["mean"]
        for row in document["cells"]
        if row["metric"] == "preference.flipped" and not (row["family"] or row["level"] or row["language"])
    }
    return {name: (suite["score"], flipped[name]) for name, suite in own.items()}


def test_a_model_is_compared_with_another_of_the_run(run: Run, tmp_path: Path) -> None:
    with serve_openai(speak) as server:
        path = written(tmp_path, server.base_url)
        planned = estimate(read(path, [f"store.root={tmp_path}/store"]))
        done = run("--config", str(path))
        asked = Counter(seen.body["model"] for seen in server.requests)
        known = estimate(read(path, [f"store.root={tmp_path}/store"]))
        again = run("--config", str(path))
        assert len(server.requests) == sum(asked.values()), "everything is remembered"
    assert done.returncode == 0, done.stderr
    # better twice, a disagreement, a tie, equal texts, worse once; the baseline ties with itself
    assert scores(tmp_path) == {
        "new": (pytest.approx((1 + 1 + 0.5 + 0.5 + 0.5 + 0) / 6), pytest.approx(1 / 6)),
        "old": (0.5, 0.0),
    }
    assert asked == {"new": 6, "old": 6, "judge": 2 * 5}, "equal texts, and a model and itself, need no judge"
    assert {p.name: p.calls for p in planned.portions} == {"new": 6, "old": 6, "judge": 2 * 6}
    assert {(p.name, p.calls, p.cached) for p in known.portions} == {
        ("new", 6, 6),
        ("old", 6, 6),
        ("judge", 10, 10),
    }
    assert "No model call was made" in again.stdout


def test_with_several_prompts_a_model_stands_for_itself_asked_alike_and_a_system_for_itself_alone(
    run: Run, tmp_path: Path
) -> None:
    with serve_openai(speak) as server:
        done = run("--config", str(written(tmp_path, server.base_url, prompts=True)))
        assert done.returncode == 0, done.stderr
        alike = scores(tmp_path)
        results = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
        used = {one["model"]: one["calls"] for one in results["run"]["spending"]["models"]}
        assert (used["new"], used["old"]) == (12, 12), "of both prompts"
        page = next((latest(tmp_path) / "reports").glob("*.html")).read_text(encoding="utf-8")
        assert re.search(r'<th scope="row"[^>]*>new</th><td[^>]*>[^<]*</td><td[^>]*class="num">12</td>', page)
        done = run("--config", str(written(tmp_path, server.base_url, prompts=True, baseline="new [a]")))
        assert done.returncode == 0, done.stderr
    assert alike == {
        "new [a]": (pytest.approx(3.5 / 6), pytest.approx(1 / 6)),
        "new [b]": (pytest.approx(3.5 / 6), pytest.approx(1 / 6)),
        "old [a]": (0.5, 0.0),
        "old [b]": (0.5, 0.0),
    }
    assert {name: score for name, (score, _) in scores(tmp_path).items()} == {
        "new [a]": 0.5,
        "new [b]": 0.5,  # says the same to both prompts
        "old [a]": pytest.approx(2.5 / 6),
        "old [b]": pytest.approx(2.5 / 6),
    }


def test_whom_the_suite_does_not_ask_and_what_is_no_column_is_said_before_anything_is_paid(
    run: Run, tmp_path: Path
) -> None:
    with serve_openai(speak) as server:
        settings = read(written(tmp_path, server.base_url, models=["new"]))
        with pytest.raises(InputError, match=r"compares with the model 'old', which the suite does not ask"):
            resolve(settings)
        done = run("--config", str(written(tmp_path, server.base_url, baseline="odl")))
        assert done.returncode == 2
        assert "column 'odl', required by a metric of the suite, not found" in done.stderr
        assert not server.requests


def test_a_column_of_that_name_goes_first(run: Run, tmp_path: Path) -> None:
    with serve_openai(speak) as server:
        path = written(tmp_path, server.base_url)
        rows = "".join(json.dumps({"question": one, "old": said}) + "\n" for one, (said, _, _) in CASES.items())
        (tmp_path / "rows.jsonl").write_text(rows, encoding="utf-8")
        done = run("--config", str(path))
    assert done.returncode == 0, done.stderr
    assert scores(tmp_path) == {"new": (0.5, 0.0), "old": (pytest.approx(2.5 / 6), pytest.approx(1 / 6))}


def test_whom_others_are_compared_with_is_asked_on_when_it_is_decided_itself(tmp_path: Path) -> None:
    settings = read(written(tmp_path, "http://127.0.0.1:9", prompts=True))
    (suite,) = resolve(settings).suites
    assert suite.add_opponents(["new [a]"]) == ["new [a]", "old [a]"]
    assert suite.add_opponents(["old [b]"]) == ["old [b]"]
    assert suite.add_opponents([]) == []
