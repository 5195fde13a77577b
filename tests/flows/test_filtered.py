"""SPEC 22: what a content filter stopped is missing, not wrong, however its server says so; nor is silence a 0."""

import csv
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import Run
from tests.helpers.judges import judged_by
from tests.helpers.runs import at, latest
from tests.servers.running import serve_ollama, serve_openai
from tests.servers.script import Answer, Fault, Spoken, last_user


def refusal(status: int, error: Any) -> Fault:
    return Fault("status", status=status, raw=json.dumps({"error": error}))


BLOCKED = {"choices": None, "promptFeedback": {"blockReason": "SAFETY"}}
ANNOTATED = [{"prompt_index": 0, "content_filter_results": {"violence": {"filtered": True, "severity": "high"}}}]
WITHOUT_MESSAGE = {"index": 0, "finish_reason": "content_filter: PROHIBITED_CONTENT"}
POLICY = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
FILTERED: tuple[Spoken, ...] = (
    refusal(400, {"message": POLICY, "code": "content_filter", "status": 400}),
    refusal(403, {"message": "Your input was flagged", "code": 403, "metadata": {"reasons": ["violence"]}}),
    refusal(
        400, {"message": "Input text data may contain inappropriate content", "code": "data_inspection_failed"}
    ),
    refusal(400, {"message": "Content Exists Risk", "type": "invalid_request_error"}),
    refusal(403, "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"),
    Answer("City 5", finish_reason="content_filter"),
    Answer(None, message={"refusal": "I'm sorry, I can't assist with that."}),
    Answer(None, body=BLOCKED),
    Answer(None, body={"choices": [WITHOUT_MESSAGE]}),
    Answer(None, body={"choices": [], "prompt_filter_results": ANNOTATED}),
    Answer("City 10 and", finish_reason="SAFETY"),
    Answer(None, message={"content": [{"type": "refusal", "refusal": "I can't."}]}),
)
N = 120
N_FILTERED = len(FILTERED)


def number_of(body: dict[str, Any]) -> int:
    return int(last_user(body).rpartition(" ")[2])


def reply(body: dict[str, Any]) -> Spoken:
    number = number_of(body)
    return FILTERED[number] if number < N_FILTERED else f"City {number}"


def written(folder: Path, n: int = N, **changes: Any) -> str:
    rows = [{"question": f"Country {number}", "answer": f"City {number}"} for number in range(n)]
    (folder / "capitals.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    suite: dict[str, Any] = {
        "name": "capitals",
        "items": {"data": str(folder / "capitals.jsonl")},
        "prompt": "The capital of {{ question }}",
        "metrics": {"exact_match": {}},
        **changes,
    }
    path = folder / "run.yaml"
    path.write_text(json.dumps({"suites": [suite]}))
    return str(path)


def read(tmp_path: Path) -> dict[str, Any]:
    (entry,) = json.loads((latest(tmp_path) / "results.json").read_text())["final"]["models"]
    (suite,) = entry["suites"]
    return dict(suite)


@pytest.mark.parametrize(("threshold", "code"), [(0.9, 0), (0.95, 3)])
def test_filtered_replies_are_missing_between_bounds_and_counted(
    run: Run, tmp_path: Path, threshold: float, code: int
) -> None:
    """108 of 120 right, 12 stopped: 100 %, from 90 % to 100 %."""
    path = written(tmp_path, threshold=threshold)
    with serve_openai(reply) as server:
        done = run("--config", path, "--set", at(server, deadline_s=20), "--set", "gate=point")
        counts = Counter(number_of(seen.body) for seen in server.requests)
    assert set(counts.values()) == {1}, "asking again would change nothing"
    suite = read(tmp_path)
    assert (suite["score"], suite["n_filtered"], suite["n_failed"]) == (1.0, N_FILTERED, 0)
    assert (suite["lower"], suite["upper"]) == (pytest.approx(1 - N_FILTERED / N), 1.0)
    assert [(cause["status"], cause["n"]) for cause in suite["failures"]] == [("filtered", N_FILTERED)]
    assert done.returncode == code, done.stdout
    assert f"a content filter refused or cut off {N_FILTERED} replies" in " ".join(done.stdout.split())
    assert "--only-failed" not in done.stdout


