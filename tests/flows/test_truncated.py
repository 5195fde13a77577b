"""A run with cut replies: bounds by hand, exit 3 between them, and only what was cut is asked again."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.helpers.judges import judged_by
from tests.helpers.runs import at, latest
from tests.servers.running import serve_openai
from tests.servers.script import Answer, last_user

CAPITALS = {f"Country {n}": f"City {n}" for n in range(12)}


def reply(body: dict[str, Any]) -> Answer:
    """Answer ten of twelve right; the eleventh needs 100 tokens, the last is wrong."""
    number = int(last_user(body).rpartition(" ")[2])
    if number == 10 and body.get("max_tokens", 0) < 100:
        return Answer("It is well known that the", finish_reason="length")
    return Answer("Nowhere" if number == 11 else f"City {number}")


def written(folder: Path) -> Path:
    rows = [{"question": name, "answer": city} for name, city in CAPITALS.items()]
    (folder / "capitals.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = {
        "name": "capitals",
        "items": {"data": str(folder / "capitals.jsonl")},
        "prompt": "The capital of {{ question }}",
        "metrics": {"exact_match": {}},
        "threshold": 0.9,
    }
    path = folder / "run.yaml"
    path.write_text(json.dumps({"suites": [suite], "threshold": 0.9}), encoding="utf-8")
    return path


def test_only_the_cut_reply_is_asked_again_and_decides(run: Run, tmp_path: Path) -> None:
    """10 of 12 right and one cut: 83.3 % to 91.7 %, undecided at 90 %; with room for it 91.7 %, passed."""
    path = str(written(tmp_path))
    with serve_openai(reply) as server:
        model = at(server, max_tokens=64)
        first = run("--config", path, "--set", model)
        assert first.returncode == 3, first.stderr
        assert "truncated replies (1): 83.3% if they are wrong, 91.7% if they are right" in first.stdout
        folder = latest(tmp_path)
        assert f"--run {folder.name} --only-truncated --set models.0.max_tokens=" in first.stdout
        (entry,) = json.loads((folder / "results.json").read_text(encoding="utf-8"))["final"]["models"]
        (suite,) = entry["suites"]
        assert (round(suite["score"], 4), round(suite["upper"], 4), suite["n_truncated"]) == (0.8333, 0.9167, 1)
        counted = run("--config", path, "--set", model, "--set", "undecided=pass")
        assert counted.returncode == 0, counted.stderr
        assert len(server.requests) == 12
        again = ["--run", folder.name, "--only-truncated"]
        refused = run(*again)
        assert (refused.returncode, "--set models.0.max_tokens=" in refused.stderr) == (2, True)
        second = run(*again, "--set", "models.0.max_tokens=256")
        assert second.returncode == 0, second.stderr
        assert len(server.requests) == 13
        assert server.requests[-1].body["max_tokens"] == 256
        name = latest(tmp_path).name
        for repeating in (["--run", name, "--rerun", "score"], ["--resume", name]):
            repeated = run(*repeating)
            assert repeated.returncode == 0, repeated.stderr
            assert len(server.requests) == 13, "the replies that were not cut stay those to the first limit"
    (entry,) = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))["final"]["models"]
    assert (round(entry["score"], 4), entry["upper"], entry["verdict"]) == (0.9167, None, "pass")


def judge(body: dict[str, Any]) -> Answer | str:
    """Answer as the model; as the judge, rate 5, for which answers 4 and 5 of six need 600 tokens."""
    if "response_format" not in body:
        return reply(body)
    rating = json.dumps({"reason": "as it stands", "rating": 5})
    text = str(body["messages"])
    if body["max_tokens"] < 600 and ("City 4" in text or "City 5" in text):
        return Answer(rating[:20], finish_reason="length")
    return rating


@pytest.mark.parametrize("given", [False, True])
def test_only_a_judges_cut_replies_are_asked_again(run: Run, tmp_path: Path, *, given: bool) -> None:
    """Two of six ratings, each cut twice, when asked and when repaired; all else stays, also given responses."""
    rows = [{"question": f"Country {n}", **({"response": f"City {n}"} if given else {})} for n in range(6)]
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = {"name": "polite", "items": {"data": str(data)}, "prompt": "The capital of {{ question }}",
             "metrics": {"rubric": {"criteria": "It is polite."}}, "threshold": 0.5}  # fmt: skip
    path = tmp_path / "run.yaml"
    path.write_text(json.dumps({"suites": [suite], "gate": "point"}), encoding="utf-8")
    with serve_openai(judge) as server:
        models = ["--config", str(path), "--set", at(server, name="m"), "--set", judged_by(server, max_tokens=300)]
        first = run(*models)
        assert first.returncode == 2, "below 90 % could be scored"
        before = list(server.requests)
        again = ["--run", latest(tmp_path).name, "--only-truncated", "--set", "judges.0.max_tokens=900"]
        second = run(*again)
        asked = list(server.requests)[len(before) :]
    judged = Counter("response_format" in one.body for one in before)
    assert (judged[False], judged[True]) == (0 if given else 6, 4 + 2 * 2)
    assert second.returncode == 0, second.stderr
    assert [one.body["max_tokens"] for one in asked] == [900, 900]
    assert all("response_format" in one.body for one in asked)
    texts = [str(one.body["messages"]) for one in asked]
    assert [sum(f"City {n}" in text for text in texts) for n in range(6)] == [0, 0, 0, 0, 1, 1]
    (entry,) = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))["final"]["models"]
    assert [entry["score"], *map(entry["suites"][0].get, ("n_scored", "n_right"))] == [1.0, 6, 6]


def test_a_reply_that_is_all_thinking_is_truncated_whatever_the_server_calls_its_end(
    run: Run, tmp_path: Path
) -> None:
    """By a verifier of ours and by a metric alike; nothing is right, and nothing raises."""
    path = str(written(tmp_path))
    config = json.loads(Path(path).read_text(encoding="utf-8"))
    config["suites"].append("basic_control")
    config["basic_control"] = {"families": ["simple_logic"], "n_items": 3}
    Path(path).write_text(json.dumps(config), encoding="utf-8")
    with serve_openai(lambda _: Answer("", reasoning="Hm, let me see.", tokens_out=64)) as server:
        done = run("--config", path, "--set", at(server, max_tokens=64), "--set", "gate=off")
    assert "Traceback" not in done.stderr
    (entry,) = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))["final"]["models"]
    found = {suite["suite"]: (suite["score"], suite["upper"], suite["n_truncated"]) for suite in entry["suites"]}
    assert found == {"capitals": (0.0, 1.0, 12), "basic_control": (0.0, 1.0, 3)}
