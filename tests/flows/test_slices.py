"""Slices of a run: in results.json, in the report, and the worst of them on the screen."""

import json
from pathlib import Path

from tests.conftest import Run
from tests.helpers.runs import latest


def test_the_worst_slice_is_on_the_screen_and_all_are_in_results_and_report(run: Run, tmp_path: Path) -> None:
    rows = [
        {
            "question": f"q{n}",
            "answer": "yes",
            "response": "yes" if n % 2 else "no",
            "topic": "law" if n % 2 else "<i>tax|1</i>",
        }
        for n in range(40)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = {
        "name": "desk",
        "items": {"data": str(tmp_path / "rows.jsonl")},
        "metrics": {"exact_match": {}},
        "slices": ["topic"],
    }
    path = tmp_path / "run.yaml"
    path.write_text(json.dumps({"suites": [suite], "gate": "off"}), encoding="utf-8")
    done = run("--config", str(path))
    assert done.returncode == 0, done.stderr
    assert "worst where topic is <i>tax|1</i>: 0%" in done.stdout.replace("0.0%", "0%")
    folder = latest(tmp_path)
    first, second = json.loads((folder / "results.json").read_text(encoding="utf-8"))["slices"]
    assert (first["column"], first["text"], first["n"], first["elsewhere"]) == ("topic", "<i>tax|1</i>", 20, 1.0)
    assert (second["text"], second["significant"]) == ("law", True)
    (page,) = (folder / "reports").glob("*.html")
    html = page.read_text(encoding="utf-8")
    assert "<i>tax" not in html, "a value is never markup"
    assert "topic = &lt;i&gt;tax|1" in html
    missing = json.loads(path.read_text(encoding="utf-8"))
    missing["suites"][0]["slices"] = ["team"]
    path.write_text(json.dumps(missing), encoding="utf-8")
    refused = run("--config", str(path))
    assert refused.returncode == 2
    assert "column 'team', named in `slices`" in refused.stderr
