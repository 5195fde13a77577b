"""A release asks everything anew, once: the same command goes on after a kill, where only the store was kept."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.reading import parse
from basic_control.flows.earlier import is_time_label
from tests.conftest import Run
from tests.helpers.capitals import write_countries
from tests.helpers.requests import prompts_seen
from tests.helpers.runs import at
from tests.servers.running import serve_openai

N = 20


def forget_runs(folder: Path) -> None:
    """Leave of earlier runs what a cache of artifacts/store restores."""
    (runs,) = folder.glob("**/runs")
    shutil.rmtree(runs)


def answer(_body: dict[str, Any]) -> str:
    return "City"


def test_the_command_of_a_release_goes_on_with_the_store_alone(run: Run, tmp_path: Path) -> None:
    with serve_openai(answer) as server:
        words = ("--config", write_countries(tmp_path, N), "--set", at(server))
        run(*words)
        assert len(server.requests) == N
        run(*words, "--set", "fresh=1.20", "--set", "budget={calls: 5}")
        assert len(server.requests) == N + 5, "a plain run's replies are not a release's"
        forget_runs(tmp_path)
        run(*words, "--set", "fresh=1.20")
        assert len(server.requests) == 2 * N
        assert set(prompts_seen(server).values()) == {2}, "each once for the plain run and once for the release"
        run(*words, "--set", "fresh=1.2")
        assert len(server.requests) == 3 * N, "another release"


def test_a_run_of_another_machine_goes_on_by_its_command(run: Run, tmp_path: Path) -> None:
    done = run("--resume", "20260101_000000", "--set", f"store.runs={tmp_path}/runs")
    message = " ".join(done.stderr.split())
    assert done.returncode == 2
    assert "no such run" in message
    assert "--set fresh=LABEL in place of --fresh" in message


@pytest.mark.parametrize("label", ["1.20", "0123", "20261129", "1e5", "true", "2026-11-29", "v1", "a3f9", "null"])
def test_a_label_is_taken_as_it_stands(label: str) -> None:
    raw = {"models": [{"name": "m"}], "suites": ["basic_control"]}
    assert parse(raw, "run.yaml", {}, [f"fresh={label}"]).fresh == label


def test_only_a_label_that_the_same_command_would_not_give_again_needs_another_command() -> None:
    assert is_time_label("20261121_120000")
    assert not any(map(is_time_label, ("", "v1.2", "20261121", "a3f9")))
