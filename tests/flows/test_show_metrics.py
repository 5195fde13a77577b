"""Replies that lost points by several metrics: `show --failed` and the report have them by each that decides."""

import json
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.helpers.runs import at, latest
from tests.servers.running import serve_openai

N_ROWS = 25


@pytest.mark.parametrize("rules", [{"score": "all"}, {"threshold": 0.5}])
def test_a_reply_that_fails_by_several_metrics_is_listed_by_each(
    run: Run, tmp_path: Path, rules: dict[str, object]
) -> None:
    rows = [{"ticket": f"Ticket {n}", "answer": "Billing"} for n in range(N_ROWS)]
    (tmp_path / "tickets.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = {
        "name": "tickets",
        "items": {"data": str(tmp_path / "tickets.jsonl")},
        "prompt": "{{ ticket }}",
        "metrics": ["exact_match", "contains"],
        **rules,
    }
    file = tmp_path / "eval.yaml"
    file.write_text(json.dumps({"suites": [suite], "gate": "point"}), encoding="utf-8")
    with serve_openai(lambda _: "Web") as server:
        run(str(file), "--set", at(server, name="m"))
    failed = run("last", "--failed", "-n", "40", command="show")
    assert failed.returncode == 0, failed.stderr
    assert f"{N_ROWS} replies, {N_ROWS} with less than the full score" in failed.stdout
    for metric in ("exact_match", "contains"):
        assert f"tickets, m, {metric}: {N_ROWS}" in failed.stdout
    assert "m, all:" not in failed.stdout
    (report,) = latest(tmp_path).glob("reports/*.md")
    table = report.read_text(encoding="utf-8").partition("## Replies that lost points")[2].partition("\n## ")[0]
    assert (table.count("| exact\\_match |"), table.count("| contains |")) == (10, 10)