def tables(tmp_path: Path, name: str) -> pl.DataFrame:
    manifest = json.loads((latest(tmp_path) / "manifest.json").read_text())
    digests = [ref["digest"] for ref in manifest["tables"][name]]
    return pl.concat(pl.read_parquet(tmp_path / "store" / "tables" / d[:2] / f"{d}.parquet") for d in digests)


def test_the_text_before_the_cut_is_kept_and_every_report_knows_the_state(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path)
    reports = ("--junit", str(tmp_path / "junit.xml"))
    with serve_openai(reply) as server:
        run("--config", path, "--set", at(server, deadline_s=20), *reports)
        exchanged = run("write", latest(tmp_path).name, "--to", str(tmp_path / "logs"), command="exchange")
    texts = tables(tmp_path, "responses").filter(pl.col("finish_reason") == "content_filter")["text"].to_list()
    assert texts == ["City 5"]
    assert tables(tmp_path, "scores")["status"].value_counts().sort("status").rows() == [
        ("filtered", N_FILTERED),
        ("scored", N - N_FILTERED),
    ]
    folder = latest(tmp_path) / "reports"
    (markdown,) = folder.glob("*.md")
    assert re.search(r"\| Stopped by a filter \|", markdown.read_text())
    assert f"{N_FILTERED} stopped by a content filter" in (tmp_path / "junit.xml").read_text()
    by_status = (latest(tmp_path) / "tables" / "scores.csv").read_text().count(",filtered,filtered,")
    assert by_status == N_FILTERED
    with (latest(tmp_path) / "tables" / "summary.csv").open(encoding="utf-8-sig", newline="") as table:
        assert next(csv.DictReader(table))["n_filtered"] == str(N_FILTERED)
    assert exchanged.returncode == 0, exchanged.stderr


@pytest.mark.parametrize("judge_stopped", FILTERED[:6], ids=range(6))
def test_a_judge_that_a_filter_stops_has_failed(run: Run, tmp_path: Path, judge_stopped: Spoken) -> None:
    path = written(tmp_path, 2, metrics={"rubric": {"criteria": "Right."}})

    def answer(body: dict[str, Any]) -> Spoken:
        return judge_stopped if "rating" in json.dumps(body) else "City"

    with serve_openai(answer) as server:
        run("--config", path, "--set", at(server), "--set", judged_by(server))
    suite = read(tmp_path)
    assert (suite["n_unread"], suite["n_filtered"], suite["score"]) == (2, 0, None)


NOTHING: tuple[tuple[Spoken, str, int], ...] = (
    (Answer(None, body={"choices": None}), "model_error", 3),
    (Answer(None, body={"choices": []}), "model_error", 3),
    (Answer(None, body={"choices": [{"index": 0, "finish_reason": "stop"}]}), "model_error", 3),
    (Answer(None, body={"choices": [{"index": 0, "message": None, "finish_reason": "stop"}]}), "model_error", 3),
    (Answer(None, body={"choices": [{"index": 0, "finish_reason": "length"}]}), "truncated", 1),
    (Answer("", reasoning="Let me think about that", tokens_out=20), "no_answer", 1),
)


def test_where_no_answer_was_made_nothing_is_a_silent_0_nor_asked_to_the_deadline(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, len(NOTHING))
    with serve_openai(lambda body: NOTHING[number_of(body)][0]) as server:
        done = run("--config", path, "--set", at(server, deadline_s=60))
        counts = Counter(number_of(seen.body) for seen in server.requests)
    rows = tables(tmp_path, "scores").join(tables(tmp_path, "items").select("item_id", "answer"), on="item_id")
    found = {int(row["answer"].split()[1]): row["status"] for row in rows.iter_rows(named=True)}
    assert [(found[n], counts[n]) for n in range(len(NOTHING))] == [rest[1:] for rest in NOTHING]
    assert "1 reply is thinking alone, without an answer" in " ".join(done.stdout.split())


def test_ollama_that_only_loads_its_model_has_not_answered(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, 2)
    load = Answer("", finish_reason="load", tokens_in=0, tokens_out=0)
    with serve_ollama(load, models={"tiny": "ab" * 32}) as server:
        model = {"name": "tiny", "base_url": server.base_url, "deadline_s": 60}
        run("--config", path, "--set", f"models=[{json.dumps(model)}]")
        n_asked = len(server.requests)
    assert (read(tmp_path)["n_failed"], n_asked) == (2, 6)
