"""Hostile chains of thought take bounded time and never raise; what is listed of a chain is exact."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from basic_control.data.options import options_of
from basic_control.data.records import Score
from basic_control.metrics.cot import cot
from tests.helpers.bounds import bounded

QUESTION = "Anna has 2 pails and 6 pails. How many pails has she?"
REFERENCE = "She has 2 + 6 = <<2+6=8>>8 pails.\n#### 8"


def score(response: str) -> Score:
    sample = {"question": QUESTION, "reference": REFERENCE, "response": response, "language": "en"}
    return cot.cot.score(sample, {}, options_of(cot.cot, {}))


HOSTILE = {
    "ten thousand empty annotations": "<<>>" * 10_000,
    "a megabyte of annotations": "<<1+1=2>>" * 110_000,
    "twenty thousand different ones": "".join(f"<<{n}+1={n + 1}>>\n" for n in range(20_000)),
    "a power tower": "<<9**9**9=1>>\n#### 1",
    "nested brackets": f"<<{'(' * 200}1{')' * 200}=1>>\n{'(' * 1_000_000}",
    "brackets and sums": "(1+" * 100_000 + "=3",
    "division by zero": "<<5/0=1>>\n<<0/0=0>>\n5 / 0 = 7",
    "a megabyte of digits": f"<<{'9' * 400}*{'9' * 90}=1>>\n#### {'9' * 1_000_000}",
    "long products": "".join(f"<<1/{'7' * 400}{n}=1>>" for n in range(1_000)),
    "equals signs": "1+1=" * 250_000,
    "equations": ("1+1=2 " * 100 + "\n") * 1_600,
    "units that cannot be changed": ("1 hour - 2 min + 3 days - 4 weeks = 7 " * 100 + "\n") * 300,
    "unknowns": "5 - 3 books - 2 ** 4 (red) - x = 7? " * 30_000,
    "continued lines": "= 1 + 1\n" * 100_000,
    "lines": "1\n" * 200_000,
    "angle brackets": "<" * 1_000_000,
    "number signs": "#" * 1_000_000,
    "fractions": "\\frac{" * 160_000,
    "numbers of one hash": "".join(f"<<{(2**61 - 1) * n}+1={(2**61 - 1) * n + 1}>>\n" for n in range(1, 18_000)),
    "carriage returns and NULs": "\r\0" * 100_000 + "#### 5",
    "letters that look like those of a part": "half of 4 = 2, a th\u0131rd of 9 = 3, a \u017fixth of 6 = 1",
}


LONG = {
    "number signs",
    "angle brackets",
    "twenty thousand different ones",
    "lines",
    "fractions",
    "brackets and sums",
}
"""What takes half a second and more."""


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(text, id=name, marks=[pytest.mark.slow] if name in LONG else [])
        for name, text in HOSTILE.items()
    ],
)
def test_a_hostile_response_takes_bounded_time_and_never_raises(response: str) -> None:
    with bounded(15):
        result = score(response)
    assert result.value is not None
    assert 0 <= result.value <= 1
    assert len(result.details["calculations"]) <= cot.LISTED


@given(st.text(alphabet="0123456789+-*/=().,%<>#$ x\n²½", max_size=120))
@settings(max_examples=300)
def test_never_raises(response: str) -> None:
    score(response)


def test_expected_and_found_are_written_exactly() -> None:
    listed = score("<<10/3=3.5>>\n<<1/8=0.125>>\n#### 1").details["calculations"]
    assert [(one["expected"], one["found"]) for one in listed] == [("10/3", "3.5"), ("0.125", "0.125")]
    assert Fraction(listed[0]["expected"]) == Fraction(10, 3)
