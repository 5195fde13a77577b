"""Draw a family's items: reproducible, without repeats, and without overlap between seeds."""

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

from data.errors import InputError
from data.options import options_of
from data.records import Family, Item

REDRAWS = 2000
"""Redraws in a row that all repeat a prompt: the space is taken to be exhausted."""


def source(*identity: object) -> Random:
    """Return the random source of one item, derived from a hash of its whole identity.

    Never `seed + index`: neighbouring seeds would share almost all of their items.
    """
    digest = hashlib.sha256("\x1f".join(map(str, identity)).encode()).digest()
    return Random(int.from_bytes(digest[:16]))


@cache
def _takes_language(family: str, generate: Any) -> bool:  # noqa: ARG001 - the name keys the cache readably
    return "language" in inspect.signature(generate).parameters


def content_id(*parts: object) -> str:
    """Return 16 hex digits that name an item by its content, so that runs can be paired by it."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()[:16]


def draw(
    family: Family,
    *,
    level: str,
    language: str,
    seed: int,
    count: int = 0,
    given: Sequence[Mapping[str, Any]] = (),
    options: Mapping[str, Any] | None = None,
    seen: set[str] | None = None,
    suite: str = "",
) -> list[Item]:
    """Draw `count` items of a family at a level, or a rung of its scale, with indices 0 … count - 1.

    `given`, in place of a count: what each item is drawn with beside the level's parameters. A prompt in `seen`
    (the run's prompts of this family; updated) is redrawn, in index order, with an attempt counter in the hash.

    Raises:
        InputError: the family has no such level, language or option, or not that many different items.
    """
    steps = {**family.rungs, **family.levels}
    if level not in steps:
        raise InputError(f"family {family.name}: no level {level!r}; expected one of {', '.join(family.levels)}.")
    if language not in family.languages:
        raise InputError(
            f"family {family.name}: no language {language!r}; expected one of {', '.join(family.languages)}."
        )
    parameters = {**steps[level], **options_of(family, options or {})}
    if _takes_language(family.name, family.generate):
        parameters["language"] = language
    seen = set() if seen is None else seen
    items: list[Item] = []
    wanted = given or ({},) * count
    for index, own in enumerate(wanted):
        for attempt in range(REDRAWS):
            rng = source(family.name, family.version, level, language, seed, index, attempt)
            item = family.generate(rng, **parameters, **own)
            if item.prompt not in seen:
                break
        else:
            raise InputError(
                f"family {family.name}, level {level}, language {language}: asked for {len(wanted)} different "
                f"items, but only {len(items)} exist (the last {REDRAWS} draws all repeated a prompt "
                f"of this run). Ask for {len(items)} or fewer, or for another level."
            )
        seen.add(item.prompt)
        items.append(_placed(item, family, level=level, language=language, seed=seed, index=index, suite=suite))
    return items


def _placed(item: Item, family: Family, *, level: str, language: str, seed: int, index: int, suite: str) -> Item:
    # not dataclasses.replace, which takes twice as long
    return Item(
        prompt=item.prompt,
        answer=item.answer,
        facts=item.facts,
        template=item.template,
        item_id=content_id(family.name, family.version, level, language, item.prompt, item.answer),
        suite=suite,
        family=family.name,
        version=family.version,
        level=level,
        language=language,
        seed=seed,
        index=index,
    )


def canonical(value: Any) -> str:
    """Return JSON with sorted keys and no spaces: equal values have equal text."""
    return _CANONICAL.encode(value)


_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))
