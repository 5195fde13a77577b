"""One undisturbed evaluation for all tests that disturb one, or run it elsewhere."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.flows.scene import Scene, answer, outcome
from tests.helpers.preloaded import Preloaded
from tests.servers.running import serve_openai


@pytest.fixture(scope="session")
def undisturbed(forks: Preloaded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Run the scene once without any fault; yield it on the server that it asked."""
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
        code, _, err = scene.run(folder)
        assert code == 0, err
        scene.expected, scene.calls = outcome(folder), len(server.requests)
        assert scene.calls == 3 * 6 + 4 * 5
        assert set(scene.asked().values()) == {1}
        assert {row["status"] for row in scene.expected["raw"]} <= {"scored", "no_answer"}
        yield scene


@pytest.fixture
def scene(undisturbed: Scene) -> Iterator[Scene]:
    """Return the scene on a server that has not been asked anything."""
    with serve_openai(answer, latency_s=0.05) as server:
        yield replace(undisturbed, server=server)
