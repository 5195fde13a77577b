"""Discovery: a unit is the `UNIT` of a module in its package, or an entry point of another distribution."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import TypeVar

from data.errors import InputError
from data.records import Family, Metric

Unit = TypeVar("Unit", Family, Metric)


def _candidates(package: str) -> Iterator[tuple[str, object]]:
    """Yield (origin, object) of each unit that stands in the package or is registered for it."""
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if not module.name.startswith("_"):
            loaded = importlib.import_module(f"{package}.{module.name}")
            if hasattr(loaded, "UNIT"):
                yield f"{package}/{module.name}.py", loaded.UNIT
    for point in entry_points(group=f"basic_control.{package}"):
        origin = f"entry point {point.name} = {point.value}"
        try:
            yield origin, point.load()
        except Exception as error:
            raise InputError(
                f"{origin}: cannot be loaded ({type(error).__name__}: {error}). "
                "Fix or uninstall the distribution that registers it."
            ) from error


def discover(package: str, kind: type[Unit]) -> Mapping[str, Unit]:
    """Find every unit of a package, by name, in alphabetical order.

    Raises:
        InputError: an object of another type, or two units of one name; each with where it came from.
    """
    units: dict[str, Unit] = {}
    origins: dict[str, str] = {}
    for origin, unit in _candidates(package):
        if not isinstance(unit, kind):
            raise InputError(f"{origin}: expected UNIT to be a {kind.__name__}, found {type(unit).__name__}.")
        if unit.name in units:
            raise InputError(
                f"two units are named {unit.name!r}: {origins[unit.name]} and {origin}. Rename or remove one."
            )
        units[unit.name], origins[unit.name] = unit, origin
    return MappingProxyType(dict(sorted(units.items())))


@cache
def families() -> Mapping[str, Family]:
    """Return all families, by name."""
    return discover("generators", Family)


@cache
def metrics() -> Mapping[str, Metric]:
    """Return all metrics, by name."""
    return discover("metrics", Metric)


def family(name: str) -> Family:
    """Return the family of that name or seed id.

    Raises:
        InputError: there is none; the message lists what there is.
    """
    known = families()
    for unit in known.values():
        if name in {unit.name, unit.seed_id}:
            return unit
    raise InputError(
        f"unknown family {name!r}: expected one of {', '.join(known)} (or a seed id such as t01_simple_logic)."
    )
