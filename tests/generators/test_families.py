"""Promises of every family, in each language and at each level: a new family is tested by existing."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from basic_control.data.draw import content_id, draw, format_canonical
from basic_control.data.errors import InputError
from basic_control.data.plugins import families
from basic_control.data.records import Family, Item, Verdict
from tests.generators.hostile import MEGABYTE, huge, may_be_right, texts
from tests.helpers.bounds import bounded

CELLS = [
    (name, language, level) for name, f in families().items() for language in f.languages for level in f.levels
]
TONGUES = [(name, language) for name, f in families().items() for language in f.languages]
JUDGED_BY_TEXT = [cell for cell in CELLS if families()[cell[0]].program is None]
MANY = 2000  # items of one run
FIRST_ITEMS = {
    "arithmetic": "14515b1352750b0a",
    "code_gen": "c1290fad4023faf5",
    "data_extraction": "134a4b7329403c05",
    "instructions": "49aaf13e3df8ea70",
    "simple_logic": "f86d8f8f985f524c",
    "summarization": "7e6c986ca1907cf4",
}
"""Digests of each family's first 25 items of every language and level at seed 42: drawn alike by every release."""

every_cell = pytest.mark.parametrize(("name", "language", "level"), CELLS)
every_cell_judged_by_text = pytest.mark.parametrize(("name", "language", "level"), JUDGED_BY_TEXT)


@cache
def draw_hundred(name: str, language: str, level: str) -> tuple[Item, ...]:
    """Return the first hundred items of a seed."""
    return tuple(draw(families()[name], level=level, language=language, seed=7, count=100))


@cache
def drawn(name: str, language: str, level: str) -> tuple[Item, ...]:
    """Return 60 items, with their facts as they come back from a Parquet table: through JSON."""
    items = draw_hundred(name, language, level)[:60]
    return tuple(replace(item, facts=json.loads(json.dumps(dict(item.facts)))) for item in items)


def verdict(family: Family, item: Item, text: str) -> Verdict:
    """Ask the verifier; a family whose replies are programs gets no outcomes, as if nothing had run."""
    return family.verify(item, text) if family.program is None else family.verify(item, text, None)


def mutants(family: Family, item: Item) -> list[str]:
    """Return the family's near-misses or, where it declares none, slips that spoil any reference."""
    if family.near_misses is not None:
        return list(family.near_misses(item))
    reply = family.reference(item)
    tokens = reply.split()
    return [" ".join(tokens[:-1]), f"{reply} {tokens[-1]}", f"{reply}1", ""]


@every_cell
def test_same_seed_gives_same_items_however_many_are_drawn(name: str, language: str, level: str) -> None:
    again = draw(families()[name], level=level, language=language, seed=7, count=30)
    assert tuple(again) == draw_hundred(name, language, level)[:30]


def test_items_do_not_depend_on_the_process() -> None:
    """Neither the hash seed nor the order in which families are used may leak into an item."""
    script = (
        "import sys\n"
        "from basic_control.data.draw import content_id, draw, format_canonical\n"
        "from basic_control.data.plugins import families\n"
        "found = {}\n"
        "for family in sorted(families().values(), key=lambda f: f.name, reverse=sys.argv[1] == 'reversed'):\n"
        "    for language in family.languages:\n"
        "        for level in family.levels:\n"
        "            for item in draw(family, level=level, language=language, seed=3, count=5):\n"
        "                found[item.item_id] = format_canonical([item.prompt, item.answer, dict(item.facts)])\n"
        "print(content_id(*sorted(found.items())))\n"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", script, order],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for order, seed in (("forward", "1"), ("reversed", "2"))
    }
    assert len(digests) == 1


@every_cell
def test_an_item_is_whole(name: str, language: str, level: str) -> None:
    """Prompt and answer are text, facts are JSON, and what the drawing knows is filled in."""
    for index, item in enumerate(drawn(name, language, level)):
        assert item.prompt.strip()
        assert item.answer
        assert (item.family, item.language, item.level, item.index) == (name, language, level, index)
        assert len(item.item_id) == 16
        item.prompt.encode()


@every_cell
def test_neighbouring_seeds_share_no_items_beyond_chance(name: str, language: str, level: str) -> None:
    """Of a space of 10 000, two draws of 100 share one on average; 8 or more happen once in 100 000 times."""
    other = draw(families()[name], level=level, language=language, seed=8, count=100)
    assert len({item.prompt for item in draw_hundred(name, language, level)} & {item.prompt for item in other}) < 8


