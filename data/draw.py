"""Drawing of items: reproducible, from a family without repeats or overlap between seeds; or rows of a data set."""

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, time, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal

from pydantic import Field

from basic_control.data.errors import InputError
from basic_control.data.options import Frozen, Seed, options_of
from basic_control.data.records import Family, Item

REDRAWS = 2000
"""Consecutive repeated prompts after which the space is considered exhausted."""
Method = Literal["random", "first", "all"]


def source(*identity: object) -> Random:
    """Return the random source of one item, derived from a hash of its whole identity.

    Never `seed + index`: neighbouring seeds would share almost all of their items.
    """
    digest = hashlib.sha256("\x1f".join(map(str, identity)).encode()).digest()
    return Random(int.from_bytes(digest[:16]))


def content_id(*parts: object) -> str:
    """Return 16 hex digits that identify an item by its content, for pairing runs."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()[:16]


@cache
def _takes_language(generate: Any) -> bool:
    return "language" in inspect.signature(generate).parameters


def draw(
    family: Family,
    *,
    level: str,
    language: str,
    seed: int,
    count: int,
    options: Mapping[str, Any] | None = None,
    prompts: set[str] | None = None,
    suite: str = "",
) -> list[Item]:
    """Draw `count` items of a family at a level, with indices 0 … count - 1.

    A prompt in `prompts` (the run's of this family; updated) is redrawn, in index order, with an attempt
    counter in the hash.

    Raises:
        InputError: the family has no such level, language or option, or not that many different items.
    """
    for kind, value, choices in (("level", level, family.levels), ("language", language, family.languages)):
        if value not in choices:
            expected = ", ".join(choices)
            raise InputError(f"family {family.name}: unknown {kind} {value!r}; expected one of {expected}.")
    parameters = {**family.levels[level], **options_of(family, options or {})}
    if _takes_language(family.generate):
        parameters["language"] = language
    if prompts is None:
        prompts = set()
    items: list[Item] = []
    for index in range(count):
        # Attempts count from 0 for every item, so that an item depends on no other unless their prompts repeat.
        for attempt in range(REDRAWS):
            rng = source(family.name, family.version, level, language, seed, index, attempt)
            item = family.generate(rng, **parameters)
            if item.prompt not in prompts:
                break
        else:
            raise InputError(
                f"family {family.name}, level {level}, language {language}: asked for {count} different "
                f"items, but only {len(items)} exist (the last {REDRAWS} draws all repeated a prompt "
                f"of this run). Ask for {len(items)} or fewer, or for another level."
            )
        prompts.add(item.prompt)
        # Families know nothing of suites and seeds: what identifies the item is set here.
        placed_item = Item(  # not dataclasses.replace, which takes twice as long
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
        items.append(placed_item)
    return items


class Sampling(Frozen):
    """Which rows of a data set are used."""

    method: Method = Field("random", description="random (by the seed), first, or all")
    n: int = Field(30, ge=1, description="number of rows; all if there are fewer")
    seed: Seed = Field(50, description="random seed of the choice")


def choose_rows(rows: int, *, method: Method, n: int, seed: int) -> list[int]:
    """Return the numbers of the chosen rows, ascending, from 0; all of them if there are no more than `n`.

    A random choice depends only on seed, number of rows and n, on every machine.
    """
    if method == "all" or n >= rows:
        return list(range(rows))
    if method == "first":
        return list(range(n))
    return sorted(source("sample", seed, rows, n).sample(range(rows), n))


def select_language(items: Sequence[Item], language: str, path: Path) -> list[Item]:
    """Return a file's items of a language; '' is any.

    Raises:
        InputError: there are none; the message names the languages that there are.
    """
    selection = [item for item in items if language in {"", item.language}]
    if not selection:
        languages = ", ".join(sorted({item.language for item in items}))
        raise InputError(
            f"{path}: no rows in language {language!r} among {len(items)} (found: {languages}). "
            "Set `language` to one of these."
        )
    return selection


def select_items(items: Sequence[Item], sampling: Mapping[str, Any]) -> Iterator[Item]:
    """Yield the chosen items, each with its position in the data as its index."""
    for position in choose_rows(len(items), **sampling):
        yield replace(items[position], index=position)


def _encode_extra(value: object) -> str:
    """Return a table's value that JSON does not have as text: a date, a decimal."""
    if isinstance(value, date | time | timedelta | Decimal | bytes):
        return str(value)
    raise TypeError(f"a {type(value).__name__} is not JSON")


_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=_encode_extra)


def format_canonical(value: Any) -> str:
    """Return JSON with sorted keys and no spaces: equal values have equal text."""
    return _CANONICAL.encode(value)
