"""Replies in JSON: wrapped as models wrap it, right, wrong, broken, and beside a schema."""

import json
from collections.abc import Iterator
from itertools import cycle
from typing import Any

from tests.acceptance.standard.cases import Case, fill

ORDER = {
    "type": "object",
    "required": ["item", "count"],
    "properties": {"count": {"type": "integer", "minimum": 1}},
}
VALUES: tuple[tuple[Any, Any], ...] = (  # expected, and another value
    ({"item": "tea", "count": 3}, {"item": "tea", "count": 4}),
    ({"item": "чай «Индийский»", "count": 12}, {"item": "кофе", "count": 12}),
    ({"item": "茶叶", "count": 5}, {"item": "咖啡", "count": 5}),
    ({"item": 'a "quoted" {brace}\nline', "count": 1}, {"item": "a quoted {brace}\nline", "count": 1}),
    (
        {"item": "box", "count": 2, "parts": [{"id": 1, "ok": True}, {"id": 2, "ok": None}]},
        {"item": "box", "count": 2, "parts": []},
    ),
)
WRAPPED = (
    "{j}",
    "\n\n{j}\n",
    "```json\n{j}\n```",
    "```\n{j}\n```",
    "```JSON\n{j}\n```\n",
    "Here is the JSON:\n\n```json\n{j}\n```",
    "Here is the JSON:\n\n{j}",
    "Sure! {j} Let me know if you need anything else.",
    "**Answer:**\n```json\n{j}\n```\nThe count was given in the text.",
    "<think>The customer wants one thing.</think>\n{j}",
    "<think>\n{w}\n</think>\n\n```json\n{j}\n```",
    "Вот ответ:\n```json\n{j}\n```\nНадеюсь, это поможет.",
    "以下是结果：\n```json\n{j}\n```",
    "First attempt:\n{w}\n\nCorrected:\n{j}",
)
BROKEN = (
    "I don't know.",
    "item: tea, count: 3",
    "{h}",
    "```json\n{h}\n```",
    "Here it is: {h}",
    "{",
    "Не знаю.",
    "我不知道。",
)
EMPTY = ("", "  \n", "<think>{j}</think>", "<think>{j}")
PLAIN: tuple[tuple[dict[str, Any], Any, str, int], ...] = (  # options, answer, reply, value
    ({}, {"a": 1}, '{"a": 1.0}', 1),
    ({}, {"a": 1}, '{"a": true}', 0),
    ({}, {"a": 0}, '{"a": false}', 0),
    ({}, {"a": 1}, '{"a": "1"}', 0),
    ({}, {"a": None}, '{"a": null}', 1),
    ({}, {"a": None}, '{"b": null}', 0),
    ({}, {"a": None}, "{}", 0),
    ({}, {"a": [1, 2]}, '{"a": [1, 2]}', 1),
    ({}, {"a": [1, 2]}, '{"a": [2, 1]}', 0),
    ({}, {"a": 1}, '{"a": 1, "b": 2}', 0),
    ({}, {"a": 1, "b": 2}, '{"b": 2, "a": 1}', 1),
    ({}, {"a": "x"}, '{"a": "X"}', 0),
    ({}, {"a": "é"}, '{"a": "\\u00e9"}', 1),
    ({}, {"a": 1}, "{'a': 1", 0),
    ({}, [1, 2], "[1, 2]", 1),
    ({}, [1, 2], "```json\n[1, 2]\n```", 1),
    ({}, [1, 2], "[1, 2, 3]", 0),
    ({}, '{"a": 1}', '{"a": 1}', 1),
    ({}, '{"a": 1}', '{"a": 2}', 0),
    ({}, {"a": 1}, '{"a": NaN}', 0),
    ({"compare": "subset"}, {"a": 1}, '{"a": 1, "b": 2}', 1),
    ({"compare": "subset"}, {"a": 1, "b": 2}, '{"a": 1}', 0),
    ({"compare": "subset"}, {"a": {"b": 1}}, '{"a": {"b": 1, "c": 2}, "d": 3}', 1),
    ({"compare": "subset"}, {"a": {"b": 1}}, '{"a": {"b": 2}}', 0),
    ({"compare": "subset"}, {"a": {"b": 1}}, '{"b": 1}', 0),
    ({"compare": "subset"}, {"a": [1]}, '{"a": [3, 2, 1]}', 1),
    ({"compare": "subset"}, {"a": [2, 1]}, '{"a": [1, 2]}', 1),
    ({"compare": "subset"}, {"a": [4]}, '{"a": [3, 2, 1]}', 0),
    ({"compare": "subset"}, {"a": [1, 1]}, '{"a": [1]}', 0),
    ({"compare": "subset"}, {"a": [{"b": 1}]}, '{"a": [{"c": 0}, {"b": 1, "c": 2}]}', 1),
    ({"compare": "subset"}, {"a": True}, '{"a": 1}', 0),
    ({"compare": "subset"}, {}, '{"a": 1}', 1),
    ({"compare": "none"}, {"a": 1}, '{"z": 9}', 1),
    ({"compare": "none"}, None, '{"z": 9}', 1),
    ({"compare": "none"}, None, "[]", 1),
    ({"compare": "none"}, None, "nothing", 0),
    ({"compare": "none", "schema": ORDER}, None, '{"item": "tea", "count": 1}', 1),
    ({"compare": "none", "schema": ORDER}, None, '{"item": "tea", "count": 0}', 0),
    ({"compare": "none", "schema": ORDER}, None, '{"item": "tea", "count": 1.5}', 0),
    ({"compare": "none", "schema": ORDER}, None, '{"item": "tea", "count": "1"}', 0),
    ({"compare": "none", "schema": ORDER}, None, '{"item": "tea"}', 0),
    ({"compare": "none", "schema": ORDER}, None, "[1]", 0),
    ({"compare": "none", "schema": {"type": "array", "minItems": 2}}, None, "[1, 2]", 1),
    ({"compare": "none", "schema": {"type": "array", "minItems": 2}}, None, "[1]", 0),
    ({"compare": "none", "schema": {"enum": [{"a": 1}]}}, None, '{"a": 1}', 1),
    ({"schema": ORDER}, {"item": "tea", "count": 0}, '{"item": "tea", "count": 0}', 0),
    ({"schema": ORDER, "compare": "subset"}, {"item": "tea"}, '{"item": "tea", "count": 2}', 1),
    ({"schema": ORDER, "compare": "subset"}, {"item": "tea"}, '{"item": "tea"}', 0),
    ({}, [{"a": 1}, {"a": 2}], '[{"a": 1}, {"a": 2}]', 1),
)


