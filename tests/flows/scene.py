"""A small evaluation of two suites, judged, of which every call and every verdict is known."""

import json
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.helpers import inside
from tests.helpers.preloaded import Preloaded, Process
from tests.helpers.runs import latest, results
from tests.servers.running import Server

IN_FLIGHT = 4
JUDGED = {
    '"rating"': {"reason": "partly", "rating": 1},
    '"verdicts"': {"verdicts": [{"id": "1", "reason": "stated", "verdict": "SUPPORTED"}]},
    '"claims"': {"claims": ["Anna wrote the book."]},
}


def answer(body: dict[str, Any]) -> str:
    """Answer as a model that is sometimes right, the same to the same prompt."""
    schema = json.dumps(body.get("response_format", {}))
    judged = next((found for key, found in JUDGED.items() if key in schema), None)
    return json.dumps(judged) if judged else f"ANSWER: {zlib.crc32(str(body['messages']).encode()) % 20}"


@dataclass
class Scene:
    """An evaluation of two suites on a server: how it is started, and how it ends when nothing happens to it."""

    server: Server
    folder: Path
    forks: Preloaded
    expected: Any = None
    calls: int = 0

    def words(self, folder: Path) -> list[str]:
        """Return the command line for a store of its own."""
        model = {"base_url": self.server.base_url, "provider": "openai", "max_concurrency": IN_FLIGHT}
        sets = {
            "models": json.dumps([{"name": "tiny", **model, "deadline_s": 60}]),
            "judges": json.dumps([{"name": "judge", **model, "deadline_s": 60}]),
            "suites": "[basic_control, rag]",
            "basic_control.families": "[simple_logic, instructions, arithmetic]",
            "basic_control.n_items": "6",
            "rag.data": str(self.folder / "answers.jsonl"),
            "rag.sample_method": "all",
            "batch_size": "8",
            "report.html": "false",  # half a second of drawing that nobody looks at
            "store.root": str(folder / "store"),
            "store.runs": str(folder / "runs"),
        }
        return [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]

    def start(self, folder: Path, *more: str) -> Process:
        """Start a run in the background."""
        return self.forks.start("flows.full_eval", [*self.words(folder), *more], self.forks.environment)

    def end(self, process: Process) -> tuple[int, str, str]:
        """Wait for a run; return its exit code and what it printed."""
        out, err = process.communicate(timeout=240)
        return self._seen(process.wait(), out, err)

    def run(self, folder: Path, *more: str) -> tuple[int, str, str]:
        """Run in this process; return its exit code and what it printed."""
        return self._seen(*inside.call(["run", *self.words(folder), *more], self.forks.environment))

    def _seen(self, code: int, out: str, err: str) -> tuple[int, str, str]:
        assert "Traceback" not in err, err
        assert "| INFO " not in err, "what other packages log is not for the terminal"
        return code, out, err

    def rerun(self, folder: Path, *more: str, apart: bool = False) -> str:
        """Run again, in a process of its own if `apart`; it must end as an undisturbed run does."""
        code, out, err = self.end(self.start(folder, *more)) if apart else self.run(folder, *more)
        assert code == 0, err
        assert outcome(folder) == self.expected
        return out

    def asked(self) -> Counter[str]:
        """Return how often each question was asked."""
        return Counter(
            json.dumps([r.body["messages"], r.body.get("response_format")]) for r in self.server.requests
        )


def outcome(folder: Path) -> Any:
    """Return all that the latest run decided: each verdict, every number of its results."""
    document = json.loads((latest(folder) / "results.json").read_text(encoding="utf-8"))
    return {key: value for key, value in document.items() if key != "run"} | {"raw": decided(latest(folder))}


def decided(run: Path) -> list[dict[str, Any]]:
    """Return each verdict of a run, without the request's id, in which the server's port stands."""
    return [{key: value for key, value in row.items() if key != "request_id"} for row in results(run)]
