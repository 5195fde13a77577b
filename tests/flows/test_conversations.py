"""Rows that are conversations: messages, system prompts and tools as they are sent, refused, counted and scored."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from basic_control.data.loading import add_tools
from basic_control.data.questions import identify_question
from basic_control.data.records import Item
from basic_control.tasks.generate import row
from tests.conftest import Run
from tests.helpers.runs import at, latest
from tests.servers.running import serve_openai
from tests.servers.script import Answer

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather of a city",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]
USER = {"role": "user", "content": "And in May?"}
TURNS = [
    {"role": "system", "content": "Speak like a pirate."},
    {"role": "user", "content": [{"type": "text", "text": "How warm is "}, {"type": "text", "text": "Rome?"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "31 degrees"},
    {"role": "assistant", "content": ""},
    USER,
]


def write_run(folder: Path, rows: list[dict[str, Any]], **suite: Any) -> str:
    """Write a configuration with one suite over rows; return its path."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "rows.jsonl").write_text(text, encoding="utf-8")
    declared = {"name": "chat", "items": {"data": str(folder / "rows.jsonl")}, "metrics": {"contains": {}}, **suite}
    path = folder / "run.yaml"
    path.write_text(json.dumps({"suites": [declared], "gate": "off"}), encoding="utf-8")
    return str(path)


def ask(
    run: Run, folder: Path, rows: list[dict[str, Any]], reply: Any = "18", **suite: Any
) -> list[dict[str, Any]]:
    """Run a suite against a scripted server; return the bodies of its requests."""
    path = write_run(folder, rows, **suite)
    with serve_openai(reply) as server:
        done = run("--config", path, "--set", at(server, max_tokens=64))
        assert done.returncode == 0, done.stderr
        return [request.body for request in server.requests]


def test_a_column_of_messages_is_sent_as_it_is_and_a_row_s_system_replaces_the_suite_s(
    run: Run, tmp_path: Path
) -> None:
    rows = [{"messages": [USER], "answer": "18"}, {"messages": json.dumps(TURNS), "answer": "18"}]
    bodies = ask(run, tmp_path, rows, prompt="{{ messages }}", system="Be brief.")
    by_length = {len(body["messages"]): body["messages"] for body in bodies}
    assert by_length[2] == [{"role": "system", "content": "Be brief."}, USER]
    sent = by_length[6]
    assert [message["role"] for message in sent] == [turn["role"] for turn in TURNS]
    assert sent[0]["content"] == "Speak like a pirate."
    assert sent[1]["content"] == "How warm is Rome?"
    assert sent[2]["tool_calls"][0]["function"] == {"name": "get_weather", "arguments": '{"city": "Rome"}'}
    assert sent[3]["tool_call_id"] == "c1"


def test_another_column_s_messages_and_lists_of_templates_are_conversations(run: Run, tmp_path: Path) -> None:
    rows = [{"history": [USER, {"role": "assistant", "content": "18"}, USER], "team": "billing", "answer": "18"}]
    (body,) = ask(run, tmp_path, rows, prompt={"messages": "history"}, system="You serve {{ team }}.")
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
    assert body["messages"][0]["content"] == "You serve billing."
    prompt = [
        {"role": "system", "content": "Team {{ team }}."},
        {"role": "user", "content": "Ready?"},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "{{ history[0].content }}"},
    ]
    (body,) = ask(run, tmp_path, rows, prompt=prompt)
    assert [message["content"] for message in body["messages"]] == [
        "Team billing.",
        "Ready?",
        "Yes.",
        "And in May?",
    ]


