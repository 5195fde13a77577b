# ruff: noqa: E501 - a response stands on one line
"""SPEC 14: number and json_match, on replies in the styles that models have."""

import inspect
import sys
from typing import Any

import pytest

from data.errors import InputError
from data.options import options_of
from data.records import Metric, Score
from metrics import number
from metrics.json_match import json_match


def scored(metric: Metric, response: str, answer: Any, question: str = "", **options: Any) -> Score:
    return metric.score(
        {"response": response, "answer": answer, "question": question}, {}, options_of(metric, options)
    )


NUMBERS: list[tuple[str, Any, dict[str, Any], float]] = [
    ("18", 18, {}, 1), ("18.0", 18, {}, 1), ("18", "18", {}, 1), ("18", 18.0, {}, 1), ("$18", 18, {}, 1), ("$18.00", 18, {}, 1), ("18 dollars", 18, {}, 1), ("19", 18, {}, 0),
    ("The answer is 18.", 18, {}, 1), ("#### 18", 18, {}, 1), ("#### $1,800", 1800, {}, 1), ("1,800", 1800, {}, 1), ("1800", "1,800", {}, 1), ("1 800", 1800, {}, 1),
    ("\\boxed{18}", 18, {}, 1), ("$\\boxed{18}$", 18, {}, 1), ("So 9 * 2 = 18. The answer is **18**.", 18, {}, 1), ("First 9, then 18.\nAnswer: 27", 27, {}, 1), ("First 9, then 18.\nAnswer: 27", 18, {}, 0),
    ("9 + 9 = 18", 18, {}, 1), ("-5", -5, {}, 1), ("−5", -5, {}, 1), ("5", -5, {}, 0), ("0.5", 0.5, {}, 1), ("1/2", 0.5, {}, 1), ("3.14", 3.14159, {}, 0),
    ("3.14", 3.14159, {"tolerance": 0.01}, 1), ("3.15", 3.14, {"tolerance": 0.01}, 1), ("3.16", 3.14, {"tolerance": 0.01}, 0), ("100", 101, {"tolerance": 1}, 1),
    ("Answer: 18\n\nHope that helps!", 18, {}, 1), ("**Final answer:** 18 apples", 18, {}, 1), ("<think>The answer is 17</think>18", 18, {}, 1), ("18", [17, 18], {}, 1), ("16", [17, 18], {}, 0),
    ("Ответ: 18", 18, {}, 1), ("Ответ: 18 рублей.", 18, {}, 1), ("Ответ: 1 800 рублей", 1800, {}, 1), ("Ответ: 3,5", 3.5, {}, 1), ("Итого 18.", 18, {}, 1), ("Получаем 9 + 9 = 18.", 18, {}, 1),
    ("**Ответ: 18**", 18, {}, 1), ("Ответ: −5", -5, {}, 1), ("Ответ: 19", 18, {}, 0), ("答案是18。", 18, {}, 1), ("答案：18元", 18, {}, 1), ("18 apples and 5 pears", 5, {"unit": "pears"}, 1),
    ("The answer is 18 apples and 5 pears.", 18, {"unit": "apples"}, 1), ("2 hours, which is 120 minutes", 120, {"unit": "minutes"}, 1), ("#### 18", "about #### 18", {}, 1), ("1e3", 1000, {}, 1), ("50%", 50, {}, 1),
]  # fmt: skip


@pytest.mark.parametrize(("response", "answer", "options", "value"), NUMBERS)
def test_number(response: str, answer: Any, options: dict[str, Any], value: float) -> None:
    assert scored(number.UNIT, response, answer, **options).value == value


@pytest.mark.parametrize(
    "response", ["I do not know.", "Не знаю.", "我不知道。", "None.", "The answer is unknown.", "Ответ: неизвестно"]
)
def test_a_reply_without_a_number_is_no_answer(response: str) -> None:
    score = scored(number.UNIT, response, 18)
    assert (score.value, score.status) == (0.0, "no_answer")


