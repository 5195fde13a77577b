"""Lists in cells of CSV, as JSON and as Python, pandas and NumPy print them: options, messages, tools, calls."""

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from basic_control.data.notations import parse_cell
from basic_control.metrics._choices import offer_of
from tests.conftest import Run
from tests.helpers.runs import at, latest
from tests.servers.openai import Answer
from tests.servers.running import serve_openai

pytestmark = pytest.mark.usefixtures("forked_runs")


def print_array(value: list[Any]) -> str:
    """Print a list as pandas does where the table held arrays."""
    array = np.empty(len(value), dtype=object)
    array[:] = value
    return str(array)


NOTATIONS: Mapping[str, Callable[[list[Any]], str]] = {
    "JSON": lambda value: json.dumps(value, indent=1),
    "Python": repr,
    "NumPy": print_array,
    "array": lambda value: f"array({value!r}, dtype=object)",
    "tuple": lambda value: repr(tuple(value)),
}
OPTIONS = ["red, dark", "it's blue", 'a "green"']
MESSAGES = [{"role": "user", "content": "It's, well, Paris?"}, {"role": "assistant", "content": None}]
TOOL = {"name": "get_weather", "description": "It's", "parameters": {"type": "object", "properties": {"city": {}}}}
CALLS = [{"name": "get_weather", "arguments": {"city": ["Paris", ""]}}] * 2


def run_row(run: Run, folder: Path, row: dict[str, Any], reply: Any, **suite: Any) -> tuple[dict[str, Any], float]:
    """Ask one row of CSV; return what was sent, and the score."""
    with (folder / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*row])
        writer.writeheader()
        writer.writerow(row)
    declared = {"name": "cells", "items": {"data": str(folder / "rows.csv")}, **suite}
    (folder / "eval.yaml").write_text(json.dumps({"suites": [declared], "gate": "off"}), encoding="utf-8")
    with serve_openai(reply) as server:
        done = run(str(folder / "eval.yaml"), "--set", at(server, name="m"))
        (request,) = server.requests
    assert done.returncode == 0, done.stderr
    document = json.loads((latest(folder) / "results.json").read_text(encoding="utf-8"))
    (model,) = document["final"]["models"]
    return request.body, model["suites"][0]["score"]


@pytest.mark.parametrize("notation", ["JSON", "Python", "NumPy", "tuple"])
def test_options_in_a_cell_are_chosen_by_letter_and_by_text(run: Run, tmp_path: Path, notation: str) -> None:
    row = {"question": "Which?", "options": NOTATIONS[notation](OPTIONS), "answer": "it's blue"}
    _, score = run_row(run, tmp_path, row, "B", prompt="{{ question }}", metrics={"choice": {}})
    assert score == 1


@pytest.mark.parametrize("notation", ["JSON", "Python", "NumPy", "tuple"])
def test_messages_tools_and_calls_in_cells_are_sent_and_scored(run: Run, tmp_path: Path, notation: str) -> None:
    write = NOTATIONS[notation]
    row = {"messages": write([*MESSAGES, MESSAGES[0]]), "tools": write([TOOL]), "calls": write(CALLS)}
    function = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    calls = [{"id": f"c{number}", "type": "function", "function": function} for number in range(2)]
    reply = Answer(None, finish_reason="tool_calls", message={"tool_calls": calls})
    body, score = run_row(run, tmp_path, row, lambda _: reply, prompt="{{ messages }}", metrics={"tool_calls": {}})
    assert [message["content"] for message in body["messages"]][::2] == ["It's, well, Paris?"] * 2
    assert body["tools"][0]["function"]["parameters"]["properties"] == {"city": {}}
    assert score == 1


@pytest.mark.parametrize("notation", NOTATIONS)
def test_lists_of_lists_of_objects_and_empty_ones_are_read_in_every_notation(notation: str) -> None:
    for value in ([TOOL, TOOL], OPTIONS, ["one"], [TOOL]):
        text = NOTATIONS[notation](value)
        assert parse_cell(text if notation != "array" else f"[{text}]") == (
            [value] if notation == "array" else value
        )
    assert parse_cell("[]") == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[['a' 'b']\n ['c, d' None]]", [["a", "b"], ["c, d", None]]),
        ("{'text': array(['a', 'b'], dtype=object), 'n': [1, -2.5]}", {"text": ["a", "b"], "n": [1, -2.5]}),
        ("[np.str_('a'), nan, True]", ["a", None, True]),
        *[
            (text, text)
            for text in (
                "(1, 2)", "[1 2]", "[1] A note.", "[see above]", "('a')", "['a' 'b' ... 'c']", "['a', ...]", "['a",
                "[b'a']", "[f'{a}']", "[open('a')]", "{**{'a': 1}}", "{[1]: 2}", "{'a', 'b'}", "[" * 5000,
            )
        ],
    ],
)  # fmt: skip
def test_a_text_that_is_no_whole_literal_stays_a_text(text: str, value: Any) -> None:
    assert parse_cell(text) == value


def test_options_as_arrays_side_by_side_and_those_that_are_broken_off() -> None:
    options = {"texts": "options", "letters": ""}
    cell = "{'text': array(['red', \"it's\"], dtype=object), 'label': array(['1', '2'], dtype=object)}"
    assert offer_of({"options": cell}, options).texts == {"1": "red", "2": "it's"}
    assert "begins as a list and is none" in offer_of({"options": "['red' 'blue' ... 'green']"}, options).problem


@pytest.mark.parametrize("notation", ["JSON", "Python", "NumPy", "tuple"])
def test_a_prompt_loops_over_the_objects_of_a_cell(run: Run, tmp_path: Path, notation: str) -> None:
    entries = [{"text": "red, dark"}, {"text": "it's blue"}]
    row = {"question": "Which? (a, b)", "options": NOTATIONS[notation](entries), "answer": "B"}
    prompt = "{{ question[:6] }}{% for entry in options %} {{ loop.index }} {{ entry.text }}{% endfor %}"
    body, score = run_row(run, tmp_path, row, "B", prompt=prompt, metrics={"choice": {}})
    assert body["messages"][-1]["content"] == "Which? 1 red, dark 2 it's blue"
    assert score == 1
