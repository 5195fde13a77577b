"""A run keeps its key to itself: nothing that it writes, prints or tells Prefect holds it."""

import json
import os
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.servers.running import serve_openai
from tests.servers.script import Fault

KEY = "k-hunter2-0123456789"


def holding(folder: Path, secret: str) -> list[Path]:
    """Return the files below a folder that hold a text."""
    return [path for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


@pytest.mark.parametrize("place", [{"api_key_query": "key"}, {"api_key_header": "X-Api-Key"}])
def test_a_key_by_name_is_sent_and_kept_nowhere(run: Run, tmp_path: Path, place: dict[str, str]) -> None:
    refused = Fault("status", 400, f"the key {KEY} may not ask this")
    with serve_openai("ANSWER: 4", faults=[None, refused]) as server:
        model = {"name": "m", "provider": "openai", "base_url": server.base_url, "api_key_env": "MY_KEY", **place}
        done = run(
            "--set", f"models=[{json.dumps(model)}]", "--set", "suites=[basic_control]",
            "--set", "basic_control.families=[arithmetic]", "--set", "basic_control.n_items=2",
            extra={"MY_KEY": KEY, "PREFECT_LOGGING_LEVEL": "DEBUG"},
        )  # fmt: skip
        sent = [f"{seen.query} {seen.headers}" for seen in server.requests]
    assert all(KEY in one for one in sent)
    assert len(sent) == 2
    assert list((tmp_path / "runs").iterdir()), done.stderr
    assert KEY not in done.stdout + done.stderr
    assert not holding(tmp_path, KEY)
    assert not holding(Path(os.environ["PREFECT_HOME"]), KEY)
    assert holding(tmp_path, "MY_KEY"), "the search sees what is there: the manifest names the variable"


def test_a_key_in_an_address_ends_the_run_before_anything_is_written(run: Run, tmp_path: Path) -> None:
    address = f"http://127.0.0.1:9/v1?key={KEY}"
    done = run("--set", f"models.0.base_url={address}", "--set", "models.0.provider=openai")
    assert done.returncode == 2
    assert "api_key_query" in done.stderr
    assert KEY not in done.stdout + done.stderr
    assert not holding(tmp_path, KEY)
    assert not holding(Path(os.environ["PREFECT_HOME"]), KEY)
