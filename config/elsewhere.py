"""Find the keys of a configuration that have a name, at whatever level, for one written at a wrong one."""

from collections.abc import Iterator
from typing import Any, get_args

from basic_control.config.settings import Settings
from basic_control.data.draw import Sampling

PREFIXES = {"models": "models.0", "judges": "judges.0", "suites": "SUITE"}
"""How a key of an entry of these lists begins in an assignment."""
ITEMS = ("loader", "data", "columns")
"""The options of a suite's items that most loaders declare, beside those of a draw."""
MOST = 4
"""The most keys that are returned, for a message."""


def list_keys_named(name: str) -> list[str]:
    """Return the dotted keys below the top of a configuration that end in `name`, such as `models.0.seed`."""
    keys = [f"SUITE.items.{option}" for option in ITEMS]
    keys.extend(f"SUITE.items.sample.{field}" for field in Sampling.model_fields)
    for section, field in Settings.model_fields.items():
        keys.extend(_list_below(field.annotation, PREFIXES.get(section, section)))
    matches = [key for key in keys if key.endswith(f".{name}")]
    return matches[:MOST]


def _list_below(annotation: Any, prefix: str) -> Iterator[str]:
    """Yield the dotted keys of the models in an annotation."""
    # A model has fields; a union or a tuple has parts that may be models.
    for part in get_args(annotation):
        yield from _list_below(part, prefix)
    for name, field in getattr(annotation, "model_fields", {}).items():
        yield f"{prefix}.{name}"
        yield from _list_below(field.annotation, f"{prefix}.{name}")


def explain_level(name: str) -> str:
    """Return a sentence that says where a key of that name is; '' if it is nowhere below the top."""
    keys = list_keys_named(name)
    if not keys:
        return ""
    return f" {name!r} is a key further down: {', '.join(keys)}."
