"""Labels bring back a judge that did not count: `label` says beforehand whom the next run asks, and how often."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl

from tests.conftest import Run
from tests.helpers.exam import exam_items, perfect, spoken
from tests.helpers.judges import kind
from tests.helpers.runs import latest
from tests.servers.running import Server, serve_openai

N = 40
EXAM = 6


def find_all(body: dict[str, Any], verdict: str) -> str:
    """Find one claim in each text, and of each claim the same."""
    text = body["messages"][-1]["content"]
    if kind(body) == "claims":
        # Each claim stands in two replies: a judge is asked about it once.
        number = re.search(r"Anna, (\d+)", text)
        return json.dumps({"claims": [f"Anna wrote {int(number[1]) // 2 if number else text}."]})
    names = re.findall(r"<claim-(\d+)", text) or ["1"]
    return json.dumps({"verdicts": [{"id": name, "reason": "", "verdict": verdict} for name in names]})


def configure(folder: Path, sound: Server, dull: Server) -> Path:
    """Write a suite of 40 given replies and two judges that take a short exam."""
    rows = [{"question": f"Who {n}?", "response": f"Anna, {n}.", "retrieved_contexts": ["Anna."]} for n in range(N)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    servers = {"sound": sound, "dull": dull}
    judges = []
    for name, server in servers.items():
        judges.append({"name": name, "provider": "openai", "base_url": server.base_url, "exam": EXAM})
    suite = {
        "name": "bot",
        "items": {"data": str(folder / "rows.jsonl")},
        "metrics": {"faithfulness": {"threshold": 0.8}},
    }
    path = folder / "run.yaml"
    path.write_text(json.dumps({"judges": judges, "suites": [suite], "gate": "point"}), encoding="utf-8")
    return path


def label_run(run: Run, folder: Path) -> str:
    """Label all replies of the latest run, every second one with yes; return what the command says on one line."""
    recorded = latest(folder)
    run(recorded.name, "--n", str(N), command="label")
    sheet = pl.read_csv(recorded / "labels.csv", infer_schema=False)
    is_even = pl.int_range(pl.len()) % 2 == 0
    labels = pl.when(is_even).then(pl.lit("yes")).otherwise(pl.lit("no"))
    sheet.with_columns(label=labels).write_csv(folder / "filled.csv")
    joined = run(recorded.name, "--labels", str(folder / "filled.csv"), command="label")
    assert joined.returncode == 0, joined.stderr
    return " ".join(joined.stdout.split())


def test_labels_say_whom_the_next_run_asks_and_how_often(run: Run, tmp_path: Path) -> None:
    """One of two judges passes its exam; the other is asked about no reply until there are labels."""
    exam_replies = spoken(exam_items("en", EXAM, levels=["easy"]), perfect)

    def speak(body: dict[str, Any]) -> str:
        return exam_replies.get(body["messages"][-1]["content"]) or find_all(body, "SUPPORTED")

    with serve_openai(speak) as sound, serve_openai(lambda body: find_all(body, "NEUTRAL")) as dull:
        file = configure(tmp_path, sound, dull)
        first = run(str(file))
        n_before = len(dull.requests)
        screen = label_run(run, tmp_path)
        again = ["--run", latest(tmp_path).name, "--rerun", "report"]
        planned = run(*again, "--dry-run")
        counts = [len(sound.requests), len(dull.requests)]
        done = run(*again)
        n_calls = len(dull.requests) - n_before
        # Whoever counted is not asked again, and a second time nobody is.
        assert len(sound.requests) == counts[0]
        assert counts[1] == n_before
        run("--run", latest(tmp_path).name, "--rerun", "report")
        assert len(dull.requests) == n_before + n_calls
        later_screen = label_run(run, tmp_path)
    assert "Traceback" not in first.stderr + planned.stderr + done.stderr
    assert n_calls == N + N // 2, "a split for each reply and a verdict for each claim"
    assert f"Judge dull does not count and was not asked about {N} of these replies." in screen
    assert f"the next run asks it: about {n_calls} calls" in screen
    assert "Judge sound" not in screen
    assert str(n_calls) in planned.stdout
    assert "does not count" not in later_screen
