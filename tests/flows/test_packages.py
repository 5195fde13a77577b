"""Programs that need a package which the sandbox lacks: 0 in the score, 1 in its upper bound, and said at once."""

import json
from pathlib import Path
from typing import Any

from tests.conftest import Run
from tests.helpers.runs import at, latest
from tests.servers.running import serve_openai
from tests.servers.script import last_user


def reply(body: dict[str, Any]) -> str:
    """Answer seven of ten right; one is wrong, and two need numpy."""
    number = int(last_user(body).rpartition(" ")[2])
    value = "x + 1" if number < 7 else "x" if number == 7 else "int(np.add(x, 1))"
    return f"```python\nimport numpy as np\ndef f(x):\n    return {value}\n```"


def test_what_needs_a_package_is_bounded_and_counted_on_the_first_screen(run: Run, tmp_path: Path) -> None:
    """7 of 10 right and two without numpy: 70 % to 90 %, undecided at 80 %, and failed at 95 %."""
    rows = [{"question": f"Add {n}", "tests": [f"assert f({n}) == {n + 1}"]} for n in range(10)]
    data, path = tmp_path / "functions.jsonl", tmp_path / "run.yaml"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite: dict[str, Any] = {
        "name": "functions",
        "items": {"data": str(data)},
        "prompt": "{{ question }}",
        "metrics": {"code_tests": {}},
        "threshold": 0.8,
    }
    path.write_text(json.dumps({"suites": [suite]}), encoding="utf-8")
    with serve_openai(reply) as server:
        ended = run("--config", str(path), "--set", at(server))
        assert ended.returncode == 3, ended.stderr
        words = " ".join(ended.stdout.split())
        assert "it depends on programs that cannot run here (2 × needs numpy): 70% if they are wrong" in words
        assert "programs that need a package which the sandbox does not have: 2 × needs numpy" in words
        failed = run("--config", str(path), "--set", at(server), "--set", "suites.0.threshold=0.95")
        assert failed.returncode == 1, failed.stderr
    (report,) = latest(tmp_path).glob("reports/*.md")
    assert "(up to 90% with the packages that programs need)" in report.read_text(encoding="utf-8")
    (entry,) = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))["final"]["models"]
    (headline,) = entry["suites"]
    assert (headline["score"], headline["upper"], headline["coverage"]) == (0.7, 0.9, 1.0)
