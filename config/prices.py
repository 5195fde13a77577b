"""The price table: what models cost, in a separate dated file."""

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from basic_control.data.options import Frozen, Number


class Prices(Frozen):
    """The price table in use and its date; the prices themselves are in the models' own keys."""

    file: str = Field(description="the YAML file of the table")
    date: dt.date = Field(description="the day on which its prices were valid")
    currency: str = Field(min_length=1, description="of its prices")
    stale_after_days: int = Field(90, ge=1, description="reports point out an older table")

    def age(self, today: dt.date) -> int:
        """Return the table's age in days if it is stale, else 0."""
        days = (today - self.date).days
        return days if days > self.stale_after_days else 0


class _Price(Frozen):
    """Prices of 1 000 000 tokens of one model: a model entry's keys, by their names in the table."""

    price_in: Number = Field(ge=0, alias="input")
    price_out: Number = Field(ge=0, alias="output")
    price_cached: Number | None = Field(None, ge=0, alias="cached_input")
    price_thinking: Number | None = Field(None, ge=0, alias="reasoning")


class _Table(Prices):
    models: dict[str, _Price]


KEYS = tuple(_Price.model_fields)
"""A model entry's price keys."""


def fill_prices(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with its price table's file read and the prices of each listed model filled in.

    A model is matched exactly by the server's name for it; an entry with its own price keeps that.

    Raises:
        ValueError: the file cannot be read, or is not a table.
    """
    file = raw.get("prices")
    if not isinstance(file, str) or not file:
        return {key: value for key, value in raw.items() if key != "prices" or value}
    # Each entry has its own prices from here on: what has run is priced alike, whatever becomes of the file.
    table = _read_table(file)
    configuration = {**raw, "prices": table.model_dump(exclude={"models"})}
    for kind in ("models", "judges"):
        entries = raw.get(kind)
        if isinstance(entries, list):
            configuration[kind] = [_add_prices(table, entry) for entry in entries]
    return configuration


def _add_prices(table: _Table, entry: Any) -> Any:
    if not isinstance(entry, Mapping):  # pydantic reports the error
        return entry
    return {**entry, **_find_prices(table, entry)}


def _find_prices(table: _Table, entry: Mapping[str, Any]) -> dict[str, float]:
    """Return a table's price keys for an entry without its own price."""
    price = table.models.get(str(entry.get("model") or entry.get("name")))
    has_price = entry.get("price_in") is not None or entry.get("price_out") is not None
    if price is None or has_price:
        return {}
    return price.model_dump(exclude_none=True)


def _read_table(file: str) -> _Table:
    try:
        document = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
        if isinstance(document, dict):
            if "file" in document:
                raise ValueError(f"prices: {file}: file: unexpected key in the table itself; remove it")
            document["file"] = file
        return _Table.model_validate(document)
    except OSError as error:
        raise ValueError(
            f"prices: cannot read {file} ({error.strerror}); paths are relative to where the run starts"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        what = getattr(error, "problem", None) or type(error).__name__
        raise ValueError(f"prices: {file} is not valid YAML ({what})") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise ValueError(
            f"prices: {file}: {where}: {first['msg']}; expected `date`, `currency` and `models`, each with `input` "
            "and `output` for 1 000 000 tokens (and `cached_input`, `reasoning`)"
        ) from error
