"""Replies composed from the rules alone, by somebody who had not seen the code: right ones pass, wrong ones do not.

A selection of some 5800 replies in the styles of a dozen models, in up to three languages: two of each row, truth
and language. Left out as contrary to the rules: three replies of `extraction` that hold just the expected set and
are labelled wrong.
"""

import pytest

from basic_control.data.numerals import parse_number
from tests.acceptance.reading import DECIDED, clean, lines, listed, read


@pytest.mark.parametrize("kind", DECIDED)
def test_right_replies_are_accepted_and_wrong_ones_refused(kind: str) -> None:
    found = lines(kind)
    assert {case["right"] for case in found} == {True, False}
    astray = [(case, said) for case in found if (said := DECIDED[kind](case)) is not case["right"]]
    assert astray == []


def test_answers_are_read_as_they_are_meant_and_said_or_inferred() -> None:
    for case in lines("answers"):
        found = read(case)
        meant = None if case["says"] is None else parse_number(case["says"])
        assert (found and found.value, found and found.is_said) == (meant, meant and case["how"] == "said"), case


def test_leaked_stop_tokens_are_taken_off_and_nothing_else() -> None:
    assert [case for case in lines("stop_tokens") if clean(case) != case["clean"].rstrip()] == []


def test_cited_answers_are_cut_into_their_claims() -> None:
    astray = []
    for case in lines("claims"):
        wanted = [(one["text"].rstrip(".。"), sorted(one["cites"]), one.get("urls", [])) for one in case["claims"]]
        if (found := listed(case)) != wanted:
            astray.append((case["reply"], found, wanted))
    assert astray == []
