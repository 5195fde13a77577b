"""Conversations on a sample's page: bubbles with their roles, calls folded, and nothing of theirs run."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from basic_control.config.settings import Settings
from basic_control.data.tables import ITEMS
from basic_control.tasks.generate import items_of
from basic_control.tasks.plan import resolve
from basic_control.tasks.report.samples import write_questions
from tests.conftest import Run
from tests.helpers.runs import at, latest
from tests.servers.running import serve_openai
from tests.servers.script import Answer
from tests.tasks.report.conftest import Open

HOSTILE = "<script>window.ran=1</script><img src=x onerror=window.ran=1></pre>'\"`{{ 7*7 }}"
ROWS = [{"question": f"{n} + {n}?", "answer": str(2 * n)} for n in range(6)]


def write_rows(folder: Path, rows: list[dict[str, Any]]) -> str:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def write_texts(folder: Path, *models: dict[str, Any], **suite: Any) -> pl.DataFrame:
    """Return the texts of a suite's items as its page shows them."""
    declared = {"name": "sums", "items": {"data": write_rows(folder, ROWS)}, "metrics": {"contains": {}}}
    declared |= {"prompt": "{{ question }}", **suite}
    settings = Settings.model_validate({"models": list(models), "suites": [declared]})
    plan = resolve(settings)
    (sums,) = plan.suites
    items = ITEMS.frame(items_of(sums.suite, sums.required, sums.exclusions))
    return write_questions(items, plan).sort("index")


def test_a_prompt_is_shown_with_its_system_message_and_examples(tmp_path: Path) -> None:
    (tmp_path / "pool.jsonl").write_text(
        json.dumps({"question": "9 + 9?", "answer": "18"})
        + "\n"
        + json.dumps({"question": "8 + 8?", "answer": "16"}),
        encoding="utf-8",
    )
    examples = {"data": str(tmp_path / "pool.jsonl"), "n": 1}
    texts = write_texts(tmp_path, {"name": "m", "provider": "ollama"}, system="Add.", examples=examples)
    first = texts.row(0, named=True)
    turns = first["prompt"].split("\n\n")
    assert turns[0] == "system: Add."
    assert [turn.partition(":")[0] for turn in turns] == ["system", "user", "assistant", "user"]
    assert turns[-1].endswith("0 + 0?")
    assert first["question"] == "0 + 0?"


def test_what_has_neither_is_shown_as_it_is(tmp_path: Path) -> None:
    texts = write_texts(tmp_path, {"name": "m", "provider": "ollama"})
    assert texts["prompt"][0].strip().endswith("0 + 0?")
    assert "user:" not in texts["prompt"][0]


def test_of_models_with_system_prompts_of_their_own_none_is_shown(tmp_path: Path) -> None:
    models = [{"name": name, "provider": "ollama", "system": f"Be {name}."} for name in ("a", "b")]
    texts = write_texts(tmp_path, *models)
    assert "Be a." not in texts["prompt"][0]


@pytest.mark.slow
def test_turns_are_bubbles_calls_are_folded_and_hostile_texts_run_nothing(
    run: Run, tmp_path: Path, visit: Open
) -> None:
    call = {"id": "c1", "function": {"name": "get_weather", "arguments": json.dumps({"city": HOSTILE})}}
    turns = [
        {"role": "system", "content": "Speak like a pirate."},
        {"role": "user", "content": f"How warm is {HOSTILE}?"},
        {"role": "assistant", "content": "A moment.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": HOSTILE},
        {"role": "user", "content": "And in May?"},
    ]
    tool = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
    rows = [{"messages": turns, "calls": [{"name": "get_weather", "arguments": {"city": "Rome"}}]}]
    suite = {
        "name": "chat",
        "items": {"data": write_rows(tmp_path, rows)},
        "prompt": "{{ messages }}",
        "tools": [tool],
        "metrics": {"tool_calls": {}},
    }
    file = tmp_path / "run.json.yaml"
    file.write_text(json.dumps({"suites": [suite], "gate": "off"}), encoding="utf-8")
    made = {"id": "x", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}
    with serve_openai(Answer(None, message={"tool_calls": [made]}, finish_reason="tool_calls")) as server:
        done = run("--config", str(file), "--set", at(server), apart=True)
    assert done.returncode == 0, done.stderr
    (report,) = (latest(tmp_path) / "reports").glob("*.html")
    for width in (390, 1280):
        page = visit(report, viewport={"width": width, "height": 900})
        asked, answered = page.locator(".sample .turns").all()
        roles = asked.locator(".turn > span").all_inner_texts()
        assert roles == ["system", "user", "assistant", "tool", "user"]
        folded = asked.locator("details")
        assert folded.locator("summary").all_inner_texts() == ["get_weather"]
        assert not folded.locator("pre").is_visible()
        folded.locator("summary").click()
        assert "<script>window.ran=1</script>" in folded.locator("pre").inner_text()
        assert "<img src=x onerror=window.ran=1>" in asked.locator(".turn.tool pre").inner_text()
        assert answered.locator("summary").inner_text() == "get_weather"
        assert page.locator("main img, .sample script").count() == 0
        assert page.evaluate("window.ran") is None
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"fits {width} px"
