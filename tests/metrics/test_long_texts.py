"""SPEC 22: what a judge has no room for is never a smaller denominator."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from basic_control.data.records import Room
from basic_control.metrics.factual_correctness import factual_correctness
from basic_control.metrics.judging import CutReply, JudgeRequest, Session, advance, begin, constrain, outcome
from tests.helpers.enforced import Split, enforce, judge, split_sentences

ROOM = Room(1024)
LONG = "The bridge over the northern river, which was opened to the public in the spring of 1923 after long delays, is as a matter of fact 4 metres wrong."  # noqa: E501 - one long sentence
EIGHT = "Anna was born in a small town in 1901. "


def texts(n: int, n_wrong: int) -> str:
    """Return a text of n sentences, each a claim, the last ones wrong."""
    said = [f"Fact number {i} is about the old bridge in town." for i in range(1, n - n_wrong + 1)]
    return " ".join([*said, *(f"Fact number {i} is plainly wrong here." for i in range(n - n_wrong + 1, n + 1))])


def hear(
    response: str,
    *,
    room: Room = ROOM,
    language: str = "en",
    split: Split = split_sentences,
    asks: list[JudgeRequest] | None = None,
) -> Session:
    """Have a constrained judge judge a response in mode precision."""
    sample = {"response": response, "reference": "The reference.", "question": ""}
    session = begin(factual_correctness, sample, language=language, options={"mode": "precision"}, room=room)
    while session.asks:
        if asks is not None:
            asks += session.asks
        session = advance(session, [reply_to(ask, room, language, split) for ask in session.asks])
    return session


def reply_to(ask: JudgeRequest, room: Room, language: str, split: Split) -> str:
    said = judge(ask.messages[1].content, split)
    schema = constrain(ask, room.tokens, language) if room.is_enforced else None
    return json.dumps(enforce(schema, said) if schema else said, ensure_ascii=False)


def claims_of(session: Session) -> list[dict[str, Any]]:
    return list(outcome(session).details["response_claims"])


def test_forty_claims_are_all_judged_and_counted() -> None:
    session = hear(texts(40, 16))
    assert [claim["id"] for claim in claims_of(session)] == [str(n) for n in range(1, 41)]
    assert outcome(session).value == pytest.approx(24 / 40)


def test_a_claim_that_is_wrong_at_its_end_is_judged_whole() -> None:
    session = hear(LONG)
    assert [claim["text"] for claim in claims_of(session)] == [LONG]
    assert outcome(session).value == 0


@pytest.mark.parametrize("tokens", [128, 256, 512, 1024, 4096, 16000])
@pytest.mark.parametrize("n", [1, 23, 24, 25, 90, 400])
def test_nothing_is_left_out_whatever_the_room_and_the_length(tokens: int, n: int) -> None:
    session = hear(texts(n, n // 3), room=Room(tokens))
    assert len(claims_of(session)) == n
    assert outcome(session).value == pytest.approx(1 - (n // 3) / n)


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("ru", "Мост номер {n}, построенный в городе на северной реке после споров, открыт в 1923 году. "),
        ("zh", "第{n}座桥位于北方的老城区，经过多年的争论之后，终于在一千九百二十三年向公众开放，至今仍在用。"),
        ("en", "- item {n} of the list, without a full stop\n"),
        ("en", "Bridge {n} stands. "),
    ],
)  # fmt: skip
def test_long_texts_of_other_languages_and_forms_are_judged_whole(language: str, sentence: str) -> None:
    text = "".join(sentence.format(n=n) for n in range(1, 51))
    session = hear(text, language=language)
    assert len(claims_of(session)) == 50


def test_a_text_without_any_stop_is_divided_at_white_space() -> None:
    asks: list[JudgeRequest] = []
    text = " ".join(f"word{n}" for n in range(2000))
    hear(text, asks=asks)
    parts = [ask.question.values["part"] for ask in asks if ask.step == "split"]
    assert " ".join(parts) == text
    assert len(parts) > 5


def test_each_part_is_asked_with_the_whole_text_and_no_sentence_twice() -> None:
    asks: list[JudgeRequest] = []
    text = texts(90, 0)
    hear(text, asks=asks)
    split = [ask for ask in asks if ask.step == "split"]
    assert all(text in ask.messages[1].content for ask in split)
    assert " ".join(ask.question.values["part"] for ask in split) == text
    spans = [(ask.question.values["first"], ask.question.values["last"]) for ask in split]
    assert [number for first, last in spans for number in range(first, last + 1)] == list(range(1, 91))


def test_a_judge_that_lists_the_whole_text_for_each_part_counts_no_claim_twice() -> None:
    whole = split_sentences(texts(90, 30))
    session = hear(texts(90, 30), split=lambda _: whole)
    assert len(claims_of(session)) == 90


def stubborn(text: str) -> Iterator[str]:
    for n in range(500):
        yield f"Claim {n} of {text[:10]}."


def test_a_list_that_is_always_full_is_the_judges_failure_and_named() -> None:
    score = outcome(hear(EIGHT * 3, split=lambda text: [*stubborn(text)]))
    assert (score.status, score.reason) == ("judge_failed", "split: cut reply")
    assert "its list is full (200 entries)" in score.details["error"]


def test_a_short_texts_full_list_is_asked_for_once_more_with_room() -> None:
    thirty = [f"Claim {n} about it." for n in range(30)]
    session = hear(EIGHT * 3, split=lambda _: thirty)
    assert len(claims_of(session)) == 30
    assert session.n_repairs == 1


@pytest.mark.parametrize("length", [105, 113, 119, 120, 150, 900])
def test_a_claim_that_may_have_been_cut_is_asked_for_once_more_with_room(length: int) -> None:
    """A constrained judge may stop before the limit where no token fits any more."""
    claim = "x" * (length - 1) + "y"
    session = hear(EIGHT, split=lambda _: [claim])
    assert [entry["text"] for entry in claims_of(session)] == [claim]


def test_a_claim_that_ends_in_a_full_stop_before_the_limit_is_whole() -> None:
    session = hear(EIGHT, split=lambda _: ["x" * 110 + "."])
    assert session.n_repairs == 0


def test_a_judge_that_no_schema_binds_is_not_taken_for_cut() -> None:
    twenty_four = [f"Claim {n} {'x' * 100}" for n in range(24)]
    session = hear(EIGHT, room=Room(1024, is_enforced=False), split=lambda _: twenty_four)
    assert (len(claims_of(session)), session.n_repairs) == (24, 0)


def test_a_reply_cut_at_its_token_limit_says_so_with_the_key_to_raise() -> None:
    sample = {"response": EIGHT, "reference": "r"}
    session = begin(factual_correctness, sample, language="en", options={"mode": "precision"}, room=ROOM)
    cut = CutReply('{"claims": ["Anna was born in 19')
    session = advance(advance(session, [cut]), [cut])
    assert session.failure == "split: cut reply"
    assert session.error == "the reply was cut at its limit of 1024 tokens; raise the judge's `max_tokens`"


def test_a_complete_reply_that_ended_at_the_limit_is_read() -> None:
    sample = {"response": EIGHT, "reference": "r"}
    session = begin(factual_correctness, sample, language="en", options={"mode": "precision"}, room=ROOM)
    session = advance(session, [CutReply('{"claims": ["Anna was born."]} Further')])
    assert [ask.step for ask in session.asks] == ["entails"]


def test_the_requests_of_a_short_text_are_those_of_earlier_versions() -> None:
    """Their stored replies are found: the digest is that of the version before long texts were divided."""
    asks: list[JudgeRequest] = []
    hear(EIGHT + "She moved to Riga. There she wrote 3 books.", asks=asks)
    sent = [[[message.content for message in ask.messages], constrain(ask, 1024, "en")] for ask in asks]
    assert hashlib.sha256(json.dumps(sent).encode()).hexdigest()[:16] == "069fda5dc4eb3c7d"
