"""One stage failed, or is asked for again: exactly it and what depends on it runs, and no call is paid twice."""

import json
import sys
import zlib
from collections import Counter
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any

import pytest

from basic_control.tasks.runtime.logs import LOGGER
from tests.conftest import Run
from tests.helpers.runs import latest, results
from tests.servers.running import Server, serve_openai
from tests.servers.script import Fault

STREET = [
    "generate", "prepare", "query", "verify", "score", "generate", "given", "judge", "query", "query",
    "score_judged", "judge", "query", "score_judged", "aggregate", "results", "gate", "report",
]  # fmt: skip
NEVER_CACHED = {"query", "judge", "results", "gate", "report"}


def reply(body: dict[str, Any]) -> str:
    schema = json.dumps(body.get("response_format", {}))
    if '"rating"' in schema:
        return '{"reason": "partly", "rating": 1}'
    if '"verdicts"' in schema:
        return '{"verdicts": [{"id": "1", "reason": "stated", "verdict": "SUPPORTED"}]}'
    return '{"claims": ["Anna wrote the book."]}' if '"claims"' in schema else "ANSWER: 12"


def arguments(server: Server, tmp_path: Path) -> list[str]:
    data = tmp_path / "answers.jsonl"
    row = {
        "question": "Who?",
        "response": "Anna did.",
        "reference": "Anna.",
        "retrieved_contexts": ["Anna wrote it."],
    }
    data.write_text(json.dumps(row) + "\n", encoding="utf-8")
    model = {"name": "m", "provider": "openai", "base_url": server.base_url}
    sets = [
        f"models=[{json.dumps(model)}]",
        f"judges=[{json.dumps({**model, 'name': 'judge'})}]",
        "suites=[basic_control,rag]",
        "basic_control.families=[arithmetic]",
        "basic_control.n_items=4",
        f"rag.data={data}",
        "report.html=false",
        f"store.root={tmp_path}/store",
        f"store.runs={tmp_path}/runs",
    ]
    return [word for each in sets for word in ("--set", each)]


CALLS = {"m": 4, "judge": 5}
"""Four items; two splits, two checks and one rating."""


def stages(tmp_path: Path) -> list[tuple[str, bool]]:
    manifest = json.loads((latest(tmp_path) / "manifest.json").read_text(encoding="utf-8"))
    return [(row["stage"], row["cached"]) for row in manifest["stages"]]


def breaking(stage: str, fault: pytest.MonkeyPatch) -> None:
    """Have a stage fail, by a fault that any may meet."""
    import basic_control.flows.full_eval  # noqa: F401 - it has all of them
    from basic_control.tasks.stage import Stage

    def fail(*_args: Any, **_named: Any) -> None:
        raise OSError("made to fail")

    found = {
        id(one): one
        for name, module in sys.modules.items()
        if name.startswith("basic_control.tasks.")
        for one in vars(module).values()
        if isinstance(one, Stage) and one.name == stage
    }
    (broken,) = found.values()
    fault.setattr(broken.task, "fn", fail)


BREAKING = {
    "generate": 0, "query": 0, "verify": 4, "score": 4, "judge": 4, "score_judged": 8, "aggregate": 9, "report": 9,
}  # fmt: skip
"""Stages that fail, one after the other, and how many calls have been made until then."""


