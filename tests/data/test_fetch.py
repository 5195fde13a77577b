"""Public data sets are downloaded from a real server, checked, resumed, and refused when they have changed."""

import gzip
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import polars as pl
import pytest

from basic_control.data import public_sets
from basic_control.data.errors import InputError
from basic_control.data.fetch import fetch
from basic_control.data.loaders.natural_questions import read_questions
from basic_control.data.loaders.word_problems import read_problems
from basic_control.data.public_sets import SOURCES, PublicFile
from tests.helpers.suites import rows_of

BODY = b"".join(b'{"question": "How much is %d?", "answer": "#### %d"}\n' % (n, n) for n in range(5_000))
SMALL = PublicFile(
    "https://example.invalid/some/where/small.jsonl", hashlib.sha256(BODY).hexdigest(), len(BODY), "none"
)


class Mirror(BaseHTTPRequestHandler):
    """A file server that understands ranges, and can be told to misbehave."""

    body = BODY
    cut_after = 0
    ranges = True
    status = 0

    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        server.asked.append((self.path, self.headers.get("Range")))
        if self.status:
            self.send_error(self.status)
            return
        asked = self.headers.get("Range")
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.ranges else 0
        body = self.body[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(self.body) - 1}/{len(self.body)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.cut_after] if self.cut_after and not asked else body)
        self.close_connection = True

    def log_message(self, *_: Any, **__: Any) -> None:
        """Stay silent."""


class Server(ThreadingHTTPServer):
    """The mirror and what it was asked for."""

    def __init__(self, handler: type[Mirror]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.asked: list[tuple[str, str | None]] = []

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Serve the file of a data set named `small`, and keep data in a folder of its own."""
    monkeypatch.setenv("BASIC_CONTROL_DATA", str(tmp_path / "data"))
    monkeypatch.setitem(SOURCES, "small", SMALL)
    server = Server(type("Handler", (Mirror,), {}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def handler(server: Server) -> type[Mirror]:
    found = server.RequestHandlerClass
    assert isinstance(found, type)
    assert issubclass(found, Mirror)
    return found


def test_downloads_once_and_leaves_what_is_right_alone(mirror: Server) -> None:
    seen: list[int] = []
    (path,) = fetch("small", base=mirror.base, progress=lambda _name, done, _size: seen.append(done))
    assert path.read_bytes() == BODY
    assert path.parent == public_sets.folder()
    assert mirror.asked == [("/some/where/small.jsonl", None)]
    assert seen[-1] == len(BODY)
    assert seen == sorted(seen)
    fetch("small", base=mirror.base)
    assert len(mirror.asked) == 1
    assert len(read_problems("small")) == 5_000


def test_a_broken_download_is_resumed_from_where_it_stopped(mirror: Server) -> None:
    handler(mirror).cut_after = 70_000
    with pytest.raises(InputError, match=r"after 70000 of \d+ bytes.*to resume"):
        fetch("small", base=mirror.base)
    (path,) = fetch("small", base=mirror.base)
    assert path.read_bytes() == BODY
    assert [asked for _, asked in mirror.asked] == [None, "bytes=70000-"]
    assert [file.name for file in path.parent.iterdir()] == ["small.jsonl"]


def test_a_server_without_ranges_is_asked_for_all_of_it(mirror: Server) -> None:
    part = public_sets.local_path("small").with_name("small.jsonl.part")
    part.parent.mkdir()
    part.write_bytes(b"x" * 100)
    handler(mirror).ranges = False
    (path,) = fetch("small", base=mirror.base)
    assert path.read_bytes() == BODY


def test_a_wrong_beginning_is_found_by_the_hash_and_thrown_away(mirror: Server) -> None:
    part = public_sets.local_path("small").with_name("small.jsonl.part")
    part.parent.mkdir()
    part.write_bytes(b"x" * 100)
    with pytest.raises(InputError, match=f"expected {SMALL.sha256}"):
        fetch("small", base=mirror.base)
    assert not part.exists()
    assert not public_sets.local_path("small").exists()
    assert fetch("small", base=mirror.base)[0].read_bytes() == BODY


def test_another_file_of_the_same_size_is_refused(mirror: Server) -> None:
    handler(mirror).body = BODY[:-2] + b"!\n"
    with pytest.raises(InputError, match=r"found a file with sha256 [0-9a-f]{64}, expected"):
        fetch("small", base=mirror.base)
    assert not public_sets.local_path("small").exists()


RETRIEVED: list[dict[str, Any]] = [
    {
        "question": f"which colour has barn {n}",
        "answers": ["red", "dark red"],
        "ctxs": [
            {"id": str(at), "title": f"Barn {n}, part {at}", "text": f"Of barn {n}: {'red' if at == 0 else at}.",
             "hasanswer": at == 0, "isgold": at == 0, "score": "1.5"}
            for at in range(10)
        ],
        "nq_annotated_gold": {"title": f"Barn {n}", "long_answer": f"Barn {n} is red all over.",
                              "chunked_long_answer": "is red", "short_answers": ["red"]},
    }
    for n in range(40)
]  # fmt: skip


@pytest.fixture
def passages(mirror: Server, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Fetch `nq`, in whose place the mirror serves a small file of the same form."""
    body = gzip.compress("".join(json.dumps(row) + "\n" for row in RETRIEVED).encode(), mtime=0)
    blob = hashlib.sha1(b"blob %d\0" % len(body) + body, usedforsecurity=False).hexdigest()
    handler(mirror).body = body
    monkeypatch.setitem(SOURCES, "nq", replace(SOURCES["nq"], size=len(body), blob=blob))
    (path,) = fetch("nq", base=mirror.base)
    return path


def test_nq_comes_with_ten_passages_in_an_order_drawn_from_the_seed(passages: Path) -> None:
    assert passages.name == "nq.jsonl.gz"
    items = read_questions(passages, seed=50)
    assert len(items) == 40
    assert items == read_questions(passages, seed=50)
    assert [one.facts["gold_number"] for one in items] != [
        one.facts["gold_number"] for one in read_questions(passages, seed=51)
    ]
    assert {one.facts["gold_number"] for one in items} == {*range(1, 11)}, "40 draws of ten: no place is left out"
    for n, (row, raw) in enumerate(zip((one.facts for one in items), RETRIEVED, strict=True)):
        assert row["passages"][row["gold_number"] - 1]["text"].endswith("red.")
        assert {one["title"] for one in row["passages"]} == {one["title"] for one in raw["ctxs"]}
        assert (row["short_answers"], row["long_answer"]) == (["red", "dark red"], f"Barn {n} is red all over.")


def test_the_default_mode_of_citation_runs_on_fetched_questions(passages: Path) -> None:
    items = rows_of("citation", data="nq")
    assert len(items) == 5
    for one in items:
        facts = json.loads(one["facts"])
        gold = facts["passages"][facts["gold_number"] - 1]
        assert gold["text"].endswith("red.")
        assert all(passage["text"] in one["prompt"] for passage in facts["passages"])
    assert len(read_questions(passages, passages=False)) == 40, "closed_book takes them as well"


def test_a_file_is_checked_by_gits_id_where_no_other_is_known(mirror: Server, passages: Path) -> None:
    asked = len(mirror.asked)
    fetch("nq", base=mirror.base)
    assert len(mirror.asked) == asked, "what is there and right is left alone"
    passages.unlink()
    handler(mirror).body = handler(mirror).body[:-1] + b"?"
    with pytest.raises(InputError, match=r"found a file with git blob id [0-9a-f]{40}, expected"):
        fetch("nq", base=mirror.base)
    assert not passages.exists()


def test_an_endless_file_is_cut_off(mirror: Server) -> None:
    handler(mirror).body = BODY + b"x" * 20_000_000
    with pytest.raises(InputError, match="sha256"):
        fetch("small", base=mirror.base)


@pytest.mark.parametrize("status", [403, 404, 500])
def test_an_error_of_the_server_is_named(mirror: Server, status: int) -> None:
    handler(mirror).status = status
    with pytest.raises(InputError, match=f"the server returned {status}"):
        fetch("small", base=mirror.base)


def test_no_network_says_so_and_what_to_do(mirror: Server) -> None:
    mirror.shutdown()
    mirror.server_close()
    with pytest.raises(InputError, match=r"download failed.*Check the network.*or save the file as .*small\.jsonl"):
        fetch("small", base=mirror.base)


def test_plain_http_is_for_the_loopback_only(mirror: Server) -> None:
    for base in ("http://example.com", "ftp://127.0.0.1", "file:///etc"):
        with pytest.raises(InputError, match="expected an https address"):
            fetch("small", base=base)
    assert mirror.asked == []


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"unknown data set 'gsm9k'; expected one of gsm8k, .*mgsm"):
        fetch("gsm9k")


