"""The verdicts on programs in the manner of real models: what is right passes, what is wrong does not."""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import chain, islice
from random import Random
from typing import Any, NamedTuple

import pytest

from data.draw import draw
from data.plugins import family
from data.records import Item
from tasks.generate import row
from tasks.verify import ReplyToVerify, verify_all
from tests.acceptance.composed import code_gen
from tests.acceptance.composed.common import Style
from tests.acceptance.composed.programs import mutants, right, surely_right, surely_wrong

pytestmark = pytest.mark.slow

LANGUAGES = ("en", "ru")
LEVELS = ("easy", "medium", "hard")
TABLES: Mapping[str, Mapping[str, Style]] = {"RIGHT": code_gen.RIGHT, "WRONG": code_gen.WRONG}
SPREAD = 60  # items of a level among which the styles begin to look for one that gives occasion
LEAST = 300  # replies of each kind for a language
REJECTED = 0.02  # the greatest share of right replies refused


class Composed(NamedTuple):
    """One reply to verify."""

    kind: str
    style: str
    item: Item
    text: str


@cache
def items(level: str, language: str) -> list[Item]:
    return draw(family("code_gen"), level=level, language=language, seed=7, count=200)


def composed(kind: str, language: str, table: Mapping[str, Style]) -> list[Composed]:
    """Write every style to an item that gives occasion for it, the levels taken in turn."""
    written = []
    for number, (name, style) in enumerate(table.items()):
        tried = chain.from_iterable(items(LEVELS[(number + shift) % len(LEVELS)], language) for shift in range(3))
        for item in islice(tried, number % SPREAD, None):
            text = style(item, Random(f"{name}/{item.item_id}"))
            if text is not None:
                written.append(Composed(kind, name, item, text))
                break
    return written


def verified(replies: list[Composed]) -> list[tuple[Composed, dict[str, Any]]]:
    asked = [ReplyToVerify(row(reply.item), "model", 0, reply.text, None, None) for reply in replies]
    return list(zip(replies, verify_all(asked), strict=True))


@cache
def verdicts() -> list[tuple[Composed, dict[str, Any]]]:
    """Have the replies of both kinds and languages verified at once."""
    return verified(
        [
            reply
            for kind, table in TABLES.items()
            for language in LANGUAGES
            for reply in composed(kind, language, table)
        ]
    )


def of(kind: str, language: str) -> list[tuple[Composed, dict[str, Any]]]:
    return [pair for pair in verdicts() if pair[0].kind == kind and pair[0].item.language == language]


def offenders(found: list[tuple[Composed, dict[str, Any]]]) -> str:
    """List the styles found with one reply each."""
    counts = Counter(reply.style for reply, _ in found)
    first = {reply.style: (reply, verdict) for reply, verdict in reversed(found)}
    return "\n\n".join(
        f"[{style}] x{count}: {first[style][1]['reason']!r}, {first[style][0].item.level}, "
        f"{first[style][0].item.template}\n{first[style][0].text}"
        for style, count in counts.items()
    )


@pytest.mark.parametrize("kind", ["RIGHT", "WRONG"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_enough_replies_and_every_style_is_used(language: str, kind: str) -> None:
    replies = [reply for reply, _ in of(kind, language)]
    assert len(replies) >= LEAST
    assert {reply.style for reply in replies} == set(TABLES[kind])
    assert {reply.item.level for reply in replies} == set(LEVELS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_programs_that_replies_are_made_of_are_right_and_wrong_by_a_run_of_their_own(language: str) -> None:
    for level in LEVELS:
        for item in items(level, language)[::10]:
            assert surely_right(item, right(item).source), item.prompt
            assert mutants(item), item.prompt
            assert all(surely_wrong(item, other) for other in mutants(item)), item.prompt


@pytest.mark.parametrize("language", LANGUAGES)
def test_right_replies_are_accepted(language: str) -> None:
    found = of("RIGHT", language)
    refused = [pair for pair in found if pair[1]["correct"] is not True]
    assert len(refused) <= REJECTED * len(found), f"{len(refused)} of {len(found)}\n{offenders(refused)}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_wrong_replies_are_refused(language: str) -> None:
    found = of("WRONG", language)
    accepted = [pair for pair in found if pair[1]["correct"] is True]
    assert not accepted, f"{len(accepted)} of {len(found)}\n{offenders(accepted)}"
    assert {verdict["status"] for _, verdict in found} <= {"scored", "no_answer"}


def test_endless_programs_are_refused() -> None:
    endless = composed("WRONG", "en", code_gen.ENDLESS)
    assert [verdict["correct"] for _, verdict in verified(endless)] == [False]
