"""The examples of docs/applications.md run as they stand, and what applications retrieve is what judges see."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from tests.conftest import TOP, Run
from tests.helpers.pages import blocks
from tests.helpers.runs import latest
from tests.servers.running import serve, serve_openai
from tests.servers.service import Service

HTTP, PYTHON = blocks("docs/applications.md", "yaml")
(FUNCTION,) = blocks("docs/applications.md", "python")
BOOK, RIVER = "Anna wrote the book.", "The river is long."
QUESTIONS = ("Who wrote the book?", "How long is the river?")


def judge(body: dict[str, Any]) -> str:
    """Find a response grounded where it stands in the contexts shown too: once more than as itself."""
    asked = body["messages"][-1]["content"]
    grounded = any(asked.count(one) > 1 for one in (BOOK, RIVER))
    return json.dumps({"reason": "as it stands", "rating": 2 if grounded else 0})


def service(_number: int, _request: web.Request, body: Any) -> Any:
    """Answer the book's question from its own context, and the river's from nothing that it found."""
    if "book" in body["question"]:
        return {"answer": BOOK, "documents": [{"text": BOOK}, {"text": "It has nine chapters."}]}
    return {"answer": RIVER, "documents": [{"text": "Fish swim."}]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [{"question": one} for one in QUESTIONS]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "my_app.py").write_text(FUNCTION)
    return tmp_path


def written(folder: Path, example: str, judged: str, asked: str = "") -> str:
    """Write an example with its addresses and files those of this test; return the configuration's path."""
    text = example.replace("questions.jsonl", str(folder / "questions.jsonl"))
    text = text.replace("my_app.py", str(folder / "my_app.py")).replace("http://127.0.0.1:8080", asked)
    text = text.replace(
        "{name: gpt-6.1-terra, provider: openai,", f"{{name: gpt-6.1-terra, provider: openai, url: '{judged}',"
    )
    path = folder / "run.yaml"
    path.write_text(f"{text}gate: point\n")
    return str(path)


def ratings(tmp_path: Path) -> dict[str, float | None]:
    """Return each question's groundedness in the latest run."""
    import polars as pl

    manifest = json.loads((latest(tmp_path) / "manifest.json").read_text(encoding="utf-8"))

    def table(name: str) -> pl.DataFrame:
        listed = [ref["digest"] for ref in manifest["tables"][name]]
        return pl.concat(pl.read_parquet(tmp_path / "store" / "tables" / d[:2] / f"{d}.parquet") for d in listed)

    scores = table("scores").filter(metric="response_groundedness").join(table("items"), on="item_id")
    return {json.loads(row["facts"])["question"]: row["value"] for row in scores.iter_rows(named=True)}


def test_a_rag_service_behind_http_is_asked_and_scored_in_what_it_retrieved(run: Run, folder: Path) -> None:
    asked = Service(service)
    with serve(asked.build()) as url, serve_openai(judge) as judges:
        config = written(folder, HTTP, judges.base_url, url)
        done = run("--config", config, extra={"OPENAI_API_KEY": "k-123456"})
        assert ratings(folder) == dict(zip(QUESTIONS, (1.0, 0.0), strict=True)), done.stdout + done.stderr
        assert sorted(body["question"] for *_, body in asked.seen) == sorted(QUESTIONS)
        assert all(body["top_k"] == 3 and path == "/ask" for _, path, _, body in asked.seen)
        calls = len(asked.seen), len(judges.requests)
        run("--config", config, extra={"OPENAI_API_KEY": "k-123456"})
        assert (len(asked.seen), len(judges.requests)) == calls, "everything is remembered, contexts included"
    assert "Traceback" not in done.stderr


def test_a_function_is_asked_and_scored_in_what_it_retrieved(run: Run, folder: Path) -> None:
    with serve_openai(judge) as judges:
        config = written(folder, PYTHON, judges.base_url)
        done = run("--config", config, extra={"OPENAI_API_KEY": "k-123456"})
    assert ratings(folder) == dict.fromkeys(QUESTIONS, 1.0), done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_function_that_raises_on_one_row_ends_that_row_alone(run: Run, folder: Path) -> None:
    broken = FUNCTION.replace(
        "    found =", '    if "river" in item["question"]:\n        raise KeyError("river")\n    found ='
    )
    (folder / "my_app.py").write_text(broken)
    with serve_openai(judge) as judges:
        done = run("--config", written(folder, PYTHON, judges.base_url), extra={"OPENAI_API_KEY": "k-123456"})
    assert ratings(folder) == dict(zip(QUESTIONS, (1.0, None), strict=True)), done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_rows_of_ones_own_need_no_contexts_where_each_system_brings_them(run: Run, folder: Path) -> None:
    """The dry run counts a judge's call for each; a model beside it, which retrieves nothing, needs the column."""
    suite = {
        "name": "grounded",
        "items": {"data": str(folder / "questions.jsonl")},
        "prompt": "{{ question }}",
        "metrics": ["response_groundedness"],
    }
    asked = {"name": "my-rag", "provider": "python", "function": f"{folder}/my_app.py:answer"}
    path = folder / "own.yaml"
    with serve_openai(judge) as judges:
        server = {"provider": "openai", "base_url": judges.base_url}
        shared = {"judges": [{"name": "judge", **server}], "suites": [suite], "gate": "off"}
        path.write_text(yaml.safe_dump({"models": [asked], **shared}))
        planned = run("--config", str(path), "--dry-run")
        done = run("--config", str(path))
        assert ratings(folder) == dict.fromkeys(QUESTIONS, 1.0), done.stdout + done.stderr
        path.write_text(yaml.safe_dump({"models": [asked, {"name": "plain", **server}], **shared}))
        refused = run("--config", str(path))
    assert planned.returncode == 0, planned.stderr
    assert "4 calls" in planned.stdout, "two of the application, two of the judge"
    assert refused.returncode == 2
    assert "column 'retrieved_contexts', required by a metric of the suite, not found" in refused.stderr


@pytest.mark.slow
def test_an_interrupt_ends_a_function_that_never_returns(environment: dict[str, str], folder: Path) -> None:
    (folder / "my_app.py").write_text(
        f"import os, pathlib, threading\nPID = pathlib.Path({str(folder / 'pid')!r})\n"
        "def answer(prompt):\n    PID.write_text(f'{os.getpid()}\\n')\n    threading.Event().wait()\n"
    )
    places = ["--set", f"store.root={folder}/store", "--set", f"store.runs={folder}/runs"]
    begun = {**environment, "OPENAI_API_KEY": "k-123456"}
    with serve_openai(judge) as judges:
        config = written(folder, PYTHON, judges.base_url)
        command = [sys.executable, "-m", "flows.full_eval", "--config", config, *places]
        process = subprocess.Popen(command, cwd=TOP, env=begun, stderr=subprocess.PIPE, text=True)
        while not ((folder / "pid").exists() and (folder / "pid").read_text().endswith("\n")):
            assert process.poll() is None
            time.sleep(0.05)
        application = Path("/proc", (folder / "pid").read_text().strip())
        assert application.exists()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130, said
    assert "Traceback" not in said
    while application.exists():
        time.sleep(0.05)
