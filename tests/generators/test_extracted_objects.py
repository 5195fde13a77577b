"""JSON as models write it: comments, types, cut objects; and what stands beside it."""

import json

import pytest

from basic_control.data.draw import draw
from basic_control.data.records import Item
from basic_control.generators.data_extraction.data_extraction import LEVELS, data_extraction, verify
from basic_control.generators.data_extraction.json_objects import find_outermost
from tests.helpers.bounds import bounded

EMAIL, PHONE, DAY = "anna.baker@kestrel.example.com", "+12125550123", "2025-03-14"
RIGHT = {"emails": [EMAIL], "phones": [PHONE], "dates": [DAY]}
ITEM = Item(
    prompt="Find all.",
    answer="",
    facts={
        **RIGHT, "region": "US", "language": "en", "text": "Write before March 14, 2025.", "written": [],
        "distractors": {},
    },
)  # fmt: skip


@pytest.mark.parametrize("language", data_extraction.languages)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("count", [5, pytest.param(25, marks=pytest.mark.slow)])
def test_an_object_cut_off_anywhere_is_no_answer(language: str, level: str, count: int) -> None:
    """Also in a fence that is closed, pretty-printed, with the entities one a line, and after a whole draft."""
    for item in draw(data_extraction, level=level, language=language, seed=5, count=count):
        pretty = json.dumps(json.loads(item.answer), indent=2)
        for text in (item.answer, pretty):
            for end in range(1, len(text), 3):
                cut = text[:end]
                for reply in (cut, f"```json\n{cut}\n```", f"{text}\nNo, rather:\n{cut}"):
                    found = verify(item, reply)
                    assert (found.correct, found.reason) == (None, "the JSON object is cut off"), reply


@pytest.mark.parametrize("language", data_extraction.languages)
@pytest.mark.parametrize("level", LEVELS)
def test_types_comments_and_compact_dates_change_nothing(language: str, level: str) -> None:
    for item in draw(data_extraction, level=level, language=language, seed=5, count=60):
        facts = item.facts
        compact = [day.replace("-", "") for day in facts["dates"]]
        typed = [
            {"type": kind, "value": value}
            for kind, values in (("email", facts["emails"]), ("phone", facts["phones"]), ("date", compact))
            for value in values
        ]
        commented = item.answer.replace('"phones"', '// their phones {\n"phones"').replace("]}", "],} # all")
        for reply in (json.dumps(typed), json.dumps({"entities": typed}, indent=1), commented):
            assert verify(item, reply).correct is True, reply
        for wrong in (typed[1:], [*typed, {"type": "date", "value": "19990101"}]):
            assert verify(item, json.dumps(wrong)).correct is False


UNITS = (
    "{",
    "[",
    '{"a":',
    "{/*",
    '{"',
    "{“",
    "{'",
    '{"\\',
    '{"type":"email","value":"a@b.c"}\n',
    "{#",
    "{a:",
    '["a",',
)


@pytest.mark.parametrize("unit", UNITS)
def test_a_megabyte_is_read_in_little_time(unit: str) -> None:
    with bounded(15):  # takes a few seconds at most; a quadratic scan takes hours
        assert verify(ITEM, unit * (1_000_000 // len(unit))).correct is not True


def test_objects_are_found_in_order_and_outermost() -> None:
    text = 'a {"x": {"y": 1}} b {not json {"z": [1, 2,],} } c'
    assert find_outermost(text) == ([{"x": {"y": "1"}}, {"z": ["1", "2"]}], False, False)
    assert find_outermost('{"x": 1} {"y": [2') == ([{"x": "1"}], True, True)
    assert find_outermost("{x: [1 2] // no } here\n} [ ] {so} it [goes") == ([{"x": ["1", "2"]}, []], False, False)
