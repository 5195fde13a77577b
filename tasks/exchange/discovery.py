"""The adapters: one module a form of another tool, found by its being in `tasks/exchange/adapters/`.

An adapter has the tool's name `TOOL` and the form's `FORM`. One that reads has `fits(source)` and `read(source)`,
which returns a `Log`; one with `ANY` reads what no other knows. One that writes has
`write(evaluation, folder, run=…, cells=…)`, which returns the files.
"""

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from tasks.exchange import adapters


@cache
def found() -> tuple[ModuleType, ...]:
    """Return all adapters, by name."""
    names = sorted(one.name for one in pkgutil.iter_modules(adapters.__path__))
    return tuple(importlib.import_module(f"{adapters.__name__}.{name}") for name in names)


def readers() -> list[ModuleType]:
    """Return those that read a form."""
    return [one for one in found() if hasattr(one, "read")]


def writers() -> dict[str, ModuleType]:
    """Return those that write a form, by its name."""
    return {one.FORM: one for one in found() if hasattr(one, "write")}
