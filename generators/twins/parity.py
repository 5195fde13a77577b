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
# A name of a command or a kind, which is the same in each language: "count_vowels"
_COMMAND = re.compile(r"[a-z_]+")


def in_language(unit: Family, item: Mapping[str, Any], options: Mapping[str, Any], language: str) -> Item:
    """Return an item's twin in another language; `item` is its row, `options` are the family's.

    Raises:
        Refused: the family lacks that language, or the same draw gives another item in it.
    """
    if language not in unit.languages:
        raise Refused("not there in another language")
    parameters = {**unit.levels[item["level"]], **options_of(unit, options)}
    words_foreign_draws = "drawn" in inspect.signature(unit.generate).parameters
    for attempt in range(ATTEMPTS):
        seeds = (unit.name, unit.version, item["level"], item["language"], item["seed"], item["index"], attempt)
        drawn = unit.generate(source(*seeds), **parameters, language=item["language"])
        if drawn.prompt != item["prompt"]:
            continue
        # The draw that gave the item, worded in the other language.
        if words_foreign_draws:
            parameters["drawn"] = item["language"]
        twin: Item = unit.generate(source(*seeds), **parameters, language=language)
        is_equal = drawn.template == twin.template if words_foreign_draws else _outline(drawn) == _outline(twin)
        if is_equal:
            return twin
        break
    raise Refused("another item in the other language")


def _outline(item: Item) -> Any:
    """Return an item's facts and answer with each text replaced by its numbers and order of first occurrence."""
    order: dict[str, int] = {}

    def outline_value(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: outline_value(part) for key, part in value.items() if not _is_language(key, part)}
        if isinstance(value, list | tuple):
            return [outline_value(part) for part in value]
        if not isinstance(value, str) or _COMMAND.fullmatch(value):
            return value
        return re.findall(r"[0-9]+", value), order.setdefault(value, len(order))

    return outline_value([item.facts, item.answer])


def _is_language(key: str, value: Any) -> bool:
    """Return whether a fact is the item's language; that of a program is compared."""
    return key == "language" and isinstance(value, str) and value in {"en", "ru"}