def test_the_table_is_pinned_and_over_https() -> None:
    for source in SOURCES.values():
        parts = urlsplit(source.url)
        assert parts.scheme == "https"
        assert len(source.sha256) == 64 or len(source.blob) == 40
        assert any(len(piece) == 40 and set(piece) <= set("0123456789abcdef") for piece in parts.path.split("/"))


def test_the_hashes_are_those_of_the_real_files(shared: Path) -> None:
    """The original files, written again from their rows, have the sizes and hashes of the table."""
    for name, file in (("gsm8k", "gsm8k_test"), ("gsm8k_train", "gsm8k_train")):
        rows = pl.read_parquet(shared / f"{file}.parquet").select("question", "answer").to_dicts()
        body = "".join(json.dumps(row) + "\n" for row in rows).encode()
        assert (len(body), hashlib.sha256(body).hexdigest()) == (SOURCES[name].size, SOURCES[name].sha256)
    for name in ("mgsm_en", "mgsm_ru", "mgsm_zh"):
        rows = pl.read_parquet(shared / f"{name}.parquet").to_dicts()
        body = "".join(f"{row['question']}\t{row['answer']}\n" for row in rows).encode()
        assert (len(body), hashlib.sha256(body).hexdigest()) == (SOURCES[name].size, SOURCES[name].sha256)


def test_the_command_prints_the_path_or_the_reason(tmp_path: Path) -> None:
    environment = {**os.environ, "BASIC_CONTROL_DATA": str(tmp_path)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "basic_control", "fetch", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)

    assert "gsm8k" in run("--help").stdout
    wrong = run("gsm9k")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "gsm9k" in wrong.stderr
    refused = run("--base", "http://127.0.0.1:9", "gsm8k")
    assert refused.returncode == 2
    assert "download failed" in refused.stderr
    assert "Traceback" not in refused.stderr
