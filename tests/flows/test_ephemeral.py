"""The server of a single run: for that run alone, in the run's own store, and followed by another when it dies."""

import base64
import contextlib
import http.client
import json
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows import database, ephemeral
from tests.conftest import TOP
from tests.helpers.runs import latest
from tests.servers.running import Server, serve_openai

ITEMS = 60


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of this user's downloads, in which the migrated database is made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def lone(cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Have no Prefect server named, and a home of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)


def send(method: str, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Send a request to the run's server, as anybody on the machine can."""
    host = os.environ["PREFECT_API_URL"].removeprefix("http://").removesuffix("/api")
    connection = http.client.HTTPConnection(host, timeout=60)
    body = "{}" if method == "POST" else None
    connection.request(method, f"/api{path}", body, {k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()


@pytest.mark.usefixtures("lone")
def test_a_runs_server_lets_in_its_run_alone_and_no_page_of_another_origin(tmp_path: Path) -> None:
    told: list[str] = []
    file = tmp_path / "a store" / "prefect.db"
    with ephemeral.serving(file, told.append, told.append) as server:
        server.wait()
        password = os.environ["PREFECT_API_AUTH_STRING"]
        ours = "Basic " + base64.b64encode(password.encode()).decode()
        assert send("POST", "/flow_runs/filter")[0] == 401
        assert send("POST", "/flow_runs/filter", Authorization="Basic cnVuOnJ1bg==")[0] == 401
        status, _, body = send("POST", "/flow_runs/filter", Authorization=ours, Content_Type="application/json")
        assert (status, body) == (200, b"[]")
        page = {"Origin": "http://evil.example", "Access_Control_Request_Method": "POST"}
        for method in ("OPTIONS", "POST"):
            _, headers, _ = send(method, "/flow_runs/filter", Authorization=ours, **page)
            assert "access-control-allow-origin" not in headers
    assert "PREFECT_API_AUTH_STRING" not in os.environ
    assert "PREFECT_API_URL" not in os.environ
    assert len(password) > 40
    assert not told
    assert file.is_file(), "its flow runs stay in the store"
    assert not (tmp_path / "home" / "prefect.db").exists(), "and not where all folders of the machine have theirs"


@pytest.mark.usefixtures("lone")
def test_a_new_store_begins_with_a_copy_of_the_migrated_database(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "flows.database"], cwd=TOP, check=True)  # as `make setup` does
    made = database.template()
    before = made.read_bytes()
    first = tmp_path / "1" / "prefect.db"
    assert database.begin(first), "nothing is left to migrate"
    assert first.read_bytes() == before
    first.write_bytes(b"not a database")
    assert not database.begin(first), "what is there is never replaced"
    assert first.read_bytes() == b"not a database"
    assert [p.name for p in first.parent.iterdir()] == ["prefect.db"]
    made.rename(made.with_suffix(".aside"))
    try:
        assert not database.begin(tmp_path / "2" / "prefect.db"), "without a template it is migrated as ever"
    finally:
        made.with_suffix(".aside").rename(made)


def damaged(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(b"\xff" * 4096 * 20)


def replaced(path: Path) -> None:
    path.write_bytes(b"no database" * 1000)


@pytest.mark.usefixtures("lone")
@pytest.mark.parametrize("wreck", [damaged, replaced])
def test_a_damaged_record_of_local_runs_ends_no_run(tmp_path: Path, wreck: Callable[[Path], None]) -> None:
    subprocess.run([sys.executable, "-m", "flows.database"], cwd=TOP, check=True)
    place = tmp_path / "store" / "prefect.db"
    place.parent.mkdir()
    assert database.begin(place)
    assert database.fault(place) == ""
    wreck(place)
    before = place.read_bytes()
    with serve_openai("ANSWER: nobody") as server:
        done = start(server, tmp_path)
        said = "".join(done.communicate())
    assert done.returncode == 0, said
    assert f"{place}: Prefect's record of local runs cannot be used (" in " ".join(said.split())
    assert "may be deleted" in said
    assert "defect" not in said
    assert place.read_bytes() == before


def test_a_record_that_can_grow_no_more_is_told_from_one_that_another_run_writes(tmp_path: Path) -> None:
    place = tmp_path / "prefect.db"
    with contextlib.closing(sqlite3.connect(place)) as opened:
        opened.execute("CREATE TABLE a (b)")
        opened.execute("BEGIN IMMEDIATE")
        assert database.fault(place) == ""
        opened.rollback()
    assert database.fault(place) == ""
    assert database.fault(tmp_path / "none.db") == ""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limit[1]))
    try:
        assert "disk" in database.fault(place)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)


