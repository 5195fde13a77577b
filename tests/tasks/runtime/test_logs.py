"""What a run says of itself."""

import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

from basic_control.tasks.runtime.logs import JsonFormatter, log_event
from tests.conftest import TOP, Run
from tests.helpers.runs import TWO, at
from tests.servers.running import serve_openai

ONE = "suites=[basic_control]"
FORGED = 'a b\n{"event": "forged"}'


def test_an_event_is_one_line_whatever_a_name_holds() -> None:
    record = logging.LogRecord("basic_control", logging.INFO, "", 0, "", (), None)
    record.event, record.fields = "stage", {"label": FORGED, "time": "never", "rows": 3}
    line = JsonFormatter().format(record)
    assert "\n" not in line
    said = json.loads(line)
    assert said["event"] == "stage"
    assert said["label"] == FORGED
    assert said["time"] != "never", "the time is the log's own"


def test_people_read_one_line_too() -> None:
    heard: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(record.getMessage())  # pyrefly: ignore[method-assign] # a handler in a line
    logger = logging.getLogger("basic_control")
    logger.addHandler(handler)
    try:
        log_event("stage", label=FORGED, seconds=0.5)
    finally:
        logger.removeHandler(handler)
    assert heard == ['stage label="a b\\n{\\"event\\": \\"forged\\"}" seconds=0.5']


def test_a_run_is_told_in_json_without_keys_or_texts(run: Run, tmp_path: Path) -> None:
    with serve_openai("ANSWER: swordfish") as server:
        done = run(
            "--set", at(server), "--set", TWO, "--set", "basic_control.n_items=2", "--set", ONE, "--log", "json"
        )
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    events = [line["event"] for line in lines]
    assert events[0] == "run_started"
    assert events[-1] == "run_ended"
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", line["time"]) for line in lines)
    assert {line["level"] for line in lines} == {"info"}
    folder = next((tmp_path / "runs").iterdir()).name
    assert {line["run"] for line in lines} == {folder}
    manifest = json.loads((tmp_path / "runs" / folder / "manifest.json").read_text(encoding="utf-8"))
    told = [(line["stage"], line["label"], line["cached"]) for line in lines if line["event"] == "stage"]
    assert told == [(s["stage"], s["label"], s["cached"]) for s in manifest["stages"]]
    asked = next(line for line in lines if line["event"] == "query")
    assert (asked["total"], asked["answered"], asked["cached"], asked["failed"]) == (4, 4, 0, 0)
    assert (asked["tokens_in"], asked["tokens_out"]) == (4 * 11, 4 * 7)
    assert "swordfish" not in done.stderr
    assert "sk-test" not in done.stderr


def test_an_error_is_json_as_well(run: Run) -> None:
    done = run("--set", "models=[{name: m, provider: acme}]", extra={"BASIC_CONTROL_LOG": "json"})
    assert done.returncode == 2
    (said,) = [json.loads(line) for line in done.stderr.splitlines()]
    assert said["level"] == "error"
    assert "provider" in said["message"]


def test_a_process_without_a_command_line_obeys_the_environment() -> None:
    program = (
        "from basic_control.tasks.runtime import logs;"
        "logs.log_event('stage', rows=1); logs.begin('text'); logs.log_event('stage')"
    )
    environment = {**os.environ, "BASIC_CONTROL_LOG": "json"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=TOP, env=environment, capture_output=True, text=True, check=True
    )
    (said,) = done.stderr.splitlines()
    assert json.loads(said)["rows"] == 1
