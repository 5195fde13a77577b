"""SPEC 14, preference: both orders, ties, and what needs no judge."""

import json
from typing import Any

import pytest

from basic_control.data.errors import InputError
from basic_control.data.options import options_of
from basic_control.metrics.judging import JudgeRequest, begin
from basic_control.metrics.panels import combine
from basic_control.metrics.preference import preference
from tests.metrics.judges import Script, always, converse, judged, never

ROW = {"question": "When?", "response": "On Monday, by noon.", "baseline": "Soon."}


def says(winner: object, reason: str = "because") -> str:
    return json.dumps({"reason": reason, "winner": winner})


def orders(ab: str, ba: str) -> Script:
    return lambda ask: says({"ab": ab, "ba": ba}[ask.question.key], ask.question.key)


@pytest.mark.parametrize("language", ["en", "ru", "zh"])
@pytest.mark.parametrize(
    ("ab", "ba", "value", "flipped", "reason"),
    [
        ("first", "second", 1.0, 0.0, "better"),
        ("second", "first", 0.0, 0.0, "worse"),
        ("tie", "tie", 0.5, 0.0, "tie"),
        ("first", "first", 0.5, 1.0, "the two orders disagree"),
        ("second", "second", 0.5, 1.0, "the two orders disagree"),
        ("first", "tie", 0.5, 1.0, "the two orders disagree"),
        ("tie", "second", 0.5, 1.0, "the two orders disagree"),
        ("second", "tie", 0.5, 1.0, "the two orders disagree"),
        ("tie", "first", 0.5, 1.0, "the two orders disagree"),
    ],
)
def test_every_pair_of_answers(  # noqa: PLR0917 - a row of the table
    ab: str, ba: str, value: float, flipped: float, reason: str, language: str
) -> None:
    session = converse(preference, ROW, orders(ab, ba), language=language)
    score = combine({"j": session})
    assert (score.value, score.reason, score.parts) == (value, reason, {"flipped": flipped})
    assert (session.n_calls, session.n_repairs) == (2, 0)
    details = score.details["judges"]["j"]["details"]
    assert details == {"ab": {"winner": ab, "reason": "ab"}, "ba": {"winner": ba, "reason": "ba"}}


def test_both_orders_are_asked_in_one_wave_each_text_in_its_place() -> None:
    ab, ba = begin(preference, ROW, language="en").asks
    assert (ab.question.key, ba.question.key) == ("ab", "ba")
    for ask, first, second in ((ab, ROW["response"], ROW["baseline"]), (ba, ROW["baseline"], ROW["response"])):
        content = ask.messages[1].content
        assert content.index("<first-") < content.index(first) < content.index("<second-") < content.index(second)


@pytest.mark.parametrize("written", ["first", "First", " FIRST. ", "**first**"])
def test_the_same_word_written_otherwise_is_taken(written: str) -> None:
    def script(ask: JudgeRequest) -> str:
        return says(written if ask.question.key == "ab" else "second")

    assert judged(preference, ROW, script).value == 1.0


@pytest.mark.parametrize(
    "reply",
    [
        says("A"), says("response"), says("first or second"), says(""), says(None), says(1), says(["first"]),
        says("both"), says("neither"), says("первый"), "first", "The first is better.", "", "{}", says("tie")[:-1],
        '{"verdict": "first"}',
    ],
)  # fmt: skip
def test_any_other_winner_is_a_judges_failure(reply: str) -> None:
    session = converse(preference, ROW, always(reply))
    score = combine({"j": session})
    assert (score.value, score.status, score.reason) == (None, "judge_failed", "compare: unparsable reply")
    assert (session.n_calls, session.n_repairs) == (4, 2)


@pytest.mark.parametrize(
    ("row", "options", "value", "status", "reason"),
    [
        ({"response": "R"}, {}, None, "not_applicable", "no baseline"),
        ({"response": "R", "baseline": None}, {}, None, "not_applicable", "no baseline"),
        ({"response": "R", "other": "O"}, {}, None, "not_applicable", "no baseline"),
        ({"response": "", "baseline": "B"}, {}, 0.0, "no_answer", "empty reply"),
        ({"response": "<think>x</think>", "baseline": "B"}, {}, 0.0, "no_answer", "empty reply"),
        ({"response": None, "baseline": ""}, {}, 0.0, "no_answer", "empty reply"),
        ({"response": "R", "baseline": " "}, {}, 1.0, "scored", "the baseline is empty"),
        ({"response": "R", "baseline": "<think>long</think>"}, {}, 1.0, "scored", "the baseline is empty"),
        ({"response": "A  b", "baseline": "A b\n"}, {}, 0.5, "scored", "equal"),
        ({"response": "A", "baseline": "x", "gold": "A"}, {"baseline": "gold"}, 0.5, "scored", "equal"),
        ({"response": "A", "baseline": "A"}, {"baseline": "gold"}, None, "not_applicable", "no baseline"),
    ],
)
def test_what_needs_no_judge(
    row: dict[str, Any], options: dict[str, Any], value: float | None, status: str, reason: str
) -> None:
    score = judged(preference, row, never, **options)
    assert (score.value, score.status, score.reason) == (value, status, reason)
    assert list(score.parts) == ["flipped"]


def test_criteria_reference_and_another_column_reach_the_judge() -> None:
    row = {"question": "When?", "response": "R1", "gold": "G1", "reference": "REF", "baseline": "unused"}
    options = {"baseline": "gold", "criteria": "Shorter is better."}
    for ask in begin(preference, row, language="en", options=options).asks:
        content = ask.messages[1].content
        assert all(text in content for text in ("Shorter is better.", "REF", "G1", "R1", "When?"))
        assert "unused" not in content


def test_the_schema_has_the_reason_first_and_three_winners() -> None:
    for ask in begin(preference, ROW, language="ru").asks:
        properties = (ask.schema or {})["properties"]
        assert list(properties) == ["reason", "winner"]
        assert properties["winner"]["enum"] == ["first", "second", "tie"]


def test_a_judge_that_prefers_a_place_is_counted_over_judges() -> None:
    fair = converse(preference, ROW, orders("first", "second"))
    lazy = converse(preference, ROW, always(says("first")))
    score = combine({"fair": fair, "lazy": lazy}, "mean")
    assert (score.value, score.parts) == (0.75, {"flipped": 0.5})


@pytest.mark.parametrize("options", [{"baseline": ""}, {"base": "x"}, {"criteria": 3}])
def test_options_that_do_not_fit_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="preference"):
        options_of(preference, options)
