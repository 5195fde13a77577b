"""`doctor` says on one screen what a run has here, and what it lacks."""

import json
from pathlib import Path

import pytest

from basic_control.__main__ import main
from tests.conftest import free_port
from tests.servers.running import serve_openai

TOPICS = ["program", "packages", "extras", "embedded", "keys", "model", "sandbox", "store", "Prefect"]


def write(folder: Path, *models: dict[str, str]) -> str:
    path = folder / "eval.yaml"
    suite = {"name": "s", "items": {"data": "rows.csv"}, "prompt": "{{ question }}", "metrics": ["contains"]}
    path.write_text(json.dumps({"models": models, "suites": [suite]}), encoding="utf-8")
    return str(path)


def test_a_machine_that_has_all_of_a_configuration_is_one_screen_and_exit_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_KEY", "sk-very-secret-0123456789")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other-secret-0123456789")
    monkeypatch.setenv("PREFECT_API_URL", "http://me:word-of-pass@127.0.0.1:4200/api")
    with serve_openai("yes") as server:
        model = {"name": "m", "provider": "openai", "base_url": server.base_url, "api_key_env": "MY_KEY"}
        code = main(["doctor", write(tmp_path, model)])
        asked = [*server.requests]
    printed = capfd.readouterr().out
    lines = printed.splitlines()
    assert code == 0, printed
    assert [line.split()[0] for line in lines] == TOPICS
    assert len(lines) <= 24
    assert "MY_KEY, OPENAI_API_KEY" in lines[4]
    assert f"m (openai at {server.base_url}): ready" in lines[5]
    assert "wasm CPython" in lines[6]
    assert "artifacts/store, 0 runs in artifacts/runs" in lines[7]
    assert "secret" not in printed
    assert "word-of-pass" not in printed
    assert asked == [], "who it is, and nothing that costs"


def test_what_is_missing_is_marked_and_the_exit_code_is_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MY_KEY", raising=False)
    absent = {"name": "local", "provider": "ollama", "base_url": f"http://127.0.0.1:{free_port()}"}
    keyless = {"name": "far", "provider": "openai", "api_key_env": "MY_KEY"}
    assert main(["doctor", write(tmp_path, absent, keyless)]) == 2
    marked = [line for line in capfd.readouterr().out.splitlines() if line.startswith("!")]
    assert [line.split()[1] for line in marked] == ["keys", "model", "model"]
    assert "none; not set: MY_KEY" in marked[0]
    assert "nothing listens at" in marked[1]
    assert "MY_KEY" in marked[2]


def test_a_configuration_that_is_wrong_is_one_message(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", str(tmp_path / "none.yaml")]) == 2
    assert capfd.readouterr().err.startswith(f"error: {tmp_path}/none.yaml: cannot be read")
