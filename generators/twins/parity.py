"""Render a family's item in another language, from the same draw.

A family whose draws depend on its words takes the draw's language (`drawn`) beside the language of its wording, so
that its facts are carried over. For other families, the two must have equivalent facts: the same numbers and
commands, and texts in the same places.
"""

import inspect
import re
from collections.abc import Mapping
from typing import Any

from basic_control.data.draw import source
from basic_control.data.options import options_of
from basic_control.data.records import Family, Item
from basic_control.generators.twins.base import Refused

ATTEMPTS = 100  # draws of an item tried, as earlier ones may have repeated a prompt
_COMMAND = re.compile(r"[a-z_]+")


def in_language(unit: Family, item: Mapping[str, Any], options: Mapping[str, Any], language: str) -> Item:
    """Return an item's twin in another language; `item` is its row, `options` are the family's.

    Raises:
        Refused: the family lacks that language, or the same draw gives another item in it.
    """
    if language not in unit.languages:
        raise Refused("not there in another language")
    given = {**unit.levels[item["level"]], **options_of(unit, options)}
    carried = "drawn" in inspect.signature(unit.generate).parameters
    for attempt in range(ATTEMPTS):
        own = (unit.name, unit.version, item["level"], item["language"], item["seed"], item["index"], attempt)
        drawn = unit.generate(source(*own), **given, language=item["language"])
        if drawn.prompt == item["prompt"]:
            if carried:
                given["drawn"] = item["language"]
            other: Item = unit.generate(source(*own), **given, language=language)
            same = drawn.template == other.template if carried else _shape(drawn) == _shape(other)
            if same:
                return other
            break
    raise Refused("another item in the other language")


def _shape(item: Item) -> Any:
    """Return an item's facts and answer with each text replaced by its numbers and order of first occurrence."""
    seen: dict[str, int] = {}

    def shape(value: Any) -> Any:
        if isinstance(value, Mapping):
            given = value.items()
            return {key: shape(one) for key, one in given if key != "language" or one not in {"en", "ru"}}
        if isinstance(value, list | tuple):
            return [shape(one) for one in value]
        if not isinstance(value, str) or _COMMAND.fullmatch(value):
            return value
        return re.findall(r"[0-9]+", value), seen.setdefault(value, len(seen))

    return shape([item.facts, item.answer])
