"""The adapters: one module a form of another tool, found by its being in `tasks/exchange/adapters/`.

An adapter has the tool's name `TOOL` and the form's `FORM`. One that reads has `fits(source)` and `read(source)`,
which yields rows (`Recorded`), remarks (texts) and what the file states of itself (mappings); one with `ANY` reads
what no other knows. One that writes says in `WRITES`, a plain text in a line, what its files are, and has
`write(evaluation, folder, run=…, cells=…)`, which returns them.
"""

import importlib
import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

from tasks.exchange import adapters

_WRITES = re.compile('^FORM = "(.+)"\n(?:.*\n)*?WRITES = "(.+)"$', re.MULTILINE)


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


def forms() -> Mapping[str, str]:
    """Return what the files of each form are that is written; for a command's help, which imports no adapter."""
    files = sorted(path for folder in adapters.__path__ for path in Path(folder).glob("*.py"))
    return dict(told for path in files for told in _WRITES.findall(path.read_text(encoding="utf-8")))
