"""The verifiers against replies in the manner of real models: what is right passes, what is wrong does not."""

import importlib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import cycle, islice
from random import Random
from typing import NamedTuple

import pytest

from data.draw import draw
from data.plugins import family
from data.records import Item, Verdict
from tests.acceptance.composed.common import Style

FAMILIES = ("simple_logic", "instructions", "data_extraction", "summarization", "arithmetic")
LEVELS = ("easy", "medium", "hard")
ROUNDS = 4  # how often a style is used at each level
PATIENCE = 60  # items looked through for one that gives occasion for a style
LEAST = 300  # replies of each kind for a family and language
REJECTED = 0.02  # the greatest share of right replies refused


class Reply(NamedTuple):
    """One reply and what the verifier made of it."""

    style: str
    item: Item
    text: str
    verdict: Verdict


@cache
def replies(name: str, language: str, kind: str) -> tuple[Reply, ...]:
    """Write every style of a kind to some items of every level, and have each reply verified."""
    styles: Mapping[str, Style] = getattr(importlib.import_module(f"tests.acceptance.composed.{name}"), kind)
    rules = family(name)
    written = []
    for level in LEVELS:
        items = cycle(draw(rules, level=level, language=language, seed=7, count=300))
        for style in list(styles) * ROUNDS:
            for item in islice(items, PATIENCE):
                text = styles[style](item, Random(f"{style}/{item.item_id}"))
                if text is not None:
                    written.append(Reply(style, item, text, rules.verify(item, text)))
                    break
    return tuple(written)


def offenders(found: list[Reply]) -> str:
    """List the styles found with one reply each."""
    counts = Counter(reply.style for reply in found)
    first = {reply.style: reply for reply in reversed(found)}
    return "\n\n".join(
        f"[{style}] x{count}: {first[style].verdict.reason!r}; expected {first[style].item.answer!r}, "
        f"{first[style].item.level}\n{first[style].text!r}"
        for style, count in counts.items()
    )


@pytest.mark.parametrize("kind", ["RIGHT", "WRONG"])
@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("name", FAMILIES)
def test_there_are_enough_replies_and_every_style_is_used(name: str, language: str, kind: str) -> None:
    module = importlib.import_module(f"tests.acceptance.composed.{name}")
    written = replies(name, language, kind)
    assert len(written) >= LEAST
    assert len(getattr(module, kind)) >= 25
    assert {reply.style for reply in written} == set(getattr(module, kind))
    assert {reply.item.level for reply in written} == set(LEVELS)


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("name", FAMILIES)
def test_right_replies_are_accepted(name: str, language: str) -> None:
    written = replies(name, language, "RIGHT")
    refused = [reply for reply in written if reply.verdict.correct is not True]
    assert len(refused) <= REJECTED * len(written), f"{len(refused)} of {len(written)}\n{offenders(refused)}"


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("name", FAMILIES)
def test_wrong_replies_are_refused(name: str, language: str) -> None:
    accepted = [reply for reply in replies(name, language, "WRONG") if reply.verdict.correct is True]
    assert not accepted, f"{len(accepted)}\n{offenders(accepted)}"
