"""Suites that ask until they are decided: killed, resumed, shared by two workers, and told of."""

import json
import signal
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.helpers import inside
from tests.helpers.preloaded import Preloaded, Process
from tests.helpers.runs import latest
from tests.servers.running import Server, serve_openai

RIGHT = {"good": 100, "near": 80, "bad": 0}
"""Of a hundred questions, how many a model answers right."""


def answer(body: dict[str, Any]) -> str:
    number = zlib.crc32(str(body["messages"][-1]["content"]).encode()) % 100
    return "yes" if number < RIGHT[str(body["model"])] else "no"


def words(server: Server, folder: Path, *models: str, **changes: Any) -> list[str]:
    """Return the command line's settings for a suite of 300 questions that stops when it is decided."""
    data = folder / "questions.jsonl"
    rows = ({"question": f"Is {n} a number?", "answer": "yes"} for n in range(300))
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = {
        "name": "numbers",
        "items": {"data": str(data)},
        "prompt": "{{ question }}",
        "metrics": ["exact_match"],
        "threshold": 0.8,
        "stop": {"first": 20, "most": 80, **changes},
    }
    shared = {"provider": "openai", "base_url": server.base_url, "max_concurrency": 4}
    sets: dict[str, Any] = {"models": [{"name": name, **shared} for name in models or RIGHT], "suites": [suite]}
    sets["gate"] = "point"
    return [word for key, value in sets.items() for word in ("--set", f"{key}={json.dumps(value)}")]


def document(folder: Path) -> dict[str, Any]:
    found = json.loads((latest(folder) / "results.json").read_text(encoding="utf-8"))
    return {key: value for key, value in found.items() if key != "run"}


def asked(server: Server, since: int = 0) -> Counter[tuple[str, str]]:
    seen = list(server.requests)[since:]
    return Counter((r.body["model"], r.body["messages"][-1]["content"]) for r in seen)


def test_the_maximum_is_the_rows_that_there_are(run: Run, tmp_path: Path) -> None:
    with serve_openai(answer) as server:
        done = run(*words(server, tmp_path, "near", first=30, most=1000))
    (model,) = document(tmp_path)["final"]["models"]
    stopping = model["suites"][0]["stopping"]
    # 300 rows, of which no more can be asked, whatever the rule's maximum is.
    assert stopping["most"] == 300
    assert f"{stopping['asked']} of 300 questions" in " ".join(done.stdout.split())


def test_each_model_is_asked_as_long_as_its_verdict_is_open(run: Run, tmp_path: Path) -> None:
    with serve_openai(answer) as server:
        done = run(*words(server, tmp_path))
        counts = Counter(model for model, _ in asked(server).elements())
    assert done.returncode == 1, done.stderr
    found = document(tmp_path)
    models = {model["model"]: model for model in found["final"]["models"]}
    outcomes = {name: model["verdict"] for name, model in models.items()}
    assert outcomes == {"good": "pass", "near": "undecided", "bad": "fail"}
    assert counts["near"] == 80
    assert counts["bad"] == 20
    assert 20 < counts["good"] < 80
    for name, model in models.items():
        (suite,) = model["suites"]
        stopping, last = suite["stopping"], suite["stopping"]["looks"][-1]
        assert stopping["asked"] == counts[name] == suite["n_asked"]
        assert stopping["alpha"] == pytest.approx(0.05 / 3)
        assert suite["interval"]["method"] == model["interval"]["method"] == "sequence"
        assert (suite["interval"]["low"], suite["interval"]["high"]) == (last["low"], last["high"])
        assert last["mean"] == pytest.approx(suite["score"])
    assert "undecided after 80 of at most 80 questions" in models["near"]["suites"][0]["reason"]
    assert f"asked until decided: good {counts['good']} of 80" in done.stdout
    folder = latest(tmp_path) / "reports"
    markdown = next(folder.glob("*.md")).read_text(encoding="utf-8")
    assert "Asked until decided" in markdown
    assert f"| good | numbers | {counts['good']} of 80 |" in markdown
    page = next(folder.glob("*.html")).read_text(encoding="utf-8")
    assert "Asked until decided" in page
    assert f'class="num">{counts["good"]} of 80</td>' in page


def command(server: Server, folder: Path, rows: Path) -> list[str]:
    """Return the command line of the run, its store in a folder of its own."""
    folder.mkdir()
    places = ["--set", f"store.runs={folder}/runs", "--set", f"store.root={folder}/store"]
    return [*words(server, rows), *places]


