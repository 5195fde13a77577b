"""The same draw in English and Russian: alike in facts and answers, and right by the family's own verifier."""

from dataclasses import replace

import pytest

from basic_control.data.plugins import family
from basic_control.generators.twins.base import Refused
from basic_control.generators.twins.parity import in_language
from tests.helpers.parity import READERS, differs, pairs

N = 34


@pytest.mark.parametrize("languages", [("en", "ru"), ("ru", "en")])
@pytest.mark.parametrize("name", READERS)
def test_a_hundred_items_of_a_family_are_alike_in_both_languages(name: str, languages: tuple[str, str]) -> None:
    """A thousand each by `python -m tests.benchmarks.parity`."""
    unit = family(name)
    n = N if languages[0] == "en" else N // 3
    for item, other in pairs(unit, languages, n):
        assert other.prompt != item.prompt
        assert not (found := differs(name, item, other, languages)), found
        if unit.program is None:
            twin = replace(other, language=languages[1])
            assert unit.verify(twin, unit.reference(twin)).correct
            near = unit.near_misses(twin) if unit.near_misses else ()
            assert not any(unit.verify(twin, one).correct for one in near)


def test_a_language_that_a_family_has_not_is_refused() -> None:
    unit = family("data_extraction")
    with pytest.raises(Refused, match="not there"):
        in_language(unit, {}, {}, "zh")
