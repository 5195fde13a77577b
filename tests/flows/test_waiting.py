"""A run ends however its questions repeat and fail: no batch of it waits for another that waits for it."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.conftest import Run
from tests.helpers.requests import prompts_seen
from tests.servers.running import serve_openai
from tests.servers.script import Answer, Fault

N = 120
OWN = {
    "name": "own",
    "prompt": "{{ question }}",
    "metrics": {"exact_match": {}},
    "score": ["exact_match"],
    "threshold": 0.5,
}


def refuse_odd(body: dict[str, Any]) -> Answer | Fault:
    """Refuse every second question."""
    odd = int(body["messages"][-1]["content"]) % 2
    return Fault("status", status=400, message="not this one") if odd else Answer("yes")


def test_rows_that_repeat_and_half_of_whose_calls_fail_are_asked_once(run: Run, tmp_path: Path) -> None:
    """Two batches side by side, the second one's questions those of the first from the last on; of two entries."""
    questions = [str(n) for n in range(N)]
    rows = ({"question": question, "answer": "yes"} for question in [*questions, *questions[::-1]])
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with serve_openai(refuse_odd, latency_s=0.01) as server:
        same = {"model": "served", "provider": "openai", "base_url": server.base_url, "max_concurrency": 2}
        sets = {
            "models": [{"name": "one", **same}, {"name": "other", **same}],
            "suites": [{**OWN, "items": {"data": str(data)}}],
            "batch_size": N,
            "gate": "off",
        }
        done = run(*(word for key, value in sets.items() for word in ("--set", f"{key}={json.dumps(value)}")))
        asked = prompts_seen(server)
    assert done.returncode == 2, "half of the rows are not scored: an error, gate or none"
    assert asked == Counter(questions)
    assert f"{4 * N} calls: {3 * N // 2} already answered, {N // 2} asked now, {2 * N} failed." in done.stdout
