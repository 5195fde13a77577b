"""What `init --kind` writes runs as it stands, by the model in the package or by a server in its place."""

import json
from pathlib import Path

import pytest

from basic_control.config.reading import read
from basic_control.flows.cli.application import main
from tests.conftest import Run
from tests.helpers.runs import latest
from tests.servers.running import serve_openai

SUITES = {"chat": "chats", "tools": "calls", "rag": "answers", "choice": "quiz"}


def run_kind(run: Run, folder: Path, kind: str, n_rows: int, *words: str) -> None:
    """Write the files of a kind and run them; hold the suite and the number of its rows."""
    assert main(["init", str(folder / kind), "--kind", kind]) == 0
    configuration = str(folder / kind / "eval.yaml")
    assert [model.provider for model in read(configuration).models] == ["embedded"]
    done = run("--config", configuration, "--set", "gate=off", *words)
    assert done.returncode == 0, done.stderr
    document = json.loads((latest(folder) / "results.json").read_text(encoding="utf-8"))
    (model,) = document["final"]["models"]
    for suite in model["suites"]:
        assert (suite["suite"], suite["n_asked"], suite["n_failed"]) == (SUITES[kind], n_rows, 0)


@pytest.mark.parametrize("kind", SUITES)
def test_each_kind_runs_with_a_server_in_place_of_the_model(run: Run, tmp_path: Path, kind: str) -> None:
    with serve_openai("A") as server:
        keys = ("--set", "models.0.provider=openai", "--set", f"models.0.base_url={server.base_url}")
        run_kind(run, tmp_path, kind, 10, *keys)


# A whole run of a kind takes the processor for seconds.
@pytest.mark.parametrize(
    ("kind", "n_rows"), [("chat", 2), *(pytest.param(kind, 10, marks=pytest.mark.slow) for kind in SUITES)]
)
def test_each_kind_runs_with_the_embedded_model(run: Run, tmp_path: Path, kind: str, n_rows: int) -> None:
    pytest.importorskip("xllamacpp", reason="the extra `embedded` is not installed")
    run_kind(run, tmp_path, kind, n_rows, "--set", "models.0.max_tokens=24", "--limit", str(n_rows))


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path), "--kind", "poem"]) == 2
