"""SPEC 6: factual correctness, its goldens, its calls and its statuses."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from basic_control.data.errors import InputError
from basic_control.metrics.factual_correctness import factual_correctness
from basic_control.metrics.judging import JudgeRequest, UnansweredRequest, begin
from basic_control.metrics.panels import combine
from tests.metrics.judges import claims, converse, judged, never

KREMLIN = {
    "question": "Что ты знаешь о Москве?",
    "reference": "Москва является столицей России. Кремль был построен в конце XV века.",
    "response": "Москва является столицей России. Кремль был построен в 1500 году.",
}
SPLIT = {"response": ["столица", "1500 год"], "reference": ["столица", "конец XV века"]}
VERDICTS = {"столица": "SUPPORTED", "1500 год": "CONTRADICTED", "конец XV века": "CONTRADICTED"}


def test_golden_one_of_two_on_both_sides_is_one_half_thrice() -> None:
    score = judged(factual_correctness, KREMLIN, claims(SPLIT, VERDICTS), language="ru")
    assert (score.value, score.parts["precision"], score.parts["recall"]) == (0.5, 0.5, 0.5)
    assert score.parts["contradiction_rate"] == 0.5
    assert score.parts["neutral_rate"] == 0.0


def test_golden_all_supported_is_one() -> None:
    assert judged(factual_correctness, KREMLIN, claims(SPLIT, dict.fromkeys(VERDICTS, "SUPPORTED"))).value == 1.0


def test_nothing_supported_is_zero_and_no_division_by_zero() -> None:
    score = judged(factual_correctness, KREMLIN, claims(SPLIT, dict.fromkeys(VERDICTS, "NEUTRAL")))
    assert (score.value, score.parts["neutral_rate"]) == (0.0, 1.0)


def test_each_side_counts_its_own_claims() -> None:
    """Precision 1 of 1 and recall 3 of 4: F1 is 6/7; mixing the sides would give another."""
    split = {"response": ["a"], "reference": ["a", "b", "c", "d"]}
    score = judged(
        factual_correctness,
        KREMLIN,
        claims(split, {"a": "SUPPORTED", "b": "SUPPORTED", "c": "SUPPORTED", "d": "NEUTRAL"}),
    )
    assert (score.parts["precision"], score.parts["recall"]) == (1.0, 0.75)
    assert score.value == pytest.approx(6 / 7)


@pytest.mark.parametrize(
    ("mode", "asked"),
    [
        ("f1", ["split/response", "split/reference", "entails/response", "entails/reference"]),
        ("precision", ["split/response", "entails/response"]),
        ("recall", ["split/reference", "entails/reference"]),
    ],
)
def test_a_mode_makes_only_the_calls_it_needs(mode: str, asked: list[str]) -> None:
    seen = []
    answer = claims(SPLIT, VERDICTS)

    def listen(ask: JudgeRequest) -> str | UnansweredRequest:
        seen.append(f"{ask.step}/{ask.question.key}")
        return answer(ask)

    session = converse(factual_correctness, KREMLIN, listen, mode=mode)
    assert seen == asked
    assert session.n_calls == len(asked)


@pytest.mark.parametrize("mode", ["f1", "precision", "recall"])
def test_an_empty_reference_is_not_applicable_without_a_call_even_for_an_empty_response(mode: str) -> None:
    for response in ("Paris is in France.", "", " \n"):
        score = judged(factual_correctness, {"reference": " ", "response": response}, never, mode=mode)
        assert (score.value, score.status, score.reason) == (None, "not_applicable", "empty reference")


def test_an_empty_response_is_zero_with_the_reason_and_no_call_in_precision_mode() -> None:
    score = judged(factual_correctness, {**KREMLIN, "response": " \t"}, never, mode="precision")
    assert (score.value, score.status, score.reason) == (0.0, "scored", "empty response")


@pytest.mark.parametrize("mode", ["f1", "recall"])
def test_with_an_empty_response_only_the_reference_is_split_since_it_is_looked_at_first(mode: str) -> None:
    empty = {**KREMLIN, "response": ""}
    session = converse(factual_correctness, empty, claims({"reference": ["a"]}, {}), mode=mode)
    assert session.n_calls == 1
    assert judged(factual_correctness, empty, claims({"reference": ["a"]}, {}), mode=mode).value == 0.0
    score = judged(factual_correctness, empty, claims({"reference": []}, {}), mode=mode)
    assert (score.value, score.status, score.reason) == (None, "not_applicable", "no claims in the reference")


def test_a_refusal_has_no_claims_and_scores_zero_with_that_reason() -> None:
    score = judged(factual_correctness, KREMLIN, claims({"response": [], "reference": ["a"]}, {}))
    assert (score.value, score.reason, score.parts["precision"]) == (0.0, "no claims in the response", 0.0)


def test_no_claims_on_either_side_is_not_applicable() -> None:
    assert (
        judged(factual_correctness, KREMLIN, claims({"response": [], "reference": []}, {})).status
        == "not_applicable"
    )


def _entails(*entries: tuple[object, str]) -> str:
    return json.dumps({"verdicts": [{"id": one, "reason": "r", "verdict": verdict} for one, verdict in entries]})


TWO = (("1", "SUPPORTED"), ("2", "NEUTRAL"))


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (_entails(*TWO), "scored"),
        (_entails((2, "neutral"), (1, "Supported.")), "scored"),
        (_entails(*TWO, ("3", "SUPPORTED")), "judge_failed"),
        (_entails(TWO[0]), "judge_failed"),
        (_entails(*TWO, TWO[0]), "judge_failed"),
        (_entails(TWO[0], TWO[0]), "judge_failed"),
        (_entails((True, "SUPPORTED"), ("2", "NEUTRAL")), "judge_failed"),
        (_entails(("1", "MOSTLY"), ("2", "NEUTRAL")), "judge_failed"),
        (_entails(("1", "NOT SUPPORTED"), ("2", "NEUTRAL")), "judge_failed"),
        ("Both claims are SUPPORTED.", "judge_failed"),
        ("[[90]]", "judge_failed"),
        ("NaN", "judge_failed"),
        ("", "judge_failed"),
        ("I'm sorry, I can't help with that.", "judge_failed"),
        (_entails(*TWO)[:-3], "judge_failed"),
        ('{"verdicts": "SUPPORTED"}', "judge_failed"),
        ('{"verdicts": [1, 2]}', "judge_failed"),
    ],
)
def test_verdicts_must_cover_exactly_the_ids_or_the_judge_has_failed_after_one_repair(
    reply: str, status: str
) -> None:
    first = claims({"response": ["a", "b"]}, {})
    session = converse(
        factual_correctness, KREMLIN, lambda ask: first(ask) if ask.step == "split" else reply, mode="precision"
    )
    score = combine({"j": session})
    assert score.status == status
    assert score.value == (0.5 if status == "scored" else None)
    assert session.n_calls == (2 if status == "scored" else 3)
    if status == "judge_failed":
        assert score.reason == "entails: unparsable reply"


@pytest.mark.parametrize(
    "reply", ['{"claims": [1]}', '{"claims": "a"}', '{"claims": [""]}', '{"claim": []}', "- a\n- b"]
)
def test_a_split_that_is_no_list_of_texts_fails_at_the_split(reply: str) -> None:
    assert judged(factual_correctness, KREMLIN, lambda _: reply).reason == "split: unparsable reply"


def test_a_call_that_failed_is_the_judges_failure_and_ends_the_session_at_once() -> None:
    session = converse(factual_correctness, KREMLIN, lambda _: UnansweredRequest("timeout"))
    assert (session.n_calls, session.failure, session.error) == (2, "split: call failed", "timeout")


def test_several_judges_split_for_themselves_and_no_majority_is_taken_over_scores() -> None:
    sessions = {
        "a": converse(factual_correctness, KREMLIN, claims(SPLIT, VERDICTS)),
        "b": converse(
            factual_correctness, KREMLIN, claims({"response": ["x"], "reference": ["x"]}, {"x": "SUPPORTED"})
        ),
        "c": converse(factual_correctness, KREMLIN, lambda _: ""),
    }
    score = combine(sessions, "mean")
    assert (score.value, score.parts["precision"]) == (0.75, 0.75)
    assert (score.details["n_judges"], score.details["n_failed"]) == (3, 1)
    assert {judge: row["value"] for judge, row in score.details["judges"].items()} == {
        "a": 0.5,
        "b": 1.0,
        "c": None,
    }
    with pytest.raises(InputError, match="majority is only for verdicts and ratings"):
        combine(sessions, "majority")


@given(st.lists(st.sampled_from(["SUPPORTED", "CONTRADICTED", "NEUTRAL"]), min_size=1, max_size=6))
def test_the_rates_of_the_three_verdicts_add_up_to_one(verdicts: list[str]) -> None:
    texts = [f"claim {n}" for n in range(len(verdicts))]
    score = judged(
        factual_correctness,
        KREMLIN,
        claims({"response": texts}, dict(zip(texts, verdicts, strict=True))),
        mode="precision",
    )
    rates = [score.parts[name] or 0.0 for name in ("precision", "contradiction_rate", "neutral_rate")]
    assert sum(rates) == pytest.approx(1)
    assert score.parts["recall"] is None


def test_details_name_every_claim_with_its_verdict() -> None:
    score = judged(factual_correctness, KREMLIN, claims(SPLIT, VERDICTS))
    assert [(c["id"], c["text"], c["verdict"]) for c in score.details["response_claims"]] == [
        ("1", "столица", "SUPPORTED"),
        ("2", "1500 год", "CONTRADICTED"),
    ]
    json.dumps(score.details)


def test_an_unknown_option_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="unknown option 'modus'; expected one of claims, mode"):
        begin(factual_correctness, KREMLIN, language="en", options={"modus": "f1"})
    with pytest.raises(InputError, match="option mode: input should be 'f1', 'precision' or 'recall', found 'f2'"):
        begin(factual_correctness, KREMLIN, language="en", options={"mode": "f2"})
