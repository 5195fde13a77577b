"""Scales of difficulty: every rung of every family is drawn and judged rightly; no level's items have changed."""

import json
import re
from dataclasses import replace
from functools import cache

import pytest

from data.draw import canonical, content_id, draw
from data.plugins import families
from data.records import Item

RUNGS = [
    (name, language, rung)
    for name, family in families().items()
    if family.scale
    for language in family.languages
    for rung in family.rungs
]
LEVELS = {
    "arithmetic": "14515b1352750b0a",
    "code_gen": "c1290fad4023faf5",
    "data_extraction": "134a4b7329403c05",
    "instructions": "49aaf13e3df8ea70",
    "simple_logic": "f86d8f8f985f524c",
    "summarization": "7e6c986ca1907cf4",
}
"""Digests of each family's first 25 items of every language and level at seed 42, from before there were scales."""

every_rung = pytest.mark.parametrize(("name", "language", "rung"), RUNGS)


@cache
def drawn(name: str, language: str, rung: str) -> tuple[Item, ...]:
    items = draw(families()[name], level=rung, language=language, seed=7, count=40)
    return tuple(replace(item, facts=json.loads(json.dumps(dict(item.facts)))) for item in items)


@pytest.mark.parametrize("name", LEVELS)
def test_scales_changed_no_item_of_the_levels(name: str) -> None:
    family = families()[name]
    found = [
        (item.item_id, canonical([item.prompt, item.answer, dict(item.facts)]))
        for language in family.languages
        for level in family.levels
        for item in draw(family, level=level, language=language, seed=42, count=25)
    ]
    assert content_id(*found) == LEVELS[name]


def test_a_family_without_a_scale_has_its_levels_as_rungs() -> None:
    assert [*families()["code_gen"].rungs] == ["easy", "medium", "hard"]


def test_values_rise_and_a_guess_is_right_less_than_half_of_the_time() -> None:
    for family in families().values():
        if family.scale:
            values = [*family.scale.rungs]
            assert values == sorted(set(values))
            assert set(family.scale.unit) >= {"en", "ru"}
            assert all(0 <= family.scale.chance(value) < 0.5 for value in values)
            assert not {*family.rungs} & {*family.levels}


@every_rung
def test_a_rung_is_as_large_as_it_says(name: str, language: str, rung: str) -> None:
    for item in drawn(name, language, rung):
        facts = item.facts
        if name == "arithmetic":
            counted = re.findall(r"\d+", facts["expression"])
        elif name == "data_extraction":
            counted = [*facts["emails"], *facts["phones"], *facts["dates"]]
        else:
            parts = {"simple_logic": "names", "instructions": "commands", "summarization": "sentences"}
            counted = facts[parts[name]]
        assert len(counted) == int(rung)
        assert item.level == rung


@every_rung
def test_the_reference_is_accepted_and_near_misses_are_refused(name: str, language: str, rung: str) -> None:
    family = families()[name]
    assert family.near_misses
    for item in drawn(name, language, rung)[:12]:
        assert family.verify(item, family.reference(item)).correct is True, item.prompt
        for reply in family.near_misses(item):
            assert family.verify(item, reply).correct is not True, (item.prompt, reply)


@pytest.mark.parametrize("rung", ["3", "8", "26"])
@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_chain_of_people_is_settled_by_its_comparisons_alone(language: str, rung: str) -> None:
    """Follow the comparisons from whoever is below nobody, and count to the place."""
    for item in drawn("simple_logic", language, rung):
        below = {above: under for kind, above, under in item.facts["relations"] if kind == "above"}
        (at,) = {*below} - {*below.values()}
        for _ in range(item.facts["place"]):
            at = below[at]
        assert at == item.answer
        assert 0 < item.facts["place"] < int(rung) - 1
