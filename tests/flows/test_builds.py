"""The workflow files of docs/baselines.md: their shell steps, run as they stand, in a folder like a checkout's."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from config.reading import read
from flows.cli.application import main
from tests.conftest import TOP
from tests.helpers.runs import at
from tests.servers.running import serve_openai

PAGE = (TOP / "docs" / "baselines.md").read_text(encoding="utf-8")


def blocks() -> list[Any]:
    """Return the configuration of the page, and its workflow files."""
    return [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]


def test_the_pages_suite_is_gated_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tickets.jsonl").write_text('{"question": "Q", "answer": "A"}\n', encoding="utf-8")
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump({"models": [{"name": "m"}], **blocks()[0]}), encoding="utf-8")
    (suite,) = read(path).suites
    assert (suite.gate_on, suite.k, suite.repeats) == ("pass_all_k", 3, 5)


def shell(script: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a step as a build does: in a shell that ends at the first failure."""
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_the_shell_steps_of_both_workflows_run_and_keep_the_replies(
    environment: dict[str, str], tmp_path: Path, monkeypatch: Any
) -> None:
    _, github, gitlab = blocks()
    steps = {step["name"]: step["run"] for step in github["jobs"]["evaluate"]["steps"] if "name" in step}
    tools = tmp_path / "bin"
    tools.mkdir()
    command = tools / "basic-control"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m basic_control "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    folder = tmp_path / "checkout"
    folder.mkdir()
    given = {**environment, "PATH": f"{tools}:{environment['PATH']}", "PYTHONPATH": str(TOP)}
    given |= {"GITHUB_STEP_SUMMARY": str(tmp_path / "shown.md")}
    rows = [{"question": f"Country {n}", "answer": "Oslo"} for n in range(20)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with serve_openai(lambda _: "Oslo") as server:
        models = yaml.safe_load(at(server, name="a").removeprefix("models="))
        suite = {"name": "capitals", "items": {"data": "rows.jsonl"}, "metrics": {"exact_match": {}}}
        suite["prompt"] = "The capital of {{ question }}"
        config = {"models": models, "suites": [suite]}
        (folder / "eval.yaml").write_text(json.dumps(config), encoding="utf-8")
        first = shell("basic-control run --config eval.yaml", folder, given)
        assert first.returncode == 0, first.stderr
        monkeypatch.chdir(folder)
        (run,) = (folder / "artifacts" / "runs").iterdir()
        assert main(["baseline", "set", "main", run.name]) == 0
        for script in (steps["Evaluate"], "\n".join(gitlab["evaluate"]["script"])):
            for name in ("junit.xml", "summary.md", "results.json"):
                (folder / name).unlink(missing_ok=True)
            done = shell(script, folder, given)
            assert done.returncode == 0, done.stderr
            assert ET.parse(folder / "junit.xml").getroot().get("failures") == "0"  # noqa: S314 - our own file
            held = json.loads((folder / "results.json").read_text(encoding="utf-8"))["baseline"]
            assert held["models"][0]["suites"][0]["outcome"] == "held"
        assert len(server.requests) == 20, "the replies of the first run are in the store that the build keeps"
    assert shell(steps["Show"], folder, given).returncode == 0
    assert "Basic Control: passed" in (tmp_path / "shown.md").read_text(encoding="utf-8")
