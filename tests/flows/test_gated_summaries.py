"""A gate, a comparison and Python read our own results.json as the run that it is the summary of."""

import shutil
from pathlib import Path

import pytest

import basic_control
from basic_control.flows.cli.application import main
from tests.conftest import Run
from tests.helpers.capitals import write_countries
from tests.helpers.runs import at, latest
from tests.servers.running import serve_openai


def test_a_summary_stands_for_its_run(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copied = tmp_path / "copy" / "results.json"
    copied.parent.mkdir()
    with serve_openai("City") as server:
        words = ("--config", write_countries(tmp_path, 12, threshold=0.8), "--set", at(server))
        run(*words)
        main(["baseline", "set", str(tmp_path / "main.json"), str(latest(tmp_path))])
        done = run(*words, "--json", str(copied))
        assert done.returncode == 0, done.stderr
    folder = latest(tmp_path)
    places = ["--set", f"store.runs={tmp_path}/runs"]
    capsys.readouterr()
    # Beside its run, and elsewhere.
    for name in (folder / "results.json", copied):
        assert main(["gate", str(name), "--baseline", str(tmp_path / "main.json"), *places]) == 0
        assert "held" in capsys.readouterr().out
        assert main(["gate", str(name), "--threshold", "0.9", *places]) == 0
    assert basic_control.read(copied, runs=tmp_path / "runs").passed
    shutil.rmtree(tmp_path / "runs")
    capsys.readouterr()
    assert main(["gate", str(copied), "--threshold", "0.9", *places]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert f"found the summary of run {folder.name}, which has no rows" in message
    assert "--set store.runs=FOLDER" in message
