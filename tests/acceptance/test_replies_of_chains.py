"""Chains composed from the rules alone: slips are found at every place, and no right chain is accused.

A selection of some 3400 replies in the styles of a dozen models; `slip_text` is the line with the slip.
"""

from typing import Any

import pytest

from basic_control.data.options import options_of
from basic_control.data.records import Score
from basic_control.metrics.cot.chain import read
from basic_control.metrics.cot.cot import cot
from tests.acceptance.reading import lines


def accused(row: dict[str, Any]) -> list[str]:
    """Return the lines with a wrong calculation."""
    chain = read(row["reply"], row["question"])
    return [
        chain.steps[place - 1].text
        for place, calculation in zip(chain.step_numbers, chain.calculations, strict=True)
        if not calculation.right
    ]


def score(row: dict[str, Any]) -> Score:
    sample = {"question": row["question"], "reference": row["reference"], "response": row["reply"]}
    return cot.score(sample, {}, options_of(cot, {}))


def test_no_right_chain_is_accused() -> None:
    assert [(row["reply"], wrong) for row in lines("chains_right") if (wrong := accused(row))] == []


def test_each_right_chain_has_something_to_check() -> None:
    assert [
        row["reply"] for row in lines("chains_right") if not read(row["reply"], row["question"]).calculations
    ] == []


PLACES = sorted({row["place"] for row in lines("chains_slip")})


@pytest.mark.parametrize("place", PLACES)
def test_slips_are_found_where_they_stand(place: str) -> None:
    lost = []
    for row in lines("chains_slip"):
        wrong = accused(row)
        if row["place"] == place and not (
            wrong and " ".join(wrong[0].split()) in " ".join(row["slip_text"].split())
        ):
            lost.append((row["reply"], wrong))
    assert lost == []


def test_what_cannot_be_checked_is_never_accused_and_leaves_the_mean() -> None:
    for row in lines("not_checkable"):
        found = score(row)
        assert accused(row) == [], row["reply"]
        assert found.details["right"] is not True or found.parts["sound"] is None, row["reply"]


ALIKE = {"operand", "omission"}  # a step left out shows as an operand that is another one


def test_the_first_wrong_step_and_its_kind_are_named() -> None:
    for row in lines("first_error"):
        found = score(row).details["first_error"]
        if row["kind"] is None:
            assert found is None, row["reply"]
            continue
        assert found["kind"] == row["kind"] or {found["kind"], row["kind"]} == ALIKE, row["reply"]
        if found["line"]:
            assert " ".join(found["line"].split()) in " ".join(row["first_text"].split()), row["reply"]
        else:
            assert row["kind"] in {"stopped early", "misread final"}, row["reply"]