@pytest.mark.slow
@every_cell
def test_thousands_of_items_without_a_repeated_prompt(name: str, language: str, level: str) -> None:
    """Fewer in further languages, which have other words for the same items."""
    family = families()[name]
    many = MANY if language == family.languages[0] else MANY // 10
    try:
        items = draw(family, level=level, language=language, seed=7, count=many)
    except InputError as error:
        assert "different items" in str(error)  # noqa: PT017 - a smaller space is allowed, if it says so
        return
    assert len({item.prompt for item in items}) == len({item.item_id for item in items}) == many
    assert tuple(items[:100]) == draw_hundred(name, language, level)


def test_an_exhausted_space_says_how_many_items_there_are() -> None:
    def generate(rng: Random) -> Item:
        return Item(prompt=f"Which number is {rng.randrange(3)}?", answer="it")

    def verify(item: Item, reply: str) -> Verdict:
        return Verdict(correct=reply == item.answer, reason="")

    three = Family(name="three", version=1, levels={"easy": {}}, generate=generate, verify=verify)
    assert len(draw(three, level="easy", language="en", seed=1, count=3)) == 3
    with pytest.raises(InputError, match=r"family three, level easy.* only 3 exist"):
        draw(three, level="easy", language="en", seed=1, count=4)


@every_cell_judged_by_text
def test_the_reference_is_accepted(name: str, language: str, level: str) -> None:
    family = families()[name]
    for item in drawn(name, language, level):
        assert verdict(family, item, family.reference(item)).correct is True, item.prompt


@every_cell_judged_by_text
def test_near_misses_are_refused(name: str, language: str, level: str) -> None:
    family = families()[name]
    for item in drawn(name, language, level):
        replies = mutants(family, item)
        assert len(replies) >= 4
        for reply in replies:
            assert verdict(family, item, reply).correct is not True, (item.prompt, reply)


@every_cell
def test_the_prompt_itself_is_no_answer(name: str, language: str, level: str) -> None:
    family = families()[name]
    for item in drawn(name, language, level):
        for text in (item.prompt, f"{item.prompt}\n\n{item.prompt}", f"> {item.prompt}"):
            assert verdict(family, item, text).correct is not True, text


@every_cell
def test_a_thousand_hostile_texts_neither_raise_nor_pass(name: str, language: str, level: str) -> None:
    """A text may pass only if all of the answer occurs in it; and the same text gets the same verdict again.

    A thousand at a family's first level, 300 at the others, which go through the same rules.
    """
    family = families()[name]
    item = drawn(name, language, level)[0]
    many = 1000 if level == next(iter(family.levels)) else 300
    for number, text in enumerate(texts((name, language, level), item.prompt, many)):
        found = verdict(family, item, text)
        assert found.correct in (True, False, None)
        assert found.reason
        json.dumps(dict(found.details))
        assert found.correct is not True or may_be_right(item.answer, text), text
        if number % 8 == 0:
            assert verdict(family, item, text) == found


@pytest.mark.parametrize(
    ("name", "language"),
    [pytest.param(*pair, marks=[] if pair == ("arithmetic", "ru") else [pytest.mark.slow]) for pair in TONGUES],
)
def test_a_megabyte_takes_bounded_time(name: str, language: str) -> None:
    """Five seconds of the processor are far above what a linear verifier takes, and far below a quadratic one.

    A family's further languages go through the same rules: a fifth of the text in a fifth of the time.
    """
    family = families()[name]
    share = 1 if language == family.languages[0] else 5
    item = drawn(name, language, "hard" if "hard" in family.levels else next(iter(family.levels)))[0]
    for text in huge(item.prompt, MEGABYTE // share):
        with bounded(5 / share):
            found = verdict(family, item, text)
        assert found.correct is not True, text[:40]


@pytest.mark.parametrize("name", [name for name, f in families().items() if f.program is not None])
def test_reading_a_program_out_of_a_hostile_text_never_raises(name: str) -> None:
    family = families()[name]
    assert family.program is not None
    for language in family.languages:
        item = drawn(name, language, next(iter(family.levels)))[0]
        for text in texts((name, language), item.prompt, 1000):
            family.program(item, text)


@pytest.mark.parametrize("name", FIRST_ITEMS)
def test_the_items_of_a_version_stay_as_they_are(name: str) -> None:
    family = families()[name]
    items = [
        (item.item_id, format_canonical([item.prompt, item.answer, dict(item.facts)]))
        for language in family.languages
        for level in family.levels
        for item in draw(family, level=level, language=language, seed=42, count=25)
    ]
    assert content_id(*items) == FIRST_ITEMS[name]