def test_an_expected_value_without_a_number_is_none() -> None:
    assert scored(number.UNIT, "18", "eighteen or so?").status in {"not_applicable", "scored"}
    assert scored(number.UNIT, "18", "n/a").status == "not_applicable"


OBJECT = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
LISTED = [{"a": 1}, {"a": 2}]
JSONS: list[tuple[str, Any, dict[str, Any], float]] = [
    ('{"n": 1}', {"n": 1}, {}, 1), ('{"n": 1}', '{"n": 1}', {}, 1), ('{"n":1}', '{ "n" : 1 }', {}, 1), ('{"n": 1.0}', {"n": 1}, {}, 1), ('{"n": true}', {"n": 1}, {}, 0),
    ('{"n": "1"}', {"n": 1}, {}, 0), ('{"n": 2}', {"n": 1}, {}, 0), ('{"a": 1, "b": 2}', {"b": 2, "a": 1}, {}, 1), ('{"a": 1, "b": 2}', {"a": 1}, {}, 0),
    ('{"a": 1, "b": 2}', {"a": 1}, {"compare": "subset"}, 1), ('{"a": 1}', {"a": 1, "b": 2}, {"compare": "subset"}, 0), ('{"a": {"x": 1, "y": 2}}', {"a": {"x": 1}}, {"compare": "subset"}, 1),
    ('{"a": [1, 2, 3]}', {"a": [3, 1]}, {"compare": "subset"}, 1), ('{"a": [1, 2]}', {"a": [3]}, {"compare": "subset"}, 0), ('{"a": [1, 2]}', {"a": [2, 1]}, {}, 0), ('{"a": [1]}', {"a": [1, 1]}, {"compare": "subset"}, 0),
    ('```json\n{"n": 1}\n```', {"n": 1}, {}, 1), ('```\n{"n": 1}\n```', {"n": 1}, {}, 1), ('Here it is:\n\n```json\n{"n": 1}\n```\nDone.', {"n": 1}, {}, 1), ('The result is {"n": 1}.', {"n": 1}, {}, 1),
    ('{"n": 1,}', {"n": 1}, {}, 1), ('First {"n": 2}, then {"n": 1}', {"n": 1}, {}, 1), ('First {"n": 2}, then {"n": 1}', {"n": 2}, {}, 0), ('<think>{"n": 2}</think>{"n": 1}', {"n": 1}, {}, 1),
    ('{"n": 1}', None, {"compare": "none", "schema": OBJECT}, 1), ('{"n": "1"}', None, {"compare": "none", "schema": OBJECT}, 0), ('{"n": 1, "m": 2}', None, {"compare": "none", "schema": OBJECT}, 0),
    ("{}", None, {"compare": "none", "schema": OBJECT}, 0), ("{}", None, {"compare": "none"}, 1), ('{"n": 1}', {"n": 1}, {"schema": OBJECT}, 1), ('{"n": 2}', {"n": 1}, {"schema": OBJECT}, 0),
    ('{"n": 1, "m": 2}', {"n": 1}, {"schema": OBJECT, "compare": "subset"}, 0), ('{"имя": "Вера"}', {"имя": "Вера"}, {}, 1), ('{"имя": "\\u0412ера"}', {"имя": "Вера"}, {}, 1), ('Ответ:\n```json\n{"город": "Москва"}\n```', {"город": "Москва"}, {}, 1),
    ('{"город": "Тверь"}', {"город": "Москва"}, {}, 0), ('Вот: {"список": ["а", "б"]}', {"список": ["б"]}, {"compare": "subset"}, 1), ('{"城市": "北京"}', {"城市": "北京"}, {}, 1),
    ('{"a": null}', {"a": None}, {}, 1), ('{"a": null}', {}, {}, 0), ('{"a": null}', {"a": None}, {"compare": "subset"}, 1), ("{}", {"a": None}, {"compare": "subset"}, 0), ('{"l": [{"a": 1}, {}]}', {"l": [{}, {"a": 1}]}, {"compare": "subset"}, 1), ("[1, 2]", "[1, 2]", {}, 1), ("5", "5", {}, 1), ('"x"', '"x"', {}, 1), ("true", True, {}, 1),
    *((said, LISTED, {}, 1) for said in ('Here:\n```json\n[{"a": 1}, {"a": 2}]\n```\nDone.', 'All of them: [{"a": 1}, {"a": 2}]', 'See [1]: [{"a": 1}, {"a": 2}], [x].')),
    *((said, {"a": 2}, {}, 0) for said in ('Here:\n```json\n[{"a": 1}, {"a": 2}]\n```\nDone.', '[{"a": 1}, {"a": 2}')), ('From [1] follows {"a": 2}, as [2] says.', {"a": 2}, {}, 1),
]  # fmt: skip


