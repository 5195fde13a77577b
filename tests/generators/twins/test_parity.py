"""The same draw in English and Russian: alike in facts and answers, and right by the family's own verifier."""

import pytest

from data.draw import draw
from data.plugins import family
from generators.twins.base import Refused
from generators.twins.parity import alike, in_language

WHOLE = ("arithmetic", "code_gen", "summarization")
N = 334


@pytest.mark.parametrize("name", WHOLE)
def test_a_thousand_items_of_a_family_are_alike_in_both_languages(name: str) -> None:
    unit = family(name)
    for level in unit.levels:
        for item in draw(unit, level=level, language="en", seed=3, count=N):
            row = {"level": level, "language": "en", "seed": 3, "index": item.index, "prompt": item.prompt}
            other = in_language(unit, row, {}, "ru")
            assert other.prompt != item.prompt
            assert alike(item, other)
            if unit.program is None:
                assert unit.verify(other, unit.reference(other)).correct
                near = unit.near_misses(other) if unit.near_misses else ()
                assert not any(unit.verify(other, one).correct for one in near)
            else:
                assert (other.facts["calls"], other.facts["expected"]) == (
                    item.facts["calls"],
                    item.facts["expected"],
                )


@pytest.mark.parametrize("name", ["simple_logic", "instructions"])
def test_what_the_words_decide_is_refused_and_the_rest_is_right(name: str) -> None:
    unit, made = family(name), 0
    for level in unit.levels:
        for item in draw(unit, level=level, language="en", seed=3, count=60):
            row = {"level": level, "language": "en", "seed": 3, "index": item.index, "prompt": item.prompt}
            try:
                other = in_language(unit, row, {}, "ru")
            except Refused:
                continue
            made += 1
            assert alike(item, other)
            assert unit.verify(other, unit.reference(other)).correct
    assert made > 10


def test_texts_with_other_facts_are_no_pair() -> None:
    unit = family("data_extraction")
    (item,) = draw(unit, level="easy", language="en", seed=3, count=1)
    row = {"level": "easy", "language": "en", "seed": 3, "index": 0, "prompt": item.prompt}
    with pytest.raises(Refused, match="another item"):
        in_language(unit, row, {}, "ru")
    with pytest.raises(Refused, match="not there"):
        in_language(unit, row, {}, "zh")
