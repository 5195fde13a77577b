"""One undisturbed evaluation for all tests that disturb one, or run it elsewhere."""

import json
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.flows.scene import Scene, answer, outcome
from tests.helpers.preloaded import Preloaded
from tests.servers.running import serve_openai


@pytest.fixture(scope="session")
def undisturbed(forks: Preloaded, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Run the scene once without any fault."""
    folder = tmp_path_factory.mktemp("undisturbed")
    rows = [
        {
            "question": f"Who wrote book {n}?",
            "response": f"Anna wrote book {n}.",
            "reference": f"Book {n} is Anna's.",
            "retrieved_contexts": [f"Book {n}, by Anna, has ten chapters."],
        }
        for n in range(4)
    ]
    (folder / "answers.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    with serve_openai(answer, latency_s=0.05) as server:
        scene = Scene(server, folder, forks)
        started = time.monotonic()
        code, _, err = scene.end(scene.start(folder))
        assert code == 0, err
        scene.wall_s = time.monotonic() - started
        scene.expected, scene.calls = outcome(folder), len(server.requests)
    assert scene.calls == 3 * 6 + 4 * 5
    assert set(scene.asked().values()) == {1}
    statuses = Counter(row["status"] for row in scene.expected["raw"])
    assert set(statuses) <= {"scored", "no_answer"}
    return scene


@pytest.fixture
def scene(undisturbed: Scene) -> Iterator[Scene]:
    """Return the scene on a server that has not been asked anything."""
    with serve_openai(answer, latency_s=0.05) as server:
        before = undisturbed
        yield Scene(server, before.folder, before.forks, before.expected, before.calls, before.wall_s)