@pytest.mark.slow
def test_a_killed_and_resumed_run_asks_the_same_and_two_workers_share_it(forks: Preloaded, tmp_path: Path) -> None:
    def begin(line: list[str]) -> Process:
        return forks.start("flows.full_eval", line, forks.environment)

    with serve_openai(answer) as server:
        calm = tmp_path / "calm"
        inside.call(["run", *command(server, calm, tmp_path)], forks.environment)
        undisturbed = asked(server)
        calls = len(server.requests)
        assert set(undisturbed.values()) == {1}

        torn = tmp_path / "torn"
        line = command(server, torn, tmp_path)
        first = begin(line)
        while len(server.requests) < calls + 3 * 20 + 10 and first.poll() is None:
            time.sleep(0.01)
        first.send_signal(signal.SIGKILL)
        first.communicate()
        assert len(server.requests) < 2 * calls
        resumed = begin([*line, "--resume"])
        _, err = resumed.communicate()
        assert resumed.returncode == 1, err
        resumed_asked = asked(server, calls)
        before = len(server.requests)

        shared = tmp_path / "shared"
        line = command(server, shared, tmp_path)
        workers = [begin(line) for _ in range(2)]
        assert [worker.wait(480) for worker in workers] == [1, 1]
        both_asked = asked(server, before)
    assert set(resumed_asked) == set(undisturbed)
    twice = sum(resumed_asked.values()) - len(resumed_asked)
    assert twice <= 4 * len(RIGHT), "only what was in flight when it was killed is asked again"
    assert both_asked == undisturbed, "two workers ask each question once"
    assert len([*(torn / "runs").iterdir()]) == 1, "it went on in its own folder"
    folders = [*(torn / "runs").iterdir(), *(shared / "runs").iterdir()]
    listed = [json.loads((folder / "results.json").read_text()) for folder in folders]
    assert len(listed) == 3
    for one in listed:
        assert {key: value for key, value in one.items() if key != "run"} == document(calm)


def test_a_race_spends_its_calls_on_the_models_that_are_close(run: Run, tmp_path: Path) -> None:
    with serve_openai(answer) as server:
        done = run(*words(server, tmp_path, when="ranked"))
        counts = Counter(model for model, _ in asked(server).elements())
    assert done.returncode in {1, 3}, done.stderr
    assert counts["bad"] < counts["near"] == counts["good"]
    races = {(race["model"], race["against"]): race for race in document(tmp_path)["races"]}
    assert set(races) == {("good", "near"), ("good", "bad"), ("near", "bad")}
    assert races["good", "bad"]["side"] == races["near", "bad"]["side"] == "above"
    assert races["good", "bad"]["decided"] == counts["bad"]
    assert [race["alpha"] for race in races.values()] == pytest.approx([0.05 / 6] * 3)


def test_until_decided_stops_every_suite_of_a_run(run: Run, tmp_path: Path) -> None:
    """A wrong answer to every generated question: a TOTAL is followed by whole templates of both families."""
    reply = "ANSWER: 0"
    with serve_openai(lambda _: reply) as server:
        model = json.dumps([{"name": "m", "provider": "openai", "base_url": server.base_url}])
        done = run(
            "--set", f"models={model}", "--set", "suites=[basic_control]",
            "--set", "basic_control.families=[simple_logic,instructions]", "--set", "gate=point", "--until-decided",
        )  # fmt: skip
    assert done.returncode == 1, done.stderr
    (found,) = document(tmp_path)["final"]["models"]
    (suite,) = found["suites"]
    assert suite["stopping"]["looks"][0]["n"] == 10
    assert suite["stopping"]["asked"] == suite["stopping"]["decided"] == suite["n_asked"] < 1000
    assert suite["outcome"] == "fail"


def test_a_total_of_few_templates_is_asked_at_once_and_it_is_said_why(run: Run, tmp_path: Path) -> None:
    """Thirty questions of one family have nine templates."""
    with serve_openai(lambda _: "ANSWER: 0") as server:
        model = json.dumps([{"name": "m", "provider": "openai", "base_url": server.base_url}])
        suite = {"name": "basic_control", "stop": {"first": 5, "most": 30}}
        done = run(
            "--set", f"models={model}", "--set", f"suites={json.dumps([suite])}",
            "--set", "basic_control.families=[simple_logic]", "--set", "gate=interval",
        )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "a TOTAL stops early with ten " in " ".join(done.stdout.split())
    (shown,) = document(tmp_path)["final"]["models"][0]["suites"]
    assert (shown["n_asked"], shown["stopping"], shown["outcome"]) == (30, None, "fail")
    assert shown["interval"]["high"] < 0.8
