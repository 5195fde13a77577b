"""Measure the leaderboard over many runs: `python -m tests.benchmarks.leaderboard [RUNS]` (1000 unless given).

The runs' documents are made by the program's own functions, as large as those of two models in four suites,
six families, three levels and two languages.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from config.reading import read
from metrics.analysis.document import document as document_of
from metrics.analysis.results import Results
from metrics.analysis.summary import cells, summarise, totals
from tasks.store import manifest as manifests
from tests.conftest import TOP
from tests.helpers.suites import declared
from tests.helpers.verdicts import finalise
from tests.tasks.scored import rows


def document() -> dict[str, Any]:
    """Return one run's results."""
    scores, items = rows(models=["m0", "m1"], levels=("easy", "medium", "hard"), languages=("en", "ru"))
    summary = summarise(scores, items)
    models = ["m0", "m1"]
    settings = read(None, ["models=[{name: m0}, {name: m1}]"])
    return document_of(
        Results(
            run={
                "configuration": settings.model_dump(mode="json"),
                "versions": {},
                "items": {"basic_control": {"n": 360, "digest": "0" * 16}},
            },
            models=(),
            totals=totals(summary, suite="basic_control", metric="correct"),
            cells=cells(summary) * 4,
        ),
        finalise(summary, models=models, suites=declared("basic_control")),
    )


def main() -> None:
    """Write runs, read the leaderboard, print times."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    made = document()
    with tempfile.TemporaryDirectory() as folder:
        start = datetime(2026, 1, 1, tzinfo=UTC)
        size = 0
        for number in range(n):
            started = start + timedelta(minutes=number)
            for model, name in zip(made["final"]["models"], (f"m{number % 50}", f"n{number % 50}"), strict=True):
                model["model"] = name
            made["run"] |= {"run": f"{started:%Y%m%d_%H%M%S}", "started": started.isoformat()}
            path = Path(folder) / made["run"]["run"] / "results.json"
            path.parent.mkdir()
            told = {"schema": 1, "started": started.isoformat(), "configuration": made["run"]["configuration"]}
            manifests.write(path.parent, {**told, "run": made["run"]["run"], "status": "completed"})
            size += path.write_bytes(json.dumps(made, ensure_ascii=False, indent=1).encode())
        print(f"{n} runs, {size / 1e6:.0f} MB of results.json")
        listed = ["-m", "basic_control", "runs", "list", "--set", f"store.runs={folder}"]
        board = ["-m", "basic_control", "leaderboard", "--set", f"store.runs={folder}"]
        # `runs list` twice: the first time it makes its index.
        for words in (listed, listed, board):
            began, cpu = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            command = [sys.executable, *words]
            done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True)
            spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - cpu
            lines = len(done.stdout.splitlines())
            wall = time.monotonic() - began
            print(
                f"{' '.join(words[1:]).replace(folder, '…'):48} {wall:.2f} s wall, {spent:.2f} s CPU, {lines} lines"
            )
        began = time.monotonic()
        for path in Path(folder).glob("*/results.json"):
            json.loads(path.read_bytes())
        print(f"reading the same documents whole takes {time.monotonic() - began:.2f} s")


if __name__ == "__main__":
    main()
