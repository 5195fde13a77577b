"""Replies to families' items in the styles of many models: what is right is accepted, what is wrong is refused.

A line of `replies/composed/<family>.jsonl` names its item (a line of `items.jsonl`) and its style. What is right
was decided when the replies were written: texts by the rules of SPEC 2 alone, programs by running them.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from basic_control.data.plugins import family
from basic_control.data.records import Item
from basic_control.tasks.generate import row
from basic_control.tasks.verify import ReplyToVerify, verify_all
from tests.acceptance.reading import lines

FAMILIES = ("simple_logic", "instructions", "data_extraction", "summarization", "arithmetic")
REFUSED = 0.02  # the greatest share of right replies refused
SAMPLED = 12  # of so many programs one is run in the quick tests


@cache
def items() -> Mapping[str, Item]:
    """Return the items by their ids; the first part of an id is the family."""
    texts = ("language", "template", "prompt", "answer")
    return {
        case["id"]: Item(
            **{name: case[name] for name in texts}, facts=case["facts"], family=case["id"].split("/")[0]
        )
        for case in lines("composed/items")
    }


def check(cases: list[dict[str, Any]], verdicts: list[bool | None]) -> None:
    """Assert that each wrong reply is refused, and that hardly any right one is."""
    judged = list(zip(cases, verdicts, strict=True))
    assert [case for case, correct in judged if not case["right"] and correct is True] == []
    refused = [case for case, correct in judged if case["right"] and correct is not True]
    assert len(refused) <= REFUSED * sum(case["right"] for case in cases), refused


@pytest.mark.parametrize("name", FAMILIES)
def test_right_replies_are_accepted_and_wrong_ones_refused(name: str) -> None:
    cases = lines(f"composed/{name}")
    verify = family(name).verify
    cuts = [{"cut": True} if case.get("cut") else {} for case in cases]
    check(
        cases,
        [
            verify(items()[case["item"]], case["reply"], **cut).correct
            for case, cut in zip(cases, cuts, strict=True)
        ],
    )


@pytest.mark.parametrize("every", [SAMPLED, pytest.param(1, marks=pytest.mark.slow)])
def test_right_programs_are_accepted_and_wrong_ones_refused(every: int) -> None:
    cases = lines("composed/code_gen")[::every]
    replies = [ReplyToVerify(row(items()[case["item"]]), "model", 0, case["reply"], None, None) for case in cases]
    verdicts = verify_all(replies)
    check(cases, [verdict["correct"] for verdict in verdicts])
    assert {verdict["status"] for verdict in verdicts} <= {"scored", "no_answer"}
