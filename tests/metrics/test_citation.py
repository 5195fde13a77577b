"""SPEC 4: support, verification, interpretability, correctness, and ALCE's values beside them."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from basic_control.metrics.citation.citation import citation_score, compute_interpretability, parse
from basic_control.metrics.citation.passages import verify
from basic_control.metrics.citation.quotes import find_quote
from basic_control.metrics.citation.urls import Finding
from basic_control.metrics.judging import JudgeRequest, UnansweredRequest, begin
from basic_control.metrics.panels import combine
from tests.helpers.bounds import bounded
from tests.metrics.judges import Script, converse, judged, never

TITANIC = {
    "question": "When did the titanic sank how many died.",
    "response": (
        "The RMS Titanic sank on April 15, 1912 [1]. It is estimated that more than 1,500 people lost their lives "
        "in the disaster [2], although some sources put the death toll as high as 1,635 [3]."
    ),
    "long_answer": "The death toll has been put at between 1,490 and 1,635 people.",
    "evidence": {str(n): {"verdict": "VERIFIED", "reason": "reachable", "span": ""} for n in (1, 2, 3)},
}
PASSAGES = {
    "question": "When did the Titanic sink?",
    "short_answers": ["15 April 1912"],
    "passages": [
        {
            "title": "Titanic",
            "text": "RMS Titanic sank in the North Atlantic on 15 April 1912, killing some 1,500.",
        },
        {"title": "Olympic", "text": "RMS Olympic was her sister ship and sailed until 1935."},
        "The iceberg stood some thirty metres out of the water.",
    ],
}


def scripted(support: str | Mapping[str, str] = "ENTAILMENT", correct: str = "CORRECT") -> Script:
    """Give every claim the same support, or that of its text; and the answer its correctness."""

    def answer(ask: JudgeRequest) -> str:
        values = ask.question.values
        if ask.step == "correctness":
            return json.dumps({"reason": "gold", "verdict": correct})
        verdict = support if isinstance(support, str) else support[values["claim"]]
        return json.dumps({"reason": "read it", "verdict": verdict})

    return answer


def test_golden_titanic_is_one() -> None:
    session = converse(citation_score, TITANIC, scripted(), mode="closed_book")
    score = combine({"judge": session})
    assert (score.value, score.parts["interpretability"], score.parts["correctness"]) == (1.0, 1.0, 1.0)
    assert (score.parts["coverage"], session.n_calls) == (1.0, 4)
    rows = score.details["judges"]["judge"]["details"]["citations"]
    assert [row["compared_with"] for row in rows] == ["answer"] * 3
    json.dumps(score.details)


@pytest.mark.parametrize(
    ("support", "verification", "value"),
    [
        ("ENTAILMENT", "VERIFIED", 1.0), ("ENTAILMENT", "UNCERTAIN", 0.5), ("ENTAILMENT", "LIKELY_FABRICATED", 0.0),
        ("NEUTRAL", "VERIFIED", 0.5), ("NEUTRAL", "UNCERTAIN", 0.25), ("CONTRADICTION", "VERIFIED", 0.0),
    ],
)  # fmt: skip
def test_a_citation_is_worth_its_support_times_its_verification(
    support: str, verification: str, value: float
) -> None:
    sample = {
        **TITANIC,
        "evidence": {1: {"verdict": verification}, 2: {"verdict": verification}, 3: {"verdict": verification}},
    }
    score = judged(citation_score, sample, scripted(support, "INCORRECT"), mode="closed_book")
    assert score.parts["interpretability"] == pytest.approx(value)
    assert score.value == pytest.approx(value / 2)


@pytest.mark.parametrize(
    ("verdict", "value"),
    [("CORRECT", 1.0), ("PARTIALLY_CORRECT", 0.5), ("partially correct", 0.5), ("INCORRECT", 0.0)],
)
def test_correctness_of_the_whole_answer(verdict: str, value: float) -> None:
    assert (
        judged(citation_score, TITANIC, scripted(correct=verdict), mode="closed_book").parts["correctness"] == value
    )


def test_interpretability_counts_each_uncited_sentence_as_one_more_zero() -> None:
    """Two citations worth 1 and 0.5, one uncited sentence: 1.5 / 3."""
    assert compute_interpretability([1.0, 0.5], 1) == 0.5
    assert compute_interpretability([], 0) == 0.0
    sample = {
        **PASSAGES,
        "response": "It sank on 15 April 1912 [1]. Her sister was the Olympic [2]. It was a cold night.",
    }
    support = {"It sank on 15 April 1912": "ENTAILMENT", "Her sister was the Olympic": "NEUTRAL"}
    score = judged(citation_score, sample, scripted(support))
    assert score.parts["interpretability"] == pytest.approx(0.5)
    assert score.parts["coverage"] == pytest.approx(2 / 3)
    assert score.value == pytest.approx(0.75)


def test_numbers_that_point_nowhere_fail_without_a_call_and_are_not_dropped() -> None:
    session = converse(citation_score, {**PASSAGES, "response": "It sank on 15 April 1912 [1][0][4]."}, scripted())
    score = combine({"j": session})
    rows = score.details["judges"]["j"]["details"]["citations"]
    assert [(row["number"], row["verification"], row["value"]) for row in rows] == [
        (1, "VERIFIED", 1.0), (0, "LIKELY_FABRICATED", 0.0), (4, "LIKELY_FABRICATED", 0.0),
    ]  # fmt: skip
    assert score.parts["interpretability"] == pytest.approx(1 / 3)
    assert session.n_calls == 2


def test_the_judge_compares_the_claim_with_the_cited_passage() -> None:
    asked: list[JudgeRequest] = []

    def listen(ask: JudgeRequest) -> str | UnansweredRequest:
        asked.append(ask)
        return scripted()(ask)

    converse(citation_score, {**PASSAGES, "response": "Her sister sailed until 1935 [2]."}, listen)
    assert asked[0].question.values["content"] == "Olympic\nRMS Olympic was her sister ship and sailed until 1935."
    assert asked[0].question.values["claim"] == "Her sister sailed until 1935"


def test_no_citation_scores_zero_for_interpretability_with_the_reason() -> None:
    score = judged(citation_score, {**PASSAGES, "response": "It sank on 15 April 1912."}, scripted())
    assert (score.parts["interpretability"], score.value, score.reason) == (0.0, 0.5, "no citation")


@pytest.mark.parametrize("response", ["", " \n", None, "<think>hm"])
def test_an_empty_response_is_zero_without_a_call(response: str | None) -> None:
    score = judged(citation_score, {**PASSAGES, "response": response}, never)
    assert (score.value, score.status, score.reason) == (0.0, "scored", "empty response")


def test_without_a_gold_answer_correctness_is_not_applicable_and_the_weights_are_renormalised() -> None:
    sample = {"question": "?", "passages": ["It sank."], "response": "It sank in the sea [1]."}
    score = judged(citation_score, sample, scripted("NEUTRAL"))
    assert (score.value, score.parts["correctness"]) == (0.5, None)
    none = judged(citation_score, sample, scripted("NEUTRAL"), weight_interpretability=0.0)
    assert (none.value, none.status) == (None, "not_applicable")


def test_weights_are_options() -> None:
    options = {"mode": "closed_book", "weight_interpretability": 0.25, "weight_correctness": 0.75}
    assert judged(citation_score, TITANIC, scripted("NEUTRAL"), **options).value == pytest.approx(0.25 * 0.5 + 0.75)


def test_a_judge_that_fails_leaves_null_and_names_the_step() -> None:
    score = judged(
        citation_score, TITANIC, lambda ask: "" if ask.step == "support" else scripted()(ask), mode="closed_book"
    )
    assert (score.value, score.status, score.reason) == (None, "judge_failed", "support: unparsable reply")


CLOSED = (
    "It sank on 15 April 1912 [1]. Many people died that night [2].\n\n"
    'Sources:\n[1] Titanic, https://a.org/t, "It sank on the 15th of April 1912."\n'
)


def test_closed_book_without_evidence_is_uncertain_and_an_unlisted_number_fails() -> None:
    score = judged(
        citation_score, {**TITANIC, "evidence": None, "response": CLOSED}, scripted(), mode="closed_book"
    )
    rows = score.details["citations"]
    assert [(row["verification"], row["compared_with"], row["value"]) for row in rows] == [
        ("UNCERTAIN", "quote", 0.5), ("LIKELY_FABRICATED", "", 0.0),
    ]  # fmt: skip
    assert score.details["n_uncertain"] == 1


def test_closed_book_compares_with_the_fetched_span_where_there_is_one() -> None:
    evidence = {1: {"verdict": "VERIFIED", "reason": "quote found", "span": "She sank on 15 April."}}
    sample = {**TITANIC, "evidence": evidence, "response": CLOSED}
    asked = begin(citation_score, sample, language="en", options={"mode": "closed_book"}).asks
    assert (asked[0].question.values["kind"], asked[0].question.values["content"]) == (
        "fetched",
        "She sank on 15 April.",
    )


@pytest.mark.parametrize(
    ("quote", "verdict"),
    [
        ("", "VERIFIED"),
        ("sank in the North Atlantic on 15 April 1912", "VERIFIED"),
        ("SANK in the  north Atlantic on 15 April 1912!", "VERIFIED"),
        ("RMS Titanic sank … killing some 1,500", "VERIFIED"),
        ("Titanic", "VERIFIED"),
        ("sank in the South Pacific on 3 May 1915", "LIKELY_FABRICATED"),
        ("RMS Titanic sank … after an explosion in the boiler room", "LIKELY_FABRICATED"),
        ("RMS Olympic was her sister ship", "LIKELY_FABRICATED"),
        (
            str(PASSAGES["passages"][0]) + " And the captain survived, as every newspaper told at the time.",
            "LIKELY_FABRICATED",
        ),
        ("x" * 5000, "LIKELY_FABRICATED"),
    ],
)
def test_a_quote_must_be_in_its_passage_at_ninety_or_more(quote: str, verdict: str) -> None:
    passages: list[dict[str, Any]] = [PASSAGES["passages"][0]]  # pyrefly: ignore[bad-assignment] # the first is a mapping
    assert verify(1, quote, passages, 90).verdict == verdict


def test_the_span_is_kept_as_it_stands_in_the_passage() -> None:
    found = find_quote("SANK on 15  april", "The ship sank on 15 April 1912.", 90)
    assert found == Finding("VERIFIED", "quote found", "sank on 15 April", 100.0)


def test_a_quote_and_a_passage_of_two_signs_cost_bounded_time_however_often_they_are_cited() -> None:
    """Every place of such a passage looks like the quote: compared everywhere, it took minutes."""
    passage = {"title": "", "text": "ab" * 100_000}
    text = f'{"It was written ab [1]. " * 40}\n\nSources:\n[1] Ab: "{"ab " * 1300}abc"'
    with bounded(20):
        score = judged(citation_score, {**PASSAGES, "passages": [passage], "response": text}, scripted())
        quoted = verify(1, "ab" * 1999 + "c", [passage], 90)
    assert score.details["n_citations"] == 40
    assert (quoted.verdict, quoted.match) == ("VERIFIED", 100.0)


def test_a_long_quote_with_slips_is_found_in_a_long_passage() -> None:
    words = [f"w{n * 7919 % 1000}" for n in range(8000)]
    passage = {"title": "", "text": " ".join(words)}
    quote = " ".join(word if n % 12 else "xx" for n, word in enumerate(words[4000:4700]))
    assert verify(1, quote, [passage], 90).verdict == "VERIFIED"
    other = " ".join(f"v{n * 7919 % 1000}" for n in range(700))
    assert verify(1, other, [passage], 90).verdict == "LIKELY_FABRICATED"


def test_a_quote_in_the_source_list_is_checked_against_the_passage() -> None:
    text = 'It sank on 15 April 1912 [1].\n\nSources:\n[1] Titanic: "sank in the South Pacific on 3 May 1915"'
    score = judged(citation_score, {**PASSAGES, "response": text}, scripted())
    assert score.details["citations"][0]["verification_reason"] == "quote not in the passage"
    assert score.parts["interpretability"] == 0.0


def test_a_thousand_citations_cost_no_more_calls_than_the_limit_and_none_is_dropped() -> None:
    text = " ".join(f"Ship number {n} sank at dawn [1]." for n in range(1000))
    session = converse(citation_score, {**PASSAGES, "response": text}, scripted())
    score = combine({"j": session})
    assert session.n_calls == 64 + 1
    assert score.parts["interpretability"] == pytest.approx(64 / 1000)


def test_majority_over_each_verdict_a_tie_to_the_lower() -> None:
    sessions = {
        str(n): converse(citation_score, TITANIC, scripted(support, correct), mode="closed_book")
        for n, (support, correct) in enumerate(
            [("ENTAILMENT", "CORRECT"), ("ENTAILMENT", "INCORRECT"), ("NEUTRAL", "PARTIALLY_CORRECT")]
        )
    }
    score = combine(sessions, "majority")
    assert (score.parts["interpretability"], score.parts["correctness"]) == (1.0, 0.0)


def test_the_parsed_answer_is_at_hand_for_whoever_fetches_sources() -> None:
    assert parse({**TITANIC, "response": CLOSED}).sources[1].url == "https://a.org/t"
