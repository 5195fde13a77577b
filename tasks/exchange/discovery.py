"""The adapters: one module per format of another tool, discovered in `tasks/exchange/adapters/`.

An adapter has the tool's name `TOOL`, `fits(source)`, and `read(source)`, which yields rows (`Recorded`), remarks
(texts) and what the file states of itself (mappings); one with `ANY` reads what no other recognises.
"""

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from basic_control.tasks.exchange import adapters


@cache
def load_adapters() -> tuple[ModuleType, ...]:
    """Return all adapters, by name."""
    names = sorted(info.name for info in pkgutil.iter_modules(adapters.__path__))
    return tuple(importlib.import_module(f"{adapters.__name__}.{name}") for name in names)
