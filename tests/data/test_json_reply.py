"""What the reader of judges' replies takes, refuses, and how long it may take."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from basic_control.data.json_reply import DEPTH, find_objects, read_object
from basic_control.data.records import Unparsable
from tests.helpers.bounds import bounded, of_each_size

GOOD = '{"reason": "so", "verdict": "NEUTRAL"}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Sure! Here it is:\n{GOOD}\nHope this helps {{smile}}.",
        '{"reason": "so", "verdict": "NEUTRAL",}',
        f'<think>maybe {{}} or {{"reason": "", "verdict": "X"}}</think>\n{GOOD}',
        f'thinking without an opening tag: {{"reason": "a", "verdict": "b"}} </think>{GOOD}',
        f'The text says {{"reason": "x", "verdict": "ENTAILMENT"}}, but: {GOOD}',
        f'{GOOD}\nThe answer tried {{"verdict": "ENTAILMENT"}}.',
        "\ufeff" + GOOD,
        f"{{broken {GOOD}",
        '{"reason":\u00a0"so",\n"verdict"\t: "NEUTRAL"}',
    ],
)
def test_the_judges_own_last_object_is_read(text: str) -> None:
    assert read_object(text, "reason", "verdict") == {"reason": "so", "verdict": "NEUTRAL"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("I cannot help with that.", "no complete JSON object"),
        ('{"reason": "so", "verdict": "NEU', "no complete JSON object"),
        ('{"reason": "so", "rating": NaN}', "no complete JSON object"),
        ('{"reason": "so", "rating": Infinity}', "no complete JSON object"),
        ('{"reason": "so", "rating": 1e999}', "no complete JSON object"),
        ('{"reason": "so", "rating": 1 (out of 2)}', "no complete JSON object"),
        ('{"reason": "so", "rating": 1, "rating": 2}', "no complete JSON object"),
        ("[[90]]", "no complete JSON object"),
        ('["reason"]', "no complete JSON object"),
        ('{"rating": 1}', 'lacks "reason"'),
        ("<think>{} never ends", "no complete JSON object"),
        ("{" * 5000, "no complete JSON object"),
        ('{"a":' * 5000 + "1" + "}" * 5000, 'lacks "reason"'),
    ],
)
def test_what_is_not_one_whole_object_is_refused_with_the_reason(text: str, says: str) -> None:
    with pytest.raises(Unparsable, match=says):
        read_object(text, "reason", "rating")


def test_unknown_escapes_newlines_and_lone_surrogates_do_not_break_a_string() -> None:
    found = read_object('{"reason": "2 \\times 3\n\\d \\ud800 \\u0041", "verdict": 1}', "reason")
    assert found["reason"] == "2 \times 3\n\\d � A"
    found["reason"].encode()


def test_a_tag_quoted_in_the_json_is_not_the_end_of_thinking() -> None:
    text = '{"reason": "it wrote </think>", "verdict": "NEUTRAL"}'
    assert read_object(text, "verdict")["reason"] == "it wrote </think>"


texts = st.text(st.characters(codec="utf-8"))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(texts, json_values, max_size=5), st.booleans())
def test_every_object_that_json_writes_comes_back_equal(value: dict[str, object], escaped: bool) -> None:  # noqa: FBT001 - drawn
    text = json.dumps(value, ensure_ascii=escaped, indent=1)
    assert list(find_objects(f"so: {text} .")) == [value]


@given(st.text(alphabet='{}[]",:\\ntrue1.e-NaI </think>', max_size=200))
def test_any_text_gives_objects_or_nothing_but_never_an_error(text: str) -> None:
    for found in find_objects(text):
        assert isinstance(found, dict)


@pytest.mark.parametrize("levels", [DEPTH, DEPTH + 1, 400, 900])
def test_how_deep_a_reply_may_nest_depends_neither_on_the_text_around_it_nor_on_the_stack(levels: int) -> None:
    text = '{"a":' * levels + "1" + "}" * levels

    def outcome(reply: str) -> str:
        try:
            return repr(read_object(reply, "a"))
        except Unparsable as error:
            return str(error)

    assert outcome(text) == outcome(f"So: {text}")
    assert (outcome(text) == str(json.loads(text))) == (levels <= DEPTH)


@pytest.mark.parametrize(
    "unit",
    ["{", '{"', '{"a":', '{"a":[', '{"a', "</think", "<think>", '{"a":"\\"', "{}", '{"a":1,', "1", "\\", '{"\\"'],
)
@of_each_size
def test_four_hundred_kilobytes_of_hostile_text_are_read_in_little_time(unit: str, share: int) -> None:
    text = unit * (400_000 // share // len(unit))
    with bounded(5 / share), pytest.raises(Unparsable):  # takes well under one second; a quadratic scan takes hours
        read_object(text, "verdict")
