"""A run parses each of its data files once, however many of its parts ask for the rows."""

import json
import subprocess
import sys
from pathlib import Path

from tests.conftest import TOP
from tests.servers.running import serve_openai

COUNTED = """
import sys

reads = []


def opened(event, arguments):
    if event != "open" or not str(arguments[0]).endswith("tickets.jsonl"):
        return
    frame, names = sys._getframe(), set()
    while frame:
        names.add(frame.f_code.co_name)
        frame = frame.f_back
    # What a file begins with is looked at before it is parsed.
    reads.append("parsed" if "_read_jsonl" in names and "_begins_document" not in names else "other")


sys.addaudithook(opened)
from basic_control.flows.cli.application import main

code = main(sys.argv[1:])
print(f"PARSED {reads.count('parsed')} OTHER {reads.count('other')}", file=sys.stderr)
print("FASTAPI", "fastapi" in sys.modules, file=sys.stderr)
raise SystemExit(code)
"""
"""A command of the project in a process that counts who opens the data."""


def test_a_run_parses_each_data_file_once(environment: dict[str, str], tmp_path: Path) -> None:
    """A thousand rows, of which two suites ask the same twenty; one weighs nothing. Nor is FastAPI imported."""
    rows = ({"question": f"What is {n} plus 1?", "answer": str(n + 1), "unread": "x"} for n in range(1_000))
    data = tmp_path / "tickets.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with serve_openai("42") as server:
        suite = {"prompt": "{{ question }}", "metrics": {"exact_match": {}}}
        sampled = {"data": str(data), "sample": {"method": "random", "n": 20}}
        raw = {
            "models": [{"name": "m", "provider": "openai", "base_url": server.base_url}],
            "suites": [
                {"name": name, "items": sampled, "weight": n, **suite} for n, name in enumerate(("one", "two"))
            ],
            "store": {"root": str(tmp_path / "store"), "runs": str(tmp_path / "runs")},
            "gate": "off",
        }
        path = tmp_path / "run.yaml"
        path.write_text(json.dumps(raw), encoding="utf-8")  # which is YAML as well
        command = [sys.executable, "-c", COUNTED, "run", "--config", str(path)]
        done = subprocess.run(
            command, cwd=TOP, env=environment, capture_output=True, text=True, timeout=240, check=False
        )
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 20
    assert "PARSED 1 " in done.stderr, done.stderr[-200:]
    assert "FASTAPI False" in done.stderr, "Prefect writes parameters with it, which nobody would see"
