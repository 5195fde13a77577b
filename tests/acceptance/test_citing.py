"""Cited answers in the manner of real models: citations are read, claims keep their words, prose cites nothing."""

import re
from collections import Counter

from metrics.citation.answers import parse_answer
from tests.acceptance.reading import lines

PASSAGES = 10


def cited(reply: str) -> list[int]:
    """Return the numbers of the passages that a reply cites."""
    return sorted({citation.number for citation in parse_answer(reply, PASSAGES).citations})


def words(text: str) -> Counter[str]:
    """Count the words of a text, or its characters where the script has no spaces, without a list's mark."""
    return Counter(re.findall(r"[一-鿿]|[^\W一-鿿]+%?", re.sub(r"^\s*(?:1\.|-) ", "", text).lower()))


def test_every_sentence_and_answer_is_read_with_its_numbers() -> None:
    cases = lines("citing/sentences") + lines("citing/answers")
    assert [(case, cited(case["reply"])) for case in cases if cited(case["reply"]) != case["cites"]] == []


def test_claims_keep_their_words() -> None:
    """Where a form has words of its own (`led`: "according to Document 3, ..."), they may stay in the claim."""
    for case in lines("citing/sentences"):
        whole = words(case["claim"])
        for citation in parse_answer(case["reply"], PASSAGES).citations:
            claim = words(citation.claim)
            assert whole <= claim if case["led"] else whole == claim, (case, citation.claim)


def test_prose_without_citations_cites_nothing() -> None:
    assert [case for case in lines("citing/prose") if cited(case["reply"])] == []