@pytest.mark.usefixtures("lone")
def test_a_store_that_cannot_be_written_is_one_message(tmp_path: Path) -> None:
    from data.errors import InputError

    subprocess.run([sys.executable, "-m", "flows.database"], cwd=TOP, check=True)
    (tmp_path / "file").touch()
    with (
        pytest.raises(InputError, match="Prefect's database cannot be made"),
        ephemeral.serving(tmp_path / "file" / "prefect.db", print, print),
    ):
        pass


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("prefect.toml", '[server.database]\nconnection_url = "sqlite:///x"', True),
        ("prefect.toml", '[api]\nurl = "http://127.0.0.1:4200/api"', False),
        (".env", "PREFECT_API_URL=http://127.0.0.1:4200/api", False),
    ],
)
@pytest.mark.usefixtures("lone")
def test_a_file_that_names_a_server_is_heeded_and_one_that_names_a_database_alone_is_not(
    file: str,
    text: str,
    expected: bool,  # noqa: FBT001 - a row of the table above
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).write_text(text, encoding="utf-8")
    assert ephemeral.wanted() is expected


def start(server: Server, folder: Path) -> subprocess.Popen[str]:
    """Start a run that has its own Prefect server."""
    model = {"name": "tiny", "provider": "openai", "base_url": server.base_url, "max_concurrency": 2}
    sets = {
        "models": json.dumps([model]),
        "suites": "[basic_control]",
        "basic_control.families": "[simple_logic]",
        "basic_control.n_items": str(ITEMS),
        "basic_control.levels": "[easy]",
        "gate": "off",
        "store.root": str(folder / "store"),
        "store.runs": str(folder / "runs"),
    }
    words = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    return subprocess.Popen(
        [sys.executable, "-m", "flows.full_eval", *words],
        cwd=TOP,
        env={**os.environ, "OPENAI_API_KEY": "sk-test-0000", "COLUMNS": "160"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def servers_of(run: subprocess.Popen[str]) -> list[int]:
    """Return the Prefect servers that a run has now."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            command = (folder / "cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            continue
        if parent == run.pid and b"flows.ephemeral" in command:
            found.append(int(folder.name))
    return found


def wait_for(run: subprocess.Popen[str], server: Server, number: int) -> None:
    while len(server.requests) < number:
        assert run.poll() is None, run.communicate()
        time.sleep(0.02)


@pytest.mark.usefixtures("lone")
@pytest.mark.skipif(sys.platform != "linux", reason="finds the server in /proc")
def test_a_run_whose_server_dies_goes_on_with_another(tmp_path: Path) -> None:
    with serve_openai("ANSWER: 12", latency_s=0.2) as server:
        run = start(server, tmp_path)
        wait_for(run, server, 5)
        (first,) = servers_of(run)
        os.kill(first, signal.SIGKILL)
        out, err = run.communicate(timeout=300)
    assert run.returncode == 0, err
    assert err.count("The temporary Prefect server ended (signal 9); another takes its place.") == 1
    progress = re.compile(r"\s+\d+:\d\d  ")
    said = [
        line for line in err.splitlines() if "temporary Prefect server" not in line and not progress.match(line)
    ]
    assert not said, "and nothing else"
    manifest: dict[str, Any] = json.loads((latest(tmp_path) / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["status"] == "completed"
    assert manifest["requests"]["answered"] == ITEMS == len(server.requests)
    assert "Report:" in out


@pytest.mark.usefixtures("lone")
@pytest.mark.skipif(sys.platform != "linux", reason="finds the server in /proc")
def test_a_run_that_no_server_survives_ends_with_one_message_and_what_was_answered(tmp_path: Path) -> None:
    with serve_openai("ANSWER: 12", latency_s=0.2) as server:
        run = start(server, tmp_path)
        wait_for(run, server, 5)
        killed: set[int] = set()
        while run.poll() is None:
            for one in set(servers_of(run)) - killed:
                os.kill(one, signal.SIGKILL)
                killed.add(one)
            time.sleep(0.02)
        out, err = run.communicate()
        asked = len(server.requests)
        assert run.returncode == 2, out
        (error,) = [line for line in err.splitlines() if line.startswith("error: ")]
        assert "so did those that took its place" in error
        assert "Everything answered so far is kept" in error
        assert "Traceback" not in err
        again = start(server, tmp_path)
        out, err = again.communicate(timeout=300)
        assert again.returncode == 0, err
        assert len(server.requests) <= ITEMS + 2, "only what was in flight is asked again"
    assert asked >= 5
