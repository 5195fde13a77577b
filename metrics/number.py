"""Number metric: the number that a reply gives as its answer, by the cascade for word problems."""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from pydantic import Field

from data.answers import final_number
from data.options import Frozen, Number
from data.records import Expectation, Found, Metric, Sample, Score
from metrics._expected import expect, is_one_number, is_solution
from metrics._replies import NO_EXPECTED, NO_REPLY, expected, reply, was_cut, written


class Options(Frozen):
    """When two numbers are equal, and which of several is used."""

    tolerance: Number = Field(0.0, ge=0, description="the largest difference that is ignored")
    unit: str = Field(
        "", description="if the answer states several numbers, the unit or currency of the one to use"
    )


@lru_cache(maxsize=4096)  # few answers are unlike all others, and each is read once for every target
def _number(text: str) -> Fraction | None:
    found = final_number(text)
    if found is None:
        return None
    return found.value if (found.said and is_solution(text)) or is_one_number(text) else None


def expected_number(answer: Any) -> Fraction | None:
    """Return the number that an expected answer is, or that a solution ends in; None if it is no single number."""
    if isinstance(answer, bool) or not isinstance(answer, int | float | str):
        return None
    return _number(written(answer))


def expects(sample: Sample, options: Mapping[str, Any]) -> Expectation:
    """Return how a row's number is read."""
    del options
    return expect(sample, lambda answer: expected_number(answer) is not None, "one number")


def score(sample: Sample, found: Found, options: Mapping[str, Any]) -> Score:
    """Return 1 if the reply's number equals an expected one within the tolerance, else 0.

    Source: SPEC 14, with the extraction of SPEC 3.
    """
    wanted = [value for value in map(expected_number, expected(sample)) if value is not None]
    if not wanted:
        return NO_EXPECTED
    if not (said := reply(sample)):
        return NO_REPLY
    question = str(sample.get("question") or "")
    if options["unit"]:
        question = f"{question} How many {options['unit']}?"
    answer = final_number(said, question, cut=was_cut(sample))
    if answer is None:
        return Score(0.0, "no_answer", "no final answer could be extracted")
    details = {"answer": answer.text[:100], "rule": answer.rule, "how": "said" if answer.said else "inferred"}
    if any(abs(answer.value - value) <= Fraction(str(options["tolerance"])) for value in wanted):
        return Score(1.0, reason="equal", details=details)
    return Score(0.0, reason="another number", details=details)


UNIT = Metric(
    name="number",
    version=7,
    bounds=(0.0, 1.0),
    score=score,
    options=Options,
    needs=("answer",),
    expects=expects,
    yes_no=True,
    title={"en": "Number", "ru": "Число"},
)
