"""System One's wire against somebody else's server: that of the package sparrow-decider, with its own model."""

import json
import queue
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from typing import Any

import pytest

from basic_control.data.records import Reply
from basic_control.data.typed import TypedQuestion
from basic_control.metrics.deciding_judges import read_probabilities
from tests.tasks.models.asking import using

cli: Any = pytest.importorskip("sparrow_decider.cli", reason="a package of the tests: make test installs it")

STATE = {"response": "I was charged twice for my order, and I want my money back."}
QUESTIONS = (
    TypedQuestion("choice", "Which desk answers this?", {}, {"refunds": "money back", "weather": "forecasts"}),
    TypedQuestion("levels", "How urgent is it?", {}, {"1": "can wait", "2": "today", "3": "now"}),
    TypedQuestion("yes_no", "The customer wants money back.", {}, {"yes": "", "no": ""}),
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Serve the package's own command line, on a free port."""
    started: queue.Queue[ThreadingHTTPServer] = queue.Queue()

    class Announced(ThreadingHTTPServer):
        def serve_forever(self, poll_interval: float = 0.5) -> None:
            started.put(self)
            super().serve_forever(poll_interval)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "ThreadingHTTPServer", Announced)
        threading.Thread(target=cli.main, args=(["serve", "--port", "0"],), daemon=True).start()
        server = started.get(timeout=60)
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        server.server_close()


def test_its_answers_are_probabilities_of_our_labels_asked_together_or_singly(url: str) -> None:
    from basic_control.config.settings import Judge
    from basic_control.data.records import Call, Message

    entry = {"name": "sparrow", "provider": "openai", "base_url": url, "api": "systemone", "deadline_s": 20}
    judge = Judge.model_validate(entry)
    message = Message("user", json.dumps(STATE))
    calls = [Call(messages=(message,), typed=question) for question in QUESTIONS]

    async def ask(client: Any) -> tuple[list[Reply], list[Reply]]:
        return await client.ask_together(calls), [await client.ask(call) for call in calls]

    together, singly = using(judge, ask)
    for question, reply, alone in zip(QUESTIONS, together, singly, strict=True):
        shares = read_probabilities(reply.text, question.labels)
        assert [*shares] == [*question.labels]
        assert sum(shares.values()) == pytest.approx(1.0)
        assert shares == read_probabilities(alone.text, question.labels)
