"""What Prefect says of its settings or its server never comes before our words, nor as a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import TOP
from tests.servers.bytes import response, serve_bytes

RUN = """
suites:
  - name: s
    items: {data: rows.jsonl}
    metrics: {exact_match: {}}
"""


def run(folder: Path, variables: dict[str, str]) -> tuple[int, str]:
    """Evaluate a reply that is given; return the exit code and the first line on stderr."""
    (folder / "rows.jsonl").write_text('{"question": "a", "answer": "b", "response": "b"}\n', "utf-8")
    (folder / "run.yaml").write_text(RUN, "utf-8")
    command = [sys.executable, "-m", "basic_control", "run", "run.yaml"]
    environment = {**os.environ, "PYTHONPATH": str(TOP), **variables}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "defect" not in done.stderr
    return done.returncode, done.stderr.partition("\n")[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ({"PREFECT_LOGGING_LEVEL": "NOPE"}, "PREFECT_LOGGING_LEVEL: found 'NOPE': "),
        ({"PREFECT_API_REQUEST_TIMEOUT": "abc"}, "PREFECT_API_REQUEST_TIMEOUT: found 'abc': "),
        ({"PREFECT_CLIENT_MAX_RETRIES": "-1x"}, "PREFECT_CLIENT_MAX_RETRIES: found '-1x': "),
        ({"PREFECT_HOME": "broken"}, "Correct broken/profiles.toml"),
        ({"PREFECT_API_URL": "nonsense"}, "The Prefect server nonsense cannot be reached"),
    ],
)
def test_a_wrong_setting_of_prefects_is_one_message_that_names_it(
    variables: dict[str, str], text: str, tmp_path: Path
) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "profiles.toml").write_text("broken = [", "utf-8")
    code, line = run(tmp_path, variables)
    assert code == 2
    assert line.startswith("error: ")
    assert text in line


def test_a_profile_that_is_not_there_is_said_in_our_words(tmp_path: Path) -> None:
    code, line = run(tmp_path, {"PREFECT_PROFILE": "nope"})
    assert code == 0
    assert line == "PREFECT_PROFILE: Prefect has no profile 'nope', and its default applies. Correct or unset it."


@pytest.mark.slow
@pytest.mark.parametrize("head", [b"HTTP/1.1 404 Not Found", b"HTTP/1.1 200 OK", b"HTTP/1.1 418 Teapot"])
@pytest.mark.parametrize("body", [b"<html>hello</html>", b"{}"])
def test_what_is_no_prefect_server_is_named(body: bytes, head: bytes, tmp_path: Path) -> None:
    with serve_bytes(lambda *_: response(body, head)) as server:
        code, line = run(tmp_path, {"PREFECT_API_URL": f"{server.url}/api"})
    assert code == 2
    assert f"{server.url}/api" in line
    assert "PREFECT_API_URL" in line
