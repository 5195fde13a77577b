"""SPEC 7: response groundedness, its shortcuts, its golden and its statuses."""

import pytest

from basic_control.metrics.panels import combine
from basic_control.metrics.response_groundedness import response_groundedness, shortcut
from tests.helpers.bounds import bounded
from tests.metrics.judges import always, converse, judged, never

MOSCOW = {
    "response": "Москва — столица России с населением около 12 миллионов человек.",
    "retrieved_contexts": ["Москва является столицей и крупнейшим городом России. Она расположена на реке Москва."],
}


def _rate(rating: str) -> str:
    return f'{{"reason": "the population is not there", "rating": {rating}}}'


@pytest.mark.parametrize(("raw", "value"), [("0", 0.0), ("1", 0.5), ("2", 1.0)])
def test_golden_a_raw_rating_is_halved(raw: str, value: float) -> None:
    session = converse(response_groundedness, MOSCOW, lambda _: _rate(raw), language="ru")
    assert (combine({"j": session}).value, session.n_calls) == (value, 1)


@pytest.mark.parametrize("rating", ["2.0", '"2"', '" 2 "'])
def test_the_same_integer_written_otherwise_is_taken(rating: str) -> None:
    assert judged(response_groundedness, MOSCOW, lambda _: _rate(rating)).value == 1.0


@pytest.mark.parametrize(
    "reply",
    [
        _rate("3"), _rate("-1"), _rate("90"), _rate("1.5"), _rate("true"), _rate("false"), _rate("null"),
        _rate("[2]"), _rate("NaN"), _rate("Infinity"), _rate('"1 (out of 2)"'), _rate("1 (out of 2)"),
        _rate('"two"'), _rate('"2/2"'), _rate("2")[:-2], "1 (out of 2)", "[[90]]", "2", "NaN", "", " ",
        "I cannot rate this.", "Rating: 2", '{"rate": 2}', "[2]",
    ],
)  # fmt: skip
def test_any_other_rating_is_a_judges_failure_after_one_repair_and_never_clamped(reply: str) -> None:
    session = converse(response_groundedness, MOSCOW, lambda _: reply)
    score = combine({"j": session})
    assert (score.value, score.status, score.reason) == (None, "judge_failed", "rate: unparsable reply")
    assert (session.n_calls, session.n_repairs) == (2, 1)


def test_a_reply_that_the_repair_mends_is_scored() -> None:
    session = converse(response_groundedness, MOSCOW, lambda ask: _rate("1") if ask.repair else "1 (out of 2)")
    assert combine({"j": session}).value == 0.5
    assert session.n_repairs == 1


PASSAGE = (
    "The RMS Titanic sank on 15 April 1912 after it struck an iceberg. About 1,500 people died. "
    "It is false that the ship was unsinkable. "
    'Critics wrote: "It was cold. The captain was asleep. Nobody cared." Is Paris far away? '
    "See Mr. Smith Jr. Ltd for more of this."
)


@pytest.mark.parametrize(
    "response",
    [
        PASSAGE,
        "the rms titanic  sank on 15 april 1912\nafter it struck an iceberg.",
        "About 1,500 people died.",
        "About 1,500 people died",
        "The RMS Titanic sank on 15 April 1912 after it struck an iceberg. About 1,500 people died.",
        "It is false that the ship was unsinkable.",
    ],
)
def test_a_context_or_whole_running_sentences_of_one_need_no_call_and_are_flagged(response: str) -> None:
    score = judged(
        response_groundedness, {"response": response, "retrieved_contexts": ["Other text.", PASSAGE]}, never
    )
    assert score.value == 1.0
    assert score.details["shortcut"] in {"equals a context", "sentences of a context"}
    assert score.reason == score.details["shortcut"]


