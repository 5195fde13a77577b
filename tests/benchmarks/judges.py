"""Measure judged metrics through the whole pipeline: with an instant judge over HTTP, then replayed.

`python -m tests.benchmarks.judges [samples]` prints calls for each second of the judge stages' wall time; each
sample makes five calls. The replay has the same replies, and leaves the client's HTTP out. Wanted: 300 calls/s over
HTTP, 2 000 calls/s replayed.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from basic_control.data.batches import Ref
from basic_control.tasks.models.requests import read_call
from basic_control.tasks.store.tables import Store
from tests.benchmarks.street import evaluate
from tests.servers.running import serve_openai

REASON = "The source says so in its first sentence, and nothing in it speaks against the claim. " * 2
CLAIMS = [f"Claim {n} of the answer is stated here." for n in range(3)]


def judge(body: dict[str, Any]) -> str:
    """Answer any question well, at once."""
    schema = json.dumps(body["response_format"])
    if '"rating"' in schema:
        return json.dumps({"reason": REASON, "rating": 1})
    if '"verdicts"' in schema:
        return json.dumps(
            {"verdicts": [{"id": str(n), "reason": REASON, "verdict": "SUPPORTED"} for n in range(1, 4)]}
        )
    return json.dumps({"claims": CLAIMS})


def answers(folder: Path, count: int) -> Path:
    """Write answers to be judged, of the usual length, each of its own."""
    path = folder / "answers.jsonl"
    text = "Item {n} was launched in 1957 from a site in the south, and fell back after three months. " * 4
    with path.open("w", encoding="utf-8") as file:
        for n in range(count):
            row = {
                "question": f"When was item {n} launched?",
                "response": text.format(n=n),
                "reference": f"Item {n} was launched on 4 October 1957 and decayed in January.",
                "retrieved_contexts": [text.format(n=n + 1), text.format(n=n + 2)],
            }
            file.write(json.dumps(row) + "\n")
    return path


def record(folder: Path, manifest: dict[str, Any]) -> Path:
    """Write what the judge answered as a file to be replayed."""
    store = Store(str(folder / "http"))

    def table(name: str) -> pl.DataFrame:
        refs = [Ref(r["table"], r["digest"], r["rows"], "") for r in manifest["tables"][name]]
        return pl.concat(store.read(ref) for ref in refs)

    texts = dict(table("judge_responses").select("request_id", "text").iter_rows())
    rows = [
        {"prompt": read_call(row).messages[-1].content, "response": texts[row["request_id"]]}
        for row in table("judge_requests").iter_rows(named=True)
    ]
    path = folder / "replies.parquet"
    pl.DataFrame(rows).unique("prompt").write_parquet(path)
    return path


def main() -> None:
    """Print a line for each way of asking."""
    from tests.benchmarks.judges import judge as importable  # pyrefly: ignore[missing-module-attribute] # the server's process does not know our __main__

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    environment = {**os.environ, "OPENAI_API_KEY": "unused"}
    with tempfile.TemporaryDirectory() as name, serve_openai(importable, apart=True) as server:
        folder = Path(name)
        environment["PREFECT_HOME"] = f"{name}/prefect"
        given = ["--data", str(answers(folder, count))]
        asked: dict[str, Any] = {"provider": "openai", "base_url": server.base_url, "max_concurrency": 64}
        for way in ("http", "replay"):
            sets = [f"judges=[{json.dumps({'name': 'judge', **asked})}]", "batch_size=1000"]
            sets += [f"store.root={name}/{way}", f"store.runs={name}/runs-{way}"]
            evaluate([*given, *(word for each in sets for word in ("--set", each))], environment, "rag")
            (run,) = (folder / f"runs-{way}").iterdir()
            manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
            calls, seconds = manifest["requests"]["answered"], 0.0
            for stage in manifest["stages"]:
                seconds += stage["wall_s"] if stage["stage"] == "judge" else 0.0
            print(f"{way:8} {calls / seconds:8.0f} calls/s   ({calls} calls in {seconds:.1f} s)")
            asked = {"provider": "replay", "file": str(record(folder, manifest))} if way == "http" else {}


if __name__ == "__main__":
    main()