REFUSED = {
    "a printed list": ("{{ history }}", {}, "column 'history' holds a list"),
    "a printed mapping": ("{{ user.home }}", {}, "column 'user.home' holds a mapping"),
    "an image": ("{{ messages }}", {}, "part of type image_url"),
    "a role": ({"messages": "roles"}, {}, "role 'human'"),
    "no messages": ({"messages": "empty"}, {}, "expected a list of messages"),
    "no column": ({"messages": "nothing"}, {}, "column 'nothing'"),
    "braces of a system": ("{{ question }}", {"system": "Use {{ }}."}, "{% raw %}"),
    "a system's column": ("{{ question }}", {"system": "Team {{ team }}"}, "{% raw %}"),
    "tools that are none": ("{{ question }}", {"tools": "user"}, "expected a mapping with `name`"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_sent_is_refused_before_anything_is_asked(run: Run, tmp_path: Path, name: str) -> None:
    prompt, suite, message = REFUSED[name]
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}
    row = {
        "question": "Why?",
        "history": ["a", "b"],
        "user": {"home": {"city": "Rome"}},
        "messages": [image],
        "roles": [{"role": "human", "content": "Hi"}],
        "empty": [],
        "answer": "18",
    }
    path = write_run(tmp_path, [row], prompt=prompt, **suite)
    with serve_openai("18") as server:
        done = run("--config", path, "--set", at(server))
        assert done.returncode == 2
        assert message in done.stderr
        assert not server.requests


def test_loops_joins_and_json_of_lists_are_fine_and_raw_braces_are_text(run: Run, tmp_path: Path) -> None:
    rows = [{"xs": ["a", "b"], "answer": "18"}]
    prompt = "{{ xs | join('+') }} {{ xs[0] }} {{ xs | tojson }} {% for x in xs %}{{ x }}{% endfor %}"
    (body,) = ask(run, tmp_path, rows, prompt=prompt, system="Use {% raw %}{{ }}{% endraw %}.")
    assert [message["content"] for message in body["messages"]] == ["Use {{ }}.", 'a+b a ["a", "b"] ab']


def call(city: str) -> dict[str, Any]:
    return {
        "id": "1",
        "type": "function",
        "function": {"name": "get_weather", "arguments": json.dumps({"city": city})},
    }


def test_tools_are_sent_calls_are_scored_and_a_reply_of_calls_alone_is_no_answer_to_a_text_metric(
    run: Run, tmp_path: Path
) -> None:
    def reply(body: dict[str, Any]) -> Answer:
        city = body["messages"][-1]["content"]
        if city == "Hello":
            return Answer("18")
        return Answer(None, finish_reason="tool_calls", message={"tool_calls": [call(city)]})

    right = [{"name": "get_weather", "arguments": {"city": ["Paris"]}}]
    rows = [
        {"question": "paris", "calls": right, "tools": TOOLS, "answer": "18"},
        {"question": "Rome", "calls": right, "tools": TOOLS, "answer": "18"},
        {"question": "Hello", "calls": [], "tools": TOOLS, "answer": "18"},
    ]
    path = write_run(tmp_path, rows, prompt="{{ question }}", metrics={"tool_calls": {}, "contains": {}})
    with serve_openai(reply) as server:
        done = run("--config", path, "--set", at(server, max_tokens=64))
        assert done.returncode == 0, done.stderr
        assert all(request.body["tools"] == TOOLS for request in server.requests)
    assert "call tools and say nothing" in done.stdout
    tables = latest(tmp_path) / "tables"
    prompts = dict(pl.read_parquet(tables / "items.parquet").select("item_id", "prompt").iter_rows())
    scores = pl.read_parquet(tables / "scores.parquet").select("item_id", "metric", "value", "status", "reason")
    found = {(prompts[item_id], metric): cell for item_id, metric, *cell in scores.iter_rows()}
    assert {city: found[city, "tool_calls"][0] for city in prompts.values()} == {
        "paris": 1.0,
        "Rome": 0.0,
        "Hello": 1.0,
    }
    assert found["Rome", "tool_calls"][2] == "wrong value: city: 'Rome', expected 'Paris'"
    assert found["paris", "contains"] == [0.0, "no_answer", "calls of tools, and no text"]


def test_a_list_shows_what_a_user_said_last_and_what_was_called(run: Run, tmp_path: Path) -> None:
    expected = [{"name": "get_weather", "arguments": {"city": "Oslo"}}]
    rows: list[dict[str, Any]] = [{"messages": TURNS, "calls": expected, "tools": TOOLS}]
    rows += [{"messages": [TURNS[0], USER], "calls": expected, "tools": TOOLS}]
    path = write_run(tmp_path, rows, prompt="{{ messages }}", metrics={"tool_calls": {}})
    reply = Answer(None, finish_reason="tool_calls", message={"tool_calls": [call("Rome")]})
    with serve_openai(reply) as server:
        done = run("--config", path, "--set", at(server, max_tokens=64))
    listed = run("last", "--failed", command="show")
    # With … before it where turns came before, whatever the system's message.
    for text in (done.stdout, listed.stdout):
        assert "… And in May? → get_weather(city='Rome')" in " ".join(text.split()), text
    assert "\n  And in May? → get_weather(city='Rome')" in listed.stdout


def test_the_same_conversation_is_the_same_question_whatever_holds_it() -> None:
    item = Item("", "18", {"messages": TURNS[1:], "answer": "18"})
    other = Item("", "18", {"chat": TURNS[1:], "answer": "18"})
    text = Item("", "18", {"messages": json.dumps(TURNS[1:]), "answer": "18"})
    question_id = row(item, {"messages"})["question_id"]
    assert row(other, {"chat"}, "chat")["question_id"] == question_id
    assert row(text, {"messages"})["question_id"] == question_id
    single = Item("", "18", {"messages": [USER], "answer": "18"})
    assert (
        identify_question(single).question_id
        == identify_question(Item("", "18", {"question": "And in May?"})).question_id
    )
    told = add_tools(item, TOOLS)
    assert row(told, {"messages", "tools"})["question_id"] != question_id


def test_rows_without_tools_are_asked_without_and_a_column_is_sent_only_where_calls_are_expected(
    run: Run, tmp_path: Path
) -> None:
    rows = [{"question": "a", "calls": [], "tools": TOOLS}, {"question": "b", "calls": []}]
    bodies = ask(run, tmp_path, rows, prompt="{{ question }}", metrics={"tool_calls": {}})
    sent = {body["messages"][0]["content"]: body.get("tools") for body in bodies}
    assert sent == {"a": TOOLS, "b": None}
    bodies = ask(run, tmp_path, rows, prompt="{{ question }}?", metrics={"refusal": {"expected": "comply"}})
    assert all("tools" not in body for body in bodies)


def test_that_a_row_s_system_message_replaces_the_suite_s_is_said(run: Run, tmp_path: Path) -> None:
    rows = [{"messages": [USER], "answer": "18"}, {"messages": TURNS, "answer": "18"}]
    path = write_run(tmp_path, rows, prompt="{{ messages }}", system="Be brief.")
    with serve_openai("18") as server:
        done = run("--config", path, "--set", at(server))
    assert "1 row has a system message of" in " ".join(done.stdout.split())