@pytest.mark.parametrize(
    "response",
    [
        "no", "No.", "yes", "died.", "About", "The", "1912",
        "the ship was unsinkable.",
        "The ship was unsinkable.",
        "The captain was asleep.",
        "About 1,500 people",
        "1,500 people died.",
        "Paris is far away.",
        "About 1,500 people died. Is Paris far away?",
        "Smith Jr. Ltd for more of this.",
        "sank on 15 April 1912",
    ],
)  # fmt: skip
def test_a_bare_no_a_clause_a_quotation_and_sentences_apart_must_be_judged(response: str) -> None:
    assert shortcut(response, [PASSAGE]) == ""
    session = converse(
        response_groundedness, {"response": response, "retrieved_contexts": [PASSAGE]}, lambda _: _rate("0")
    )
    assert session.n_calls == 1


@pytest.mark.parametrize(
    ("response", "context"),
    [
        ("no", "no"), ("Нет.", "нет"), ("不是。", "不是。"), ("No", "No. 5 is a perfume by Chanel."),
        ("Paris is the capital of Spain.", "It is not true that\nParis is the capital of Spain."),
        ("Paris is the capital of Spain.", "These are myths:\n- Paris is the capital of Spain."),
        ("Paris is the capital of Spain.", "Nobody thinks that... Paris is the capital of Spain."),
        ("Paris is the capital of Spain.", "Wrong (see below. Paris is the capital of Spain. And so on)."),
        ("Лондон — столица Франции.", "Неверно, что Лондон — столица Франции."),
        ("伦敦是法国的首都。", "并非伦敦是法国的首都。"),
        ("The ship", "The ship sank."),
        ("", "anything"), (" ", " "),
    ],
)  # fmt: skip
def test_what_a_context_denies_or_quotes_is_no_shortcut(response: str, context: str) -> None:
    assert shortcut(response, [context]) == ""


@pytest.mark.parametrize(
    ("response", "context"),
    [
        ("Москва — столица России.", "Москва — столица  России. Она стоит на Москве-реке."),
        ("Она стоит на Москве-реке.", "Москва — столица России. Она стоит на Москве-реке."),
        ("巴黎是法国的首都。", "巴黎是法国的首都。它位于塞纳河畔。"),
        ("Paris", "Paris"),
    ],
)
def test_shortcuts_know_russian_and_chinese(response: str, context: str) -> None:
    assert shortcut(response, [context])


def test_shortcuts_can_be_switched_off() -> None:
    sample = {"response": PASSAGE, "retrieved_contexts": [PASSAGE]}
    assert converse(response_groundedness, sample, lambda _: _rate("2"), heuristic_shortcuts=False).n_calls == 1


@pytest.mark.parametrize("response", ["", "  \n\t", None])
def test_an_empty_response_is_zero_without_a_call(response: str | None) -> None:
    score = judged(response_groundedness, {"response": response, "retrieved_contexts": ["text"]}, never)
    assert (score.value, score.status, score.reason) == (0.0, "scored", "empty response")


@pytest.mark.parametrize("contexts", [None, [], ["", " "], [None]])
def test_no_contexts_is_not_applicable(contexts: list[str] | None) -> None:
    score = judged(response_groundedness, {"response": "text", "retrieved_contexts": contexts}, never)
    assert (score.value, score.status) == (None, "not_applicable")


def test_majority_over_ratings_and_a_tie_goes_to_the_lower() -> None:
    def votes(*ratings: str) -> float | None:
        judges = {
            str(n): converse(response_groundedness, MOSCOW, always(_rate(rating)))
            for n, rating in enumerate(ratings)
        }
        return combine(judges, "majority").value

    assert votes("2", "2", "0") == 1.0
    assert votes("2", "1") == 0.5
    assert votes("2", "1", "0") == 0.0
    assert votes("2", "2", "9") == 1.0


def test_a_megabyte_is_compared_in_little_time() -> None:
    with bounded(10):
        assert shortcut("A b c d. " * 55_000 + "E", ["A b c d. " * 111_000 + "F"]) == ""
        assert shortcut("a" * 500_000, ["a" * 1_000_000]) == ""
