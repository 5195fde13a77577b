"""Cited answers in the manner of real models: citations are read, claims keep their words, prose cites nothing."""

import re
from collections import Counter
from typing import Any

import pytest

from basic_control.metrics.citation.answers import CitedAnswer, parse_answer
from tests.acceptance.reading import lines

PASSAGES = 10  # where a case says nothing else


def read(case: dict[str, Any]) -> CitedAnswer:
    return parse_answer(case["reply"], case.get("passages", PASSAGES))


def cited(case: dict[str, Any]) -> list[int]:
    """Return the numbers of the passages that a reply cites."""
    return sorted({citation.number for citation in read(case).citations})


def words(text: str) -> Counter[str]:
    """Count the words of a text, or its characters where the script has no spaces, without a list's mark."""
    return Counter(re.findall(r"[一-鿿]|[^\W一-鿿]+%?", re.sub(r"^\s*(?:1\.|-) ", "", text).lower()))


def test_every_sentence_and_answer_is_read_with_its_numbers() -> None:
    cases = lines("citing/sentences") + lines("citing/answers")
    assert [(case, cited(case)) for case in cases if cited(case) != case["cites"]] == []


def test_claims_keep_their_words() -> None:
    """Where a form has words of its own (`led`: "according to Document 3, ..."), they may stay in the claim."""
    for case in lines("citing/sentences"):
        whole = words(case["claim"])
        for citation in read(case).citations:
            claim = words(citation.claim)
            assert whole <= claim if case["led"] else whole == claim, (case, citation.claim)


def test_what_is_left_of_a_text_without_its_citations_is_the_text() -> None:
    for case in lines("citing/sentences"):
        if "text" in case:
            assert words(read(case).text) == words(case["text"]), case


@pytest.mark.parametrize("passages", [0, 20])
def test_prose_without_citations_cites_nothing(passages: int) -> None:
    for case in lines("citing/prose"):
        answer = parse_answer(case["reply"], passages)
        assert (answer.citations, answer.text) == ((), case["reply"])
