"""Runs that ask in batches: ended undecided, killed at every turn, collected later; nothing is paid twice."""

import json
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.helpers.preloaded import Preloaded, Process
from tests.helpers.runs import latest
from tests.servers.batches import BatchServer
from tests.servers.running import serve, serve_openai

N = 12


def said(body: dict[str, Any]) -> str:
    return "yes" if "tiny" in body["model"] else json.dumps({"reason": "clear", "rating": 5})


def command(url: str, folder: Path, *more: str) -> list[str]:
    """A suite of one computed and one judged metric; model and judge are asked in batches."""
    data = folder / "questions.jsonl"
    rows = ({"question": f"Is {n} a number?", "answer": "yes"} for n in range(N))
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    shared = {"provider": "openai", "base_url": f"{url}/v1", "batch": "submit"}
    suite = {
        "name": "numbers",
        "items": {"data": str(data)},
        "prompt": "{{ question }}",
        "metrics": {"exact_match": {}, "rubric": {"criteria": "Clear.", "scale": [1, 5]}},
    }
    sets = {
        "models": [{"name": "tiny", **shared}],
        "judges": [{"name": "judge", **shared}],
        "suites": [suite],
        "gate": "point",
        "store.root": str(folder / "store"),
        "store.runs": str(folder / "runs"),
    }
    words = [word for key, value in sets.items() for word in ("--set", f"{key}={json.dumps(value)}")]
    return [*words, *more]


def start(words: list[str], forks: Preloaded) -> Process:
    return forks.start("flows.full_eval", words, forks.environment)


def killed(process: Process, seen: Callable[[], object]) -> None:
    """Kill a run as soon as the server has seen what is waited for."""
    while not seen():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def verdict(folder: Path) -> dict[str, Any]:
    found = json.loads((latest(folder) / "results.json").read_text(encoding="utf-8"))
    (model,) = found["final"]["models"]
    return dict(model)


@pytest.mark.slow
def test_killed_after_submit_after_completion_and_during_collection_nothing_is_paid_twice(
    forks: Preloaded, tmp_path: Path
) -> None:
    server = BatchServer(said, ready=False, hold_answer=True)
    with serve(server.build()) as url:
        words = command(url, tmp_path)
        killed(start(words, forks), lambda: server.made)  # its answer, the batch's id, never came
        server.hold_answer = False
        open_run = start(words, forks)
        out, err = open_run.communicate(timeout=240)
        assert open_run.returncode == 3, err
        model = verdict(tmp_path)
        assert model["verdict"] == "undecided"
        assert model["suites"][0]["reason"] == f"submitted: {N} requests in batches"
        assert "submitted" in out
        pages = [path.read_text(encoding="utf-8") for path in (latest(tmp_path) / "reports").iterdir()]
        assert pages
        assert not [said for page in pages for said in re.findall(".{0,80}calls failed.{0,80}", page)]
        assert len(server.made) == 1, "found by its token, not made again"

        server.hold_content = True
        server.finish()
        killed(start(words, forks), lambda: server.served)  # complete, and being collected
        server.hold_content = False
        killed(start(words, forks), lambda: server.served > 1)  # perhaps while replies are written
        done = start([*words, "--wait"], forks)
        _, err = done.communicate(timeout=240)
        assert done.returncode == 0, err
    assert verdict(tmp_path)["suites"][0]["n_scored"] == N
    assert len(server.charged) == 2 * N, "each question to the model, and to the judge"
    assert set(server.charged.values()) == {1}
    assert server.direct == 0


def test_a_panel_is_undecided_while_the_replies_of_one_of_its_judges_wait(run: Run, tmp_path: Path) -> None:
    """The other judge alone would fail the suite, both together pass it."""
    data = tmp_path / "questions.jsonl"
    data.write_text("".join(json.dumps({"question": f"Is {n} a number?"}) + "\n" for n in range(N)))
    server = BatchServer(said, ready=False)
    with serve_openai('{"reason": "unclear", "rating": 1}') as strict, serve(server.build()) as url:
        shared = {"provider": "openai", "base_url": f"{url}/v1"}
        suite = {"name": "numbers", "items": {"data": str(data)}, "prompt": "{{ question }}", "threshold": 0.4}
        sets = {
            "models": [{"name": "tiny", **shared}],
            "judges": [
                {"name": "strict", "provider": "openai", "base_url": strict.base_url},
                {"name": "kind", "batch": "submit", **shared},
            ],
            "suites": [{**suite, "metrics": {"rubric": {"criteria": "Clear."}}}],
            "gate": "point",
        }
        words = [word for key, value in sets.items() for word in ("--set", f"{key}={json.dumps(value)}")]
        first = run(*words, flow="full_eval")
        (suite,) = verdict(tmp_path)["suites"]
        assert (first.returncode, suite["outcome"], suite["score"]) == (3, "undecided", None), first.stderr
        server.finish()
        assert run(*words, flow="full_eval").returncode == 0
    assert verdict(tmp_path)["suites"][0]["score"] == 0.5


def test_a_short_exam_that_waits_leaves_no_passport(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "questions.jsonl"
    rows = ({"question": f"Is {n} a number?"} for n in range(N))
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    server = BatchServer(said, ready=False)
    with serve(server.build()) as url:
        shared = {"provider": "openai", "base_url": f"{url}/v1"}
        suite = {
            "name": "numbers",
            "items": {"data": str(data)},
            "prompt": "{{ question }}",
            "metrics": {"rubric": {"criteria": "Clear."}},
            "threshold": 0.4,
        }
        sets = {
            "models": [{"name": "tiny", **shared}],
            "suites": [suite],
            "gate": "point",
            "judges": [{"name": "judge", "batch": "submit", "exam": 2, **shared}],
        }
        words = (word for key, value in sets.items() for word in ("--set", f"{key}={json.dumps(value)}"))
        done = run(*words, flow="full_eval")
    assert done.returncode == 3, done.stderr
    assert not [*(tmp_path / "store").glob("passports/*.json")]


def test_an_exam_that_waits_is_undecided(run: Run, tmp_path: Path) -> None:
    server = BatchServer(said, ready=False)
    with serve(server.build()) as url:
        judge = {"name": "judge", "provider": "openai", "base_url": f"{url}/v1", "batch": "submit"}
        words = ("--set", f"judges={json.dumps([judge])}", "--set", "judges_exam.items.steps=[rubric]")
        done = run("--n", "2", *words, command="exam")
    assert done.returncode == 3, done.stderr
    assert not [*(tmp_path / "store").glob("passports/*.json")]
