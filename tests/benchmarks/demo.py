"""Record what `basic-control demo` shows: real replies to its items, from the models that its run.yaml names.

Run `python -m tests.benchmarks.demo QWEN.gguf` (some ten minutes of CPU on the machine it was written on); writes
config/demo/replies.jsonl. The replies are those of a run of the same configuration with embedded models.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from tests.conftest import TOP

FOLDER = TOP / "config" / "demo"
FILE = FOLDER / "replies.jsonl"
COLUMNS = ["request_id", "model", "text", "finish_reason", "tokens_in", "tokens_out"]


def configuration(qwen: str, folder: Path) -> dict[str, Any]:
    """Return the demo's configuration with the models themselves in place of their recorded replies."""
    told: dict[str, Any] = yaml.safe_load((FOLDER / "run.yaml").read_text(encoding="utf-8"))
    small, large = ({**one, "provider": "embedded", "file": "", "deadline_s": 3000} for one in told["models"])
    store = {"root": str(folder / "store"), "runs": str(folder / "runs")}
    return {**told, "models": [small, {**large, "file": qwen}], "store": store}


def collect(folder: Path) -> list[dict[str, Any]]:
    """Return every reply of the run in a folder with the prompt that it answers, in an order of its own."""
    (run,) = (folder / "runs").iterdir()
    tables = [pl.read_parquet(path) for path in sorted((folder / "store" / "tables").rglob("*.parquet"))]
    payloads = {
        request_id: json.loads(payload)
        for table in tables
        if {"request_id", "payload"} <= set(table.columns)
        for request_id, payload in table.select("request_id", "payload").iter_rows()
    }
    rows = []
    for row in pl.read_parquet(run / "tables" / "replies.parquet", columns=COLUMNS).iter_rows(named=True):
        asked = [m["content"] for m in payloads[row.pop("request_id")]["messages"] if m["role"] == "user"]
        rows.append({"prompt": asked[-1], **row})
    return sorted(rows, key=lambda row: (row["prompt"], row["model"]))


def main() -> None:
    """Run the models and write their replies."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "record.yaml").write_text(yaml.safe_dump(configuration(sys.argv[1], folder)), encoding="utf-8")
        command = [sys.executable, "-m", "flows.full_eval", "--config", str(folder / "record.yaml")]
        subprocess.run(command, cwd=TOP, check=True)
        rows = collect(folder)
    FILE.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
