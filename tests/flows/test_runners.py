"""The same evaluation on a local Dask cluster and a local Ray cluster, which are other processes."""

import importlib.util
import json
import sys
import time
from pathlib import Path

import pytest

from config.reading import read
from data.errors import InputError
from flows.runners import ANSWER_S, running
from tests.flows.scene import Scene
from tests.helpers.runs import latest


@pytest.mark.parametrize(("runner", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_cluster_comes_to_the_same_scores_as_threads(
    scene: Scene, tmp_path: Path, runner: str, package: str
) -> None:
    if not importlib.util.find_spec(package):
        pytest.skip(f"the extra basic-control[{runner}] is not installed here")
    scene.rerun(tmp_path, "--set", f"runner={runner}", "--set", "runner_workers=2", apart=True)
    assert set(scene.asked().values()) == {1}, "two workers ask nothing twice"
    assert len(scene.server.requests) == scene.calls
    scene.rerun(tmp_path)
    assert len(scene.server.requests) == scene.calls, "threads take over what the cluster left"
    stages = json.loads((latest(tmp_path) / "manifest.json").read_text(encoding="utf-8"))["stages"]
    fresh = {row["stage"] for row in stages if not row["cached"]}
    assert fresh == {"query", "judge", "results", "gate", "report"}


@pytest.mark.parametrize(
    ("runner", "address", "said"),
    [
        ("dask", "127.0.0.1:1", "expected a Dask scheduler"),
        ("dask", "nonsense", "expected a Dask scheduler"),
        ("ray", "127.0.0.1:1", "expected a Ray cluster"),
        ("ray", "ray://127.0.0.1:1", "expected a Ray cluster"),
        ("ray", "nonsense", "expected a Ray cluster"),
    ],
)
def test_an_address_where_no_cluster_answers_is_one_message(runner: str, address: str, said: str) -> None:
    pytest.importorskip("distributed" if runner == "dask" else "ray")
    settings = read(None, [f"runner={runner}", f"runner_address={json.dumps(address)}"])
    started = time.monotonic()
    with pytest.raises(InputError, match=said), running(settings):
        pass
    assert time.monotonic() - started < 20 * ANSWER_S, "where nobody listens, Ray itself would try without end"


@pytest.mark.parametrize(("runner", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_extra_is_named(runner: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python itself refuses to import what is None in `sys.modules`."""
    monkeypatch.setitem(sys.modules, package, None)
    settings = read(None, [f"runner={runner}"])
    with pytest.raises(InputError, match=rf"Run: pip install .*prefect-{runner}=="), running(settings):
        pass
