"""What `init --kind` writes runs as it stands, with the model in the package, over ten rows."""

import json
from pathlib import Path

import pytest

from basic_control.flows.cli.application import main
from tests.conftest import Run
from tests.helpers.runs import latest

SUITES = {"chat": "chats", "tools": "calls", "rag": "answers", "choice": "quiz"}


@pytest.mark.parametrize("kind", SUITES)
def test_each_kind_runs_with_the_embedded_model(run: Run, tmp_path: Path, kind: str) -> None:
    pytest.importorskip("xllamacpp", reason="the extra `embedded` is not installed")
    folder = tmp_path / kind
    assert main(["init", str(folder), "--kind", kind]) == 0
    done = run("--config", str(folder / "eval.yaml"), "--set", "models.0.max_tokens=24", "--set", "gate=off")
    assert done.returncode == 0, done.stderr
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    (model,) = document["final"]["models"]
    for suite in model["suites"]:
        assert (suite["suite"], suite["n_asked"], suite["n_failed"]) == (SUITES[kind], 10, 0)


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path), "--kind", "poem"]) == 2
