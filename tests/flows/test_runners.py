"""The same evaluation on a local Dask cluster and a local Ray cluster, which are other processes."""

import importlib.util
import json
from pathlib import Path

import pytest

from tests.flows.scene import Scene
from tests.flows.test_full_eval import latest


@pytest.mark.parametrize(("runner", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_cluster_comes_to_the_same_scores_as_threads(
    scene: Scene, tmp_path: Path, runner: str, package: str
) -> None:
    if not importlib.util.find_spec(package):
        pytest.skip(f"the extra basic-control[{runner}] is not installed here")
    scene.rerun(tmp_path, "--set", f"runner={runner}", "--set", "runner_workers=2")
    assert set(scene.asked().values()) == {1}, "two workers ask nothing twice"
    assert len(scene.server.requests) == scene.calls
    scene.rerun(tmp_path)
    assert len(scene.server.requests) == scene.calls, "threads take over what the cluster left"
    stages = json.loads((latest(tmp_path) / "manifest.json").read_text(encoding="utf-8"))["stages"]
    fresh = {row["stage"] for row in stages if not row["cached"]}
    assert fresh == {"query", "judge", "conclude", "report"}