def _written(value: Any) -> Iterator[str]:
    """Write a value as JSON in several ways."""
    yield json.dumps(value, ensure_ascii=False)
    yield json.dumps(value, indent=2)
    yield json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    yield json.dumps(dict(reversed(value.items())), ensure_ascii=False, indent=4)


def documents() -> Iterator[Case]:
    """Compose replies: right, wrong, longer than expected, broken, empty."""
    right, wrong = {"valid": 1.0, "equal": 1.0}, {"valid": 1.0, "equal": 0.0}
    for expected, other in VALUES:
        row, more = {"answer": expected}, {**expected, "note": "more"}
        written = zip(_written(expected), _written(other), _written(more), strict=True)
        for form, (text, changed, longer) in zip(WRAPPED, cycle(written), strict=False):
            for compare in ("equal", "subset"):
                options = {"compare": compare, "schema": ORDER}
                yield Case("json_match", fill(form, j=text, w=changed), 1.0, row, options, "scored", right)
                yield Case("json_match", fill(form, j=changed, w=text), 0.0, row, options, "scored", wrong)
            reply = fill(form, j=longer, w=changed)
            yield Case("json_match", reply, 1.0, row, {"compare": "subset"}, "scored", right)
            yield Case("json_match", reply, 0.0, row, {"compare": "equal"}, "scored", wrong)
            half = text[: 2 * len(text) // 3]
            yield Case("json_match", fill(form, j=half, w="no"), 0.0, row, {}, "", {"valid": 0.0})
        for form in BROKEN:
            yield Case("json_match", form, 0.0, row, {}, "", {"valid": 0.0})
        for form in EMPTY:
            yield Case("json_match", fill(form, j=json.dumps(expected)), 0.0, row, {}, "no_answer")
    for options, answer, reply, value in PLAIN:
        yield Case("json_match", reply, float(value), {} if answer is None else {"answer": answer}, options)