@pytest.mark.parametrize(("response", "answer", "options", "value"), JSONS)
def test_json_match(response: str, answer: Any, options: dict[str, Any], value: float) -> None:
    assert scored(json_match.UNIT, response, answer, **options).value == value


@pytest.mark.parametrize(
    "response", ["no JSON", '{"n": 1', "{n: 1}", '{"n": NaN}', "нет", '{"n": 1 "m": 2', "```json\n```"]
)
def test_what_is_no_json_is_no_answer(response: str) -> None:
    score = scored(json_match.UNIT, response, {"n": 1})
    assert (score.value, score.status, score.parts) == (0.0, "no_answer", {"valid": 0.0, "equal": 0.0})


def test_parts_say_what_is_wrong() -> None:
    assert scored(json_match.UNIT, '{"n": "1"}', {"n": "1"}, schema=OBJECT).parts == {"valid": 0.0, "equal": 1.0}
    assert scored(json_match.UNIT, '{"n": 2}', {"n": 1}, schema=OBJECT).parts == {"valid": 1.0, "equal": 0.0}
    assert scored(json_match.UNIT, "{}", None, compare="none").parts == {"valid": 1.0, "equal": None}


def test_a_long_list_is_matched_though_every_entry_gives_way_to_the_next() -> None:
    """The last wanted entry has its place only when all others move on by one: no frame of Python's for each."""
    listed = [{f"k{n}": 1, f"k{n + 1}": 1} for n in range(200)]
    others = [{f"k{n + 1}": 1} for n in range(199)]
    assert not json_match.holds(listed, [*others[1:], {"k0": 1}, {"k0": 1}])
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 100)
    try:
        assert json_match.holds(listed, [*others, {"k0": 1}])
    finally:
        sys.setrecursionlimit(limit)


def test_a_schema_refers_to_itself_alone() -> None:
    """What a `$ref` names stands in the schema, or the configuration is refused: nothing is fetched for it."""
    whole = {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}
    assert scored(json_match.UNIT, '{"a": 1}', None, schema=whole, compare="none").value == 1.0
    assert scored(json_match.UNIT, '{"a": "1"}', None, schema=whole, compare="none").value == 0.0
    for reference in ("#/$defs/m", "http://127.0.0.1:9/schema"):
        with pytest.raises(InputError, match="nothing is fetched"):
            options_of(json_match.UNIT, {"schema": {"items": {"$ref": reference}}})
    circle = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}
    assert scored(json_match.UNIT, "1", None, schema=circle, compare="none").status == "not_applicable"


@pytest.mark.parametrize(
    ("unit", "said"),
    [("EUR", "60 EUR"), ("USD", "60 USD"), ("RUB", "60 RUB"), ("$", "$60"), ("€", "€60"), ("元", "60元")],
)
def test_the_unit_may_be_a_currency_by_its_sign_or_code(unit: str, said: str) -> None:
    assert scored(number.UNIT, f"Answer: 12 items, total {said}.", 60, unit=unit).value == 1
