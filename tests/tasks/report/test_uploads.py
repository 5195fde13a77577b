"""`view` takes files of other tools that a browser sends it, from its own page and from nowhere else."""

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flows.cli import viewing
from tests.tasks.exchange.forms import Line, promptfoo, table_csv

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OLD = [Line(f"q{k}", f"{k} + 1?", right=True) for k in range(40)]
NEW = [Line(f"q{k}", f"{k} + 1?", right=k > 20) for k in range(40)]


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    with viewing.bind(0) as listening:
        taken = int(listening.getsockname()[1])
        server = viewing.server(tmp_path / "runs", taken)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield taken
        server.should_exit = True
        thread.join()


def send(port: int, files: dict[str, bytes], origin: str | None = "http://127.0.0.1:PORT") -> tuple[int, str, str]:
    """Send files as a browser's form does; return the status, where to go on, and the page."""
    parts = [
        b'--xx\r\nContent-Disposition: form-data; name="file"; filename="' + name.encode()
        + b'"\r\nContent-Type: application/json\r\n\r\n' + data + b"\r\n"
        for name, data in files.items()
    ]  # fmt: skip
    headers = {"Content-Type": "multipart/form-data; boundary=xx"}
    if origin is not None:
        headers["Origin"] = origin.replace("PORT", str(port))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/files", b"".join(parts) + b"--xx--\r\n", headers)
    answer = connection.getresponse()
    found = answer.status, answer.getheader("location", ""), answer.read().decode()
    connection.close()
    return found


def test_two_files_are_compared_and_stay_listed(port: int, tmp_path: Path) -> None:
    old, new = (table_csv(tmp_path, name, lines).read_bytes() for name, lines in (("a", OLD), ("b", NEW)))
    status, address, _ = send(port, {"../../old.csv": old, "new.csv": new})
    assert (status, address) == (303, "/compare?before=_.._old.csv&after=new.csv")
    assert send(port, {"new.csv": new})[:2] == (303, "/")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/compare?before=_.._old.csv&after=new+%282%29.csv")
    assert "new (2) is worse than" in connection.getresponse().read().decode()
    connection.close()
    assert not (tmp_path / "old.csv").exists()


def test_two_files_of_one_name_are_compared_without_their_paths(port: int, tmp_path: Path) -> None:
    old, new = (table_csv(tmp_path, name, lines).read_bytes() for name, lines in (("a", OLD), ("b", NEW)))
    _, address, _ = send(port, {"my results.csv": old, "my?results.csv": new})
    assert address == "/compare?before=my_results.csv&after=my_results+%282%29.csv"
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", address)
    page = connection.getresponse().read().decode()
    connection.close()
    assert "my_results (2) is worse than my_results" in page
    assert "/tmp" not in page  # noqa: S108 - no path of this machine


@pytest.mark.parametrize(("origin", "status"), [(None, 405), ("https://evil.example", 403), ("null", 403)])
def test_another_page_sends_nothing(port: int, origin: str | None, status: int) -> None:
    assert send(port, {"a.csv": b"question,score\n1,1\n"}, origin)[0] == status


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.exe": b"x"}, "a.exe: unsupported file type, expected one of .eval"),
        ({"a.json": b"{"}, "a.json: cannot be read as JSON"),
        ({"a.json": b""}, "a.json"),
        ({}, "found no file, expected one or two"),
        ({"a.csv": b"question,score\n" + b"x" * 3000}, "the files exceed 0 MB together"),
    ],
)
def test_what_cannot_be_read_is_one_message(
    port: int, files: dict[str, bytes], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewing, "LARGEST", 2000)
    status, _, page = send(port, files)
    assert status == 400
    assert said in page
    assert "/tmp" not in page  # noqa: S108 - no path of this machine


def test_files_dropped_on_the_page_are_compared(chromium: "Browser", port: int, tmp_path: Path) -> None:
    files = [promptfoo(tmp_path, name, lines) for name, lines in (("old", OLD), ("new", NEW))]
    page = chromium.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"http://127.0.0.1:{port}/")
    page.set_input_files("input[type=file]", files)
    page.click("form:has(input[type=file]) button")
    page.wait_for_url("**/compare?**")
    assert "worse" in page.locator("main").inner_text()
    page.goto(f"http://127.0.0.1:{port}/")
    assert page.locator("input[name=before]").count() == 2
    page.close()
