"""The first screen of a small run shows what was wrong: the question, the reply, and what was expected."""

import json
from pathlib import Path
from typing import Any

from tests.conftest import Run
from tests.helpers.runs import at
from tests.servers.running import serve_openai

ROWS = [("2 + 2", "4"), ("3 + 3", "6"), ("4 + 4", "8"), ("5 + 5", "10"), ("6 + 6", "12")]


def suite_of(tmp_path: Path, **changes: Any) -> str:
    data = tmp_path / "rows.jsonl"
    rows = [{"question": question, "answer": answer} for question, answer in ROWS]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = {"name": "sums", "items": {"data": str(data)}, "prompt": "{{ question }} = ?", "metrics": ["contains"]}
    return f"suites={json.dumps([{**suite, **changes}])}"


# At length, in several lines, and with a character that moves a terminal's cursor.
FOUR = f"It\nis 4.\x1b[2J {'So it is. ' * 40}"


def test_three_wrong_replies_stand_below_the_screen(run: Run, tmp_path: Path) -> None:
    with serve_openai(FOUR) as server:
        done = run("--set", suite_of(tmp_path), "--set", at(server))
    lines = done.stdout.splitlines()
    first = lines.index("Wrong by contains: 4, such as")
    shown = lines[first + 1 : first + 4]
    assert [line.split(" → ")[0].strip() for line in shown] == ["3 + 3", "4 + 4", "5 + 5"]
    assert [line.rpartition(" (expected ")[2] for line in shown] == ["6)", "8)", "10)"]
    assert all("It is 4.⟦U+001B⟧[2J So" in line and len(line) < 100 for line in shown)


def test_a_run_without_a_mistake_and_one_of_two_models_show_none(run: Run, tmp_path: Path) -> None:
    with serve_openai("4, 6, 8, 10, 12") as server:
        done = run("--set", suite_of(tmp_path), "--set", at(server))
        models = [{"name": name, "provider": "openai", "base_url": server.base_url} for name in ("a", "b")]
        two = run("--set", suite_of(tmp_path, metrics=["exact_match"]), "--set", f"models={json.dumps(models)}")
    assert "such as" not in done.stdout
    assert "such as" not in two.stdout
