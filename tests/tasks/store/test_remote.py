"""A store on S3: tables and stage results live there, nothing of it on this machine but the reply cache."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from moto.server import ThreadedMotoServer

from basic_control.data.errors import InputError
from basic_control.data.tables import RESPONSES, VERDICTS
from basic_control.flows.cli.application import main
from basic_control.tasks.store.pruning import take
from basic_control.tasks.store.reply_cache import ReplyCache
from basic_control.tasks.store.tables import Damaged, Store
from tests.conftest import Run, free_port
from tests.helpers.runs import TWO, at
from tests.helpers.tables import response, verdicts
from tests.servers.running import serve_openai

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "made-up",
    "AWS_SECRET_ACCESS_KEY": "made-up-too",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Run an S3-compatible server on loopback and return its address."""
    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def aws(server: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Set the environment that leads to the server; return it for other processes."""
    found = {**CREDENTIALS, "AWS_ENDPOINT_URL": server}
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    # File systems are remembered with the settings of their first use.
    fsspec.filesystem("s3").clear_instance_cache()
    return found


@pytest.fixture
def bucket(aws: dict[str, str], request: pytest.FixtureRequest) -> str:
    """Make a bucket and return its URL."""
    assert aws
    name = f"evaluations-{abs(hash(request.node.nodeid))}"
    fsspec.filesystem("s3").mkdir(name)
    return f"s3://{name}"


def test_a_table_comes_back_from_s3_as_it_was(bucket: str) -> None:
    store = Store(f"{bucket}/deep/store/")
    ref = store.write(VERDICTS, verdicts())
    assert store.local is None
    assert Store(f"{bucket}/deep/store").read(ref).equals(verdicts())
    assert store.write(VERDICTS, verdicts()) == ref
    assert [entry.digest for entry in store.entries()] == [ref.digest]
    found = store.read_if_kind(ref.digest, VERDICTS)
    assert found is not None
    assert found.equals(verdicts())
    assert store.read_if_kind(ref.digest, RESPONSES) is None


@pytest.mark.parametrize("damage", ["changed", "cut", "deleted"])
def test_a_damaged_object_is_never_read_and_is_written_anew(bucket: str, damage: str) -> None:
    store = Store(f"{bucket}/store")
    ref = store.write(VERDICTS, verdicts())
    s3, path = fsspec.filesystem("s3"), store.address(ref.digest)
    content = s3.cat_file(path)
    if damage == "deleted":
        s3.rm_file(path)
    else:
        s3.pipe_file(path, content[:-5] if damage == "cut" else content[:-1] + b"?")
    assert not store.is_intact(ref)
    with pytest.raises(Damaged, match="missing" if damage == "deleted" else "damaged"):
        store.read(ref)
    assert store.write(VERDICTS, verdicts()) == ref
    assert store.read(ref).equals(verdicts())


def test_a_store_on_s3_is_cared_for(bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(f"{bucket}/store")
    store.write(VERDICTS, verdicts())
    store.write(RESPONSES, response(cached=False))
    keys = {"root": store.root, "runs": tmp_path, "cache": f"sqlite:///{tmp_path}/replies.sqlite"}
    more = [word for key, value in keys.items() for word in ("--set", f"store.{key}={value}")]
    assert main(["store", "list", *more]) == 0
    assert "2 tables" in capsys.readouterr().out
    ReplyCache(keys["cache"], store=store).close()
    assert main(["store", "verify", *more]) == 0
    assert "2 tables, 0 runs and 1 reply checked: no faults." in capsys.readouterr().out
    assert main(["store", "prune", "--yes", *more]) == 0
    assert len(take(store, tmp_path).tables) == 2, "what was just written stays"
    assert main(["store", "prune", "--grace", "0h", "--yes", *more]) == 0
    assert len(take(store, tmp_path).tables) == 0


def test_a_bucket_that_is_not_there_is_one_message(aws: dict[str, str]) -> None:
    assert aws
    with pytest.raises(InputError, match="Create the bucket first"):
        Store("s3://no-such-bucket/store").write(VERDICTS, verdicts())


def test_a_server_that_is_not_there_is_one_message(
    aws: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert aws
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    fsspec.filesystem("s3").clear_instance_cache()
    assert main(["store", "list", "--set", "store.root=s3://bucket/store", "--set", f"store.runs={tmp_path}"]) == 2
    with pytest.raises(InputError, match="cannot be reached"):
        Store("s3://bucket/store").write(VERDICTS, verdicts())


def test_no_credentials_are_one_message(server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in CREDENTIALS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    fsspec.filesystem("s3").clear_instance_cache()
    with pytest.raises(InputError, match="the credentials in the environment"):
        Store("s3://bucket/store").write(VERDICTS, verdicts())


@pytest.mark.slow
def test_an_evaluation_runs_on_s3_and_a_second_one_is_cached(
    bucket: str, aws: dict[str, str], run: Run, tmp_path: Path
) -> None:
    """Every table and every stage's result is an object; what the first run did, the second finds there."""
    root = f"{bucket}/store"
    with serve_openai("ANSWER: 4") as server:
        sets = [at(server), TWO, "suites=[basic_control]", "basic_control.n_items=3"]
        sets.append(f"store.cache=sqlite:///{tmp_path}/replies.sqlite")
        arguments = [part for one in sets for part in ("--set", one)]
        done = run(*arguments, extra=aws, root=root)
        assert "6 calls, 0 failed" in done.stdout, done.stderr
        again = run(*arguments, extra=aws, root=root)
    assert "No model call was made" in again.stdout, again.stderr
    assert len(server.requests) == 6
    manifests = [
        json.loads(path.read_text(encoding="utf-8")) for path in (tmp_path / "runs").glob("*/manifest.json")
    ]
    first, second = sorted(manifests, key=lambda one: str(one["started"]))
    cached = {stage["stage"]: stage["cached"] for stage in second["stages"]}
    assert all(cached[stage] for stage in ("generate", "prepare", "verify", "score", "aggregate"))
    assert not any(stage["cached"] for stage in first["stages"])
    s3: Any = fsspec.filesystem("s3")
    s3.invalidate_cache()
    names = [path.removeprefix(root.removeprefix("s3://")) for path in s3.find(root)]
    assert sum(name.startswith("/tables/") for name in names) >= 6
    assert sum(name.startswith("/results/") for name in names) >= 5
    assert not (tmp_path / "store").exists()
