"""Math metric: the expression that a reply gives as its answer equals the expected one, whatever its form."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from basic_control.data.decorators import metric
from basic_control.data.options import Frozen
from basic_control.data.reading.answer import Reading, read
from basic_control.data.reading.expressions import Expressions
from basic_control.data.reading.texts import unify
from basic_control.data.records import Expectation, Found, Sample, Score
from basic_control.data.values import write_value
from basic_control.metrics._expected import expect, is_solution
from basic_control.metrics._replies import NO_EXPECTED, NO_REPLY, is_cut, list_expected, prompt, reply
from basic_control.metrics.math.child import CHILD, LIMIT_S
from basic_control.metrics.math.notation import find_base, to_latex

_MOST_WORDS = 3
"""Most words of an expected answer that is a text: 'no real solution'."""
SHOWN = 100


class Options(Frozen):
    """There are none: what an expression means needs no option."""


def read_expression(text: str, *, cut: bool = False, prompt: str = "") -> Reading:
    """Read which expression a text gives as its answer; its value is the text of it."""
    return read(unify(text), Expressions(), cut=cut, prompt=prompt)


@lru_cache(maxsize=4096)
def to_expected_latex(text: str) -> str:
    """Return an expected answer as LaTeX: of a solution, what it ends in; '' if it ends in nothing."""
    if is_solution(text):
        values = read_expression(text).values or frozenset()
        text = str(next(iter(values))) if len(values) == 1 else ""
    return to_latex(unify(text))


def expects(sample: Sample, options: Mapping[str, Any]) -> Expectation:
    """Return how a row's expression is read."""
    del options
    return expect(sample, is_readable, "an expression in LaTeX or plain notation")


def is_readable(answer: Any) -> bool:
    """Return whether an expected answer is read as an expression; prose is not.

    Raises:
        InputError: the extra `math` is not installed.
    """
    if isinstance(answer, bool) or not isinstance(answer, int | float | str):
        return False
    latex = to_expected_latex(write_value(answer))
    if not latex or (latex.startswith(r"\text{") and len(latex.split()) > _MOST_WORDS):
        return False
    try:
        return all(CHILD.compare([latex], None).read)
    except TimeoutError:
        return False


def _compare(golds: Sequence[str], answer: str, details: Mapping[str, Any]) -> Score:
    """Return the score of an answer against expected ones in LaTeX."""
    latex = to_latex(answer)
    if latex in golds:
        return Score(1.0, reason="equal", details=details)
    # math-verify passes over subscripts: 2516 to the base 9 would be 2516 to the base 8.
    comparable = [gold for gold in golds if _has_same_base(gold, latex)]
    try:
        is_equal = CHILD.compare(comparable, latex).is_equal
    except TimeoutError:
        return Score(0.0, reason=f"not compared within {LIMIT_S:g} seconds", details=details)
    if is_equal:
        return Score(1.0, reason="equal", details=details)
    return Score(0.0, reason="another expression", details=details)


def _has_same_base(gold: str, latex: str) -> bool:
    """Return whether two numbers name the same base, or one of them none."""
    bases = {find_base(gold), find_base(latex)} - {""}
    return len(bases) < 2  # noqa: PLR2004 - two different ones


@metric(
    options=Options,
    needs=("answer",),
    expects=expects,
    yes_no=True,
    title={"en": "Mathematical expression", "ru": "Математическое выражение"},
)
def math(sample: Sample, _: Found, options: Mapping[str, Any]) -> Score:
    """Return 1 if the reply's expression equals an expected one, else 0.

    Source: SPEC 14, 19; math-verify compares.
    """
    golds = [latex for latex in map(to_expected_latex, map(write_value, list_expected(sample))) if latex]
    if not golds:
        return NO_EXPECTED
    text = reply(sample)
    if not text:
        return NO_REPLY
    reading = read_expression(text, cut=is_cut(sample), prompt=prompt(sample))
    if reading.values is None:
        return Score(0.0, "no_answer", "no final answer could be extracted")
    details = {"rule": reading.rule, "how": "said" if reading.is_said else "inferred"}
    if len(reading.values) != 1:
        return Score(0.0, reason="no single expression", details=details)
    answer = str(next(iter(reading.values)))
    return _compare(golds, answer, {"answer": answer[:SHOWN], **details})
