"""Number metric: the number that a reply gives as its answer, by the reader of replies."""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

from pydantic import Field

from basic_control.data.decorators import metric
from basic_control.data.options import Frozen, Number
from basic_control.data.reading.numbers import read_number
from basic_control.data.records import Expectation, Found, Sample, Score
from basic_control.data.values import write_value
from basic_control.metrics._expected import expect, is_one_number, is_solution
from basic_control.metrics._replies import NO_EXPECTED, NO_REPLY, is_cut, list_expected, prompt, reply


class Options(Frozen):
    """When two numbers are equal, and which of several is used."""

    tolerance: Number = Field(0.0, ge=0, description="the largest difference that is ignored")
    unit: str = Field(
        "", description="if the answer states several numbers, the unit or currency of the one to use"
    )


@lru_cache(maxsize=4096)  # few answers are unlike all others, and each is read once for every target
def _read_single_number(text: str) -> Fraction | None:
    answer = read_number(text).answer
    if answer is None:
        return None
    return answer.value if (answer.is_said and is_solution(text)) or is_one_number(text) else None


def read_expected(answer: Any) -> Fraction | None:
    """Return the number that an expected answer is, or that a solution ends in; None if it is no single number."""
    if isinstance(answer, bool) or not isinstance(answer, int | float | str):
        return None
    return _read_single_number(write_value(answer))


def expects(sample: Sample, options: Mapping[str, Any]) -> Expectation:
    """Return how a row's number is read."""
    del options
    return expect(sample, lambda answer: read_expected(answer) is not None, "one number")


@metric(
    version=10,
    options=Options,
    needs=("answer",),
    expects=expects,
    yes_no=True,
    title={"en": "Number", "ru": "Число"},
)
def number(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Score:
    """Return 1 if the reply's number equals an expected one within the tolerance, else 0.

    Source: SPEC 14, with the extraction of SPEC 3.
    """
    answers = [value for value in map(read_expected, list_expected(sample)) if value is not None]
    if not answers:
        return NO_EXPECTED
    text = reply(sample)
    if not text:
        return NO_REPLY
    # What is asked for says which of several numbers is the answer.
    question = str(sample.get("question") or "")
    if options["unit"]:
        question = f"{question} How many {options['unit']}?"
    language = str(sample.get("language") or "")
    reading = read_number(text, question, language=language, cut=is_cut(sample), prompt=prompt(sample))
    answer = reading.answer
    if answer is None:
        return Score(0.0, "no_answer", "no final answer could be extracted")
    how = "said" if answer.is_said else "inferred"
    details = {"answer": answer.text[:100], "rule": answer.rule, "how": how}
    value = answer.value
    if value is None:
        return Score(0.0, reason="no single number", details=details)
    tolerance = Fraction(str(options["tolerance"]))
    if any(abs(value - right) <= tolerance for right in answers):
        return Score(1.0, reason="equal", details=details)
    return Score(0.0, reason="another number", details=details)