def test_after_a_failed_stage_only_it_and_what_follows_runs(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run that fails again and again, each time at a later stage; its last start is a process of its own."""
    done = 0  # stages before this place of the street are kept
    heard = BufferingHandler(10_000)
    monkeypatch.setattr(LOGGER, "handlers", [*LOGGER.handlers, heard])

    def expected(end: int) -> list[tuple[str, bool]]:
        found = [(name, place < done and name not in NEVER_CACHED) for place, name in enumerate(STREET[:end])]
        return sorted(found)  # a judge's own queries end before it does

    with serve_openai(reply) as server:
        given = arguments(server, tmp_path)
        for broken, calls in BREAKING.items():
            with monkeypatch.context() as fault:
                breaking(broken, fault)
                heard.flush()
                failed = run(*given)
            assert failed.returncode == 2
            assert "made to fail" in failed.stderr
            assert "Traceback" not in failed.stderr
            assert len(server.requests) == calls, "no call is made twice"
            first = STREET.index(broken)
            told = [vars(one)["fields"] for one in heard.buffer if vars(one).get("event") == "stage"]
            assert sorted((one["stage"], one["cached"]) for one in told) == expected(first)
            done, given = first, ["--resume"]
        last = run(*given, apart=True)
        assert len(server.requests) == sum(CALLS.values())
    assert last.returncode == 0, last.stderr
    assert sorted(stages(tmp_path)) == expected(len(STREET))
    assert len(list((tmp_path / "runs").iterdir())) == 1, "the run goes on in its own folder"


def test_a_named_stage_runs_anew_with_what_follows_and_nothing_else(run: Run, tmp_path: Path) -> None:
    with serve_openai(reply) as server:
        run(*arguments(server, tmp_path))
        before = results(latest(tmp_path))
        name = latest(tmp_path).name
        for stage, again in (
            ("generate", set(STREET)),
            ("verify", {"verify", "score", "aggregate", "results", "gate", "report"}),
            ("judge", {"judge", "score_judged", "aggregate", "results", "gate", "report"}),
            ("score", {"score", "score_judged", "aggregate", "results", "gate", "report"}),
            ("report", {"results", "gate", "report"}),
        ):
            done = run("--run", name, "--rerun", stage, "--verbose")
            assert {s for s, cached in stages(tmp_path) if not cached} == again | NEVER_CACHED, stage
            assert results(latest(tmp_path)) == before
            assert "No model call was made" in done.stdout
            assert "asked to run again" in done.stdout
        run("--run", name, "--rerun", "score", "--only-suite", "basic_control")
        fresh = Counter(s for s, cached in stages(tmp_path) if not cached)
        assert fresh["score"] == 1
        assert fresh["score_judged"] == 0, "the other suite is left alone"
        assert len(server.requests) == sum(CALLS.values())
        run("--run", name, "--fresh")
        assert len(server.requests) == 2 * sum(CALLS.values()), "with --fresh everything is asked again"
        run("--run", latest(tmp_path).name)
        assert len(server.requests) == 2 * sum(CALLS.values()), "and is remembered like any reply"


def test_only_what_failed_is_asked_again_whatever_became_of_the_cache(run: Run, tmp_path: Path) -> None:
    down = True

    def fault(_number: int, body: dict[str, Any]) -> Fault | None:
        refused = (
            down and "response_format" not in body and zlib.crc32(body["messages"][-1]["content"].encode()) % 2 == 0
        )
        return Fault("status", status=400, message="not now") if refused else None

    with serve_openai(reply, faults=fault) as server:
        given = [*arguments(server, tmp_path), "--set", "basic_control.n_items=12"]
        run(*given)
        failed = sum(row["status"] == "model_error" for row in results(latest(tmp_path)))
        assert 0 < failed < 12
        down = False
        for path in (tmp_path / "store").glob("replies.sqlite*"):
            path.unlink()
        before = len(server.requests)
        done = run("--run", latest(tmp_path).name, "--only-failed")
        assert len(server.requests) - before == failed, done.stderr
    assert all(row["status"] == "scored" for row in results(latest(tmp_path)))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--only-failed"], "expected --run RUN"),
        (["--only-suite", "cot"], "expected --rerun STAGE"),
        (["--run", "19990101_000000"], "no such run"),
        (["--resume"], "found no run"),
    ],
)
def test_what_cannot_be_done_again_is_one_message(run: Run, given: list[str], words: str) -> None:
    done = run(*given)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_what_prune_keeps_of_a_judged_run_reruns_wholly_from_the_cache(run: Run, tmp_path: Path) -> None:
    with serve_openai(reply) as server:
        given = arguments(server, tmp_path)
        run(*given, "--set", "basic_control.seed=1")
        run(*given)
        kept = latest(tmp_path)
        before, calls = results(kept), len(server.requests)
        pruned = run("prune", "--keep", "1", "--grace", "0h", "--yes", command="store")
        assert pruned.returncode == 0, pruned.stderr
        assert "Deleted 1 run, " in pruned.stdout
        assert [path.name for path in (tmp_path / "runs").iterdir()] == [kept.name]
        whole = run("verify", command="store")
        assert whole.returncode == 0, whole.stdout
        done = run("--run", kept.name)
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == calls
    assert {stage for stage, cached in stages(tmp_path) if not cached} == NEVER_CACHED
    assert results(latest(tmp_path)) == before


@pytest.mark.parametrize("how", [["--only-failed"], ["--rerun", "judge"]])
def test_an_unreadable_reply_of_a_judge_is_asked_for_anew(run: Run, tmp_path: Path, how: list[str]) -> None:
    """The split comes from the cache, what could be read as well; only the question without an answer is asked."""
    mended: list[bool] = []

    def speak(body: dict[str, Any]) -> str:
        if '"verdicts"' in json.dumps(body.get("response_format", {})) and not mended:
            return '{"verdicts": [{"id": "1", "reas'
        return reply(body)

    with serve_openai(speak) as server:
        given = [
            *arguments(server, tmp_path),
            "--set",
            "rag.response_groundedness.enabled=false",
            "--set",
            "gate=point",
        ]
        assert run(*given, flow="rag").returncode == 2
        broken = latest(tmp_path).name
        again = run("--run", broken, flow="rag")
        before = len(server.requests)
        mended.append(True)
        done = run("--run", broken, *how, flow="rag")
        bodies = [request.body for request in server.requests[before:]]
    assert "Traceback" not in again.stderr
    assert done.returncode != 2, done.stderr
    # One for each side of the one sample, and none to repair.
    assert len(bodies) == 2
    assert all('"verdicts"' in json.dumps(body["response_format"]) for body in bodies)
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    assert document["final"]["models"][0]["suites"][0]["n_scored"] == 1
