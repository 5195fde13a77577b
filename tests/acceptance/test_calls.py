# ruff: noqa: E501 - a reply stands on one line
"""Calls of tools as models write them into a text: each form of the table, and what is none."""

import json
from pathlib import Path
from typing import Any

import pytest

from basic_control.data.beside import read_beside
from basic_control.data.options import options_of
from basic_control.data.plugins import metric
from basic_control.data.reading import calls
from basic_control.data.reading.calls import read_written_calls

PARIS = [("get_weather", {"city": "Paris"})]
BOTH = [("f", {"a": 1}), ("g", {})]
FORMS = {
    "[f(a=1), g()]": BOTH,
    "f(a=1)\ng()": BOTH,
    "f(a=1); g()": BOTH,
    "- f(a=1)\n- g()": BOTH,
    "[f(a=1), g()": BOTH,
    "f(a=1), g()]": BOTH,
    "```tool_code\nprint(f(a=1))\n```": BOTH[:1],
    '{"name": "f", "parameters": {"a": 1}}; {"name": "g", "parameters": {}}': BOTH,
    '[{"f": "{\\"a\\": 1}"}, {"g": "{}"}]': BOTH,
    "[{'name': 'f', 'arguments': {'a': 1}}, {'name': 'g', 'arguments': {}}]": BOTH,
    '{"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{\\"a\\":1}"}}, {"function": {"name": "g"}}]}': BOTH,
    '[TOOL_CALLS]f[ARGS]{"a":1}[TOOL_CALLS]g[ARGS]{}': BOTH,
    '<TOOLCALL>[{"name": "f", "arguments": {"a": 1}}, {"name": "g"}]</TOOLCALL>': BOTH,
    '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>\n<tool_call>{"name": "g"}': BOTH,
    "<functioncall> {\"name\": \"f\", \"arguments\": '{\"a\": 1}'}": BOTH[:1],
    "Sure.\n\n[f(a=1), g()]\n\nDone.": BOTH,
    "[f(a=1), g()]<|im_end|>\n<|im_start|>user": BOTH,
    '<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>': BOTH[:1],
    "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>": PARIS,
    "<tool_call><function=get_weather><parameter=city>\nParis\n</parameter></function></tool_call>": PARIS,
    '<function_calls><invoke name="get_weather"><parameter name="city">Paris</parameter></invoke></function_calls>': PARIS,
    '<functions><function name="get_weather"><params><param name="city" value="Paris"/></params></function></functions>': PARIS,
}  # fmt: skip
NONE = (
    "You can use f(a=1).", "The answer is [1, 2].", '{"name": "Bob"}', "[]", "None", "f", "<tool_call>[]</tool_call>",
    "<think>[f(a=1)]</think>Paris", '{"city": "Paris"}',
)  # fmt: skip
HOSTILE = (
    "[" * 90_000, "f(" * 40_000, "{" * 90_000, "-" * 90_000 + "1", "<tool_call>" * 8_000, "[TOOL_CALLS]" * 8_000,
    "f(a=" + "1+" * 8_000 + "1)", "<function=f>" * 8_000, "a.b(" * 9_000, "\0f(a=1)", "f(a='\ud800')", "```\n" * 20_000,
    "f(a=" + "9" * 5_000 + ")", "<arg_key>a</arg_key><arg_value>" * 2_000, '[{"a":' * 9_000,
)  # fmt: skip


def plain(text: str) -> list[tuple[str, dict[str, object]]]:
    return [(call.name, dict(call.arguments)) for call in read_written_calls(text)]


@pytest.mark.parametrize("row", read_beside(calls.__file__)["marks"], ids=lambda row: row["open"])
def test_each_mark_of_the_table_reads_its_example(row: dict[str, str]) -> None:
    assert plain(row["example"]) == PARIS


@pytest.mark.parametrize("text", FORMS)
def test_a_written_form_is_read(text: str) -> None:
    assert plain(text) == FORMS[text]


@pytest.mark.parametrize("text", NONE)
def test_what_calls_nothing_is_no_call(text: str) -> None:
    assert plain(text) == []


def test_a_lone_object_is_a_call_of_a_tool_that_there_is() -> None:
    assert read_written_calls('{"f": {"a": 1}}') == []
    assert [call.name for call in read_written_calls('{"f": {"a": 1}}', names=frozenset({"f"}))] == ["f"]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_makes_the_reader_fail(text: str) -> None:
    assert isinstance(read_written_calls(text), list)
    assert isinstance(read_written_calls("<tool_call>" + text), list)


def read_cases() -> list[dict[str, Any]]:
    """Return composed replies to questions with tools: simple, multiple, parallel and without a call, in many forms.

    Those `by_the_rules` are of people who had the rules alone: 60 right ones, 60 wrong ones.
    """
    cases: list[dict[str, Any]] = []
    for name in ("calls.jsonl", "calls_by_the_rules.jsonl"):
        text = (Path(__file__).parent / "replies" / name).read_text(encoding="utf-8")
        cases += map(json.loads, text.splitlines())
    return cases


@pytest.mark.parametrize("case", read_cases(), ids=lambda case: case["id"])
def test_a_reply_is_right_exactly_if_it_makes_the_expected_calls(case: dict[str, Any]) -> None:
    sample = {name: case[name] for name in ("tools", "calls", "response")}
    unit = metric("tool_calls")
    result = unit.score(sample, {}, options_of(unit, case["options"]))
    assert result.value == case["expected"], f"{case['why']}: {result.reason}"


def test_a_power_beyond_memory_is_a_text() -> None:
    (call,) = read_written_calls("[f(a=9**9**9**9, b=2**-1, c=(-8)**0.5, d=1//0)]")
    assert call.arguments == {"a": "9 ** 9 ** 9 ** 9", "b": 0.5, "c": "(-8) ** 0.5", "d": "1 // 0"}
