"""A run keeps its key to itself: nothing that it writes, prints or tells Prefect holds it."""

import gzip
import json
import os
import re
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from tests.conftest import Run
from tests.servers.running import serve_openai
from tests.servers.script import Fault

KEY = "k-hunter2-0123456789"
ECHOED = "Jh8/Tq+2=Zw7Lp4Xn9Bv1Mc6"


def holding(folder: Path, secret: str) -> list[Path]:
    """Return the files below a folder that hold a text."""
    return [path for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


def test_a_key_by_name_is_sent_and_kept_nowhere(run: Run, tmp_path: Path) -> None:
    """Sent in the address by one model, in a header of its own by another."""

    def refused(_number: int, body: dict[str, Any]) -> Fault | None:
        """Refuse one of a model's two questions."""
        told.append(body["model"])
        again = told.count(body["model"]) == 2
        return Fault("status", 400, f"the key {KEY} may not ask this") if again else None

    told: list[str] = []
    places = {"a": {"api_key_query": "key"}, "b": {"api_key_header": "X-Api-Key"}}
    with serve_openai("ANSWER: 4", faults=refused) as server:
        shared = {"provider": "openai", "base_url": server.base_url, "api_key_env": "MY_KEY"}
        models = [{"name": name, **shared, **place} for name, place in places.items()]
        done = run(
            "--set", f"models={json.dumps(models)}", "--set", "suites=[basic_control]",
            "--set", "basic_control.families=[arithmetic]", "--set", "basic_control.n_items=2",
            extra={"MY_KEY": KEY, "PREFECT_LOGGING_LEVEL": "DEBUG"},
        )  # fmt: skip
        sent = {name: [r for r in server.requests if r.body["model"] == name] for name in places}
    assert [len(seen) for seen in sent.values()] == [2, 2]
    assert all(KEY in str(seen.query) for seen in sent["a"])
    assert all(KEY in str(seen.headers) for seen in sent["b"])
    assert list((tmp_path / "runs").iterdir()), done.stderr
    assert KEY not in done.stdout + done.stderr
    assert not holding(tmp_path, KEY)
    assert not holding(Path(os.environ["PREFECT_HOME"]), KEY)
    assert holding(tmp_path, "MY_KEY"), "the search sees what is there: the manifest names the variable"


def spelt(key: str) -> list[str]:
    """Return a key as an application may echo it."""
    return [
        key, quote(key, safe=""), json.dumps(key)[1:-1].replace("/", "\\/"),
        "".join(f"\\u{ord(c):04x}" for c in key), b64encode(f"Bearer {key}".encode()).decode(),
        key[3:15], key[-12:],
    ]  # fmt: skip


def test_a_key_that_replies_reasons_and_errors_echo_is_in_no_file_in_any_form(run: Run, tmp_path: Path) -> None:
    """Nor in what Prefect is told: hidden before anything is kept, verified or shown, and counted."""
    echoed = " ; ".join(spelt(ECHOED))
    rows = [{"question": f"Which? {n}", "answer": "4"} for n in range(3)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def reply(body: dict[str, Any]) -> str:
        if "response_format" in body:
            return json.dumps({"reason": f"it said {echoed}", "rating": 3})
        return f"My headers: {echoed}"

    refused = Fault("status", 400, f"may not ask this: {echoed}")
    with serve_openai(reply, faults=lambda number, _: refused if number == 1 else None) as server:
        model = {"name": "m", "provider": "openai", "base_url": server.base_url, "api_key_env": "MY_KEY"}
        suite = {
            "name": "own", "items": {"data": str(tmp_path / "rows.jsonl")}, "prompt": "{{ question }}",
            "metrics": {"contains": {}, "rubric": {"criteria": "Good.", "scale": [1, 5]}},
        }  # fmt: skip
        done = run(
            "--set", f"models=[{json.dumps(model)}]", "--set", f"judges=[{json.dumps({**model, 'name': 'j'})}]",
            "--set", f"suites=[{json.dumps(suite)}]", "--junit", str(tmp_path / "junit.xml"),
            "--markdown", str(tmp_path / "summary.md"),
            extra={"MY_KEY": ECHOED, "PREFECT_LOGGING_LEVEL": "DEBUG"},
        )  # fmt: skip
        assert len(server.requests) >= 5, done.stderr
    forms = spelt(ECHOED)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    said = {path: text_of(path) for path in written}
    assert not [(path, form) for path, text in said.items() for form in forms if form in text]
    assert not [form for form in forms if form in done.stdout + done.stderr]
    assert not [form for form in forms if holding(Path(os.environ["PREFECT_HOME"]), form)]
    assert any("[key hidden]" in text for path, text in said.items() if path.suffix == ".parquet")
    assert any(
        "2 of 3 replies contained an API key" in text for path, text in said.items() if path.suffix == ".html"
    )


def text_of(path: Path) -> str:
    """Return all that a file says: of tables their cells, of a report its packed chunks too."""
    if path.suffix == ".parquet":
        # As they are, since JSON would double the backslashes of an escaped key.
        return "\n".join(str(cell) for row in pl.read_parquet(path).iter_rows() for cell in row)
    raw = path.read_bytes()
    packed = re.findall(rb'data-encoding="gzip"[^>]*>([A-Za-z0-9+/=]+)<', raw)
    return (raw + b"".join(gzip.decompress(b64decode(one)) for one in packed)).decode("utf-8", "replace")


def test_a_key_in_an_address_ends_the_run_before_anything_is_written(run: Run, tmp_path: Path) -> None:
    address = f"http://127.0.0.1:9/v1?key={KEY}"
    done = run("--set", f"models.0.base_url={address}", "--set", "models.0.provider=openai")
    assert done.returncode == 2
    assert "api_key_query" in done.stderr
    assert KEY not in done.stdout + done.stderr
    assert not holding(tmp_path, KEY)
    assert not holding(Path(os.environ["PREFECT_HOME"]), KEY)
