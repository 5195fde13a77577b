"""The standard metrics of own suites against replies as real models write them: the values that SPEC 14 gives."""

from collections.abc import Callable, Iterable

import pytest

from tests.acceptance.standard.cases import Case, astray, score
from tests.acceptance.standard.choices import choices, single_choices
from tests.acceptance.standard.documents import documents
from tests.acceptance.standard.judged import Judged, judge, preferred, rated
from tests.acceptance.standard.numbers import numbers, single_numbers
from tests.acceptance.standard.patterns import likenesses, matched_patterns
from tests.acceptance.standard.texts import equal_texts, held_texts

LANGUAGES = ("en", "ru", "zh")
LEAST = 150  # replies to a metric


def holds(cases: Iterable[Case], least: int = LEAST) -> None:
    """Assert that there are enough replies, and that each comes to its value."""
    written = list(cases)
    assert len(written) >= least
    told = astray(written)
    assert not told, "\n".join([f"{len(told)} of {len(written)}", *told[:40]])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("composed", [choices, numbers, equal_texts, held_texts], ids=lambda one: one.__name__)
def test_replies_come_to_their_values(composed: Callable[[str], Iterable[Case]], language: str) -> None:
    holds(composed(language))


def test_choices_and_numbers_of_other_kinds_come_to_their_values() -> None:
    holds([*single_choices(), *single_numbers()], least=0)


def test_patterns_are_found_as_they_say() -> None:
    holds(matched_patterns())


@pytest.mark.parametrize("language", LANGUAGES)
def test_likeness_is_by_the_formula(language: str) -> None:
    written = list(likenesses(language))
    assert len(written) >= LEAST
    for case in written:
        found = score(case)
        assert found.value == pytest.approx(case.value, abs=1e-9), case
        assert found.status == case.status, case


def test_json_is_read_checked_and_compared() -> None:
    holds(documents())


@pytest.mark.parametrize("composed", [rated, preferred], ids=lambda one: one.__name__)
def test_judges_are_read_as_they_mean_it(composed: Callable[[], Iterable[Judged]]) -> None:
    written = list(composed())
    assert len(written) >= LEAST
    for case in written:
        found = judge(case)
        assert found.value == (None if case.value is None else pytest.approx(case.value)), case
        assert found.status == ("judge_failed" if case.value is None else "scored"), case
        assert {part: found.parts[part] for part in case.parts} == case.parts, case
