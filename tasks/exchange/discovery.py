"""The adapters: one module a form of another tool, found by its being in `tasks/exchange/adapters/`.

An adapter has the tool's name `TOOL`. One that reads has `fits(source)` and `read(source)`,
which yields rows (`Recorded`), remarks (texts) and what the file states of itself (mappings); one with `ANY` reads
what no other knows. One that writes has the form's name `FORM` and says in `WRITES` what its files are, both plain
texts; its `write(evaluations, folder, run=…)`, called once for a run, returns the files.
"""

import ast
import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

from data.errors import InputError
from tasks.exchange import adapters


@cache
def found() -> tuple[ModuleType, ...]:
    """Return all adapters, by name."""
    names = sorted(one.name for one in pkgutil.iter_modules(adapters.__path__))
    return tuple(importlib.import_module(f"{adapters.__name__}.{name}") for name in names)


def readers() -> list[ModuleType]:
    """Return those that read a form."""
    return [one for one in found() if hasattr(one, "read")]


def writer(form: str) -> ModuleType:
    """Return the one that writes a form.

    Raises:
        InputError: there is none.
    """
    if form not in forms():
        raise InputError(f"--form {form}: there is no such form; expected one of {', '.join(forms())}.")
    return next(one for one in found() if form == getattr(one, "FORM", ""))


def forms() -> Mapping[str, str]:
    """Return what the files of each form are that is written; for a command's help, which imports no adapter."""
    there = (path for folder in adapters.__path__ for path in Path(folder).glob("*.py"))
    written: dict[str, str] = {}
    for path in sorted(there, key=lambda path: path.name):
        source, told = path.read_text(encoding="utf-8"), dict[str, str]()
        # The constants of a module, of `A = "a"` and of `A, B = "a", "b"`.
        for node in ast.parse(source).body if "WRITES" in source else ():
            if isinstance(node, ast.Assign):
                names, values = (getattr(one, "elts", [one]) for one in (node.targets[0], node.value))
                pairs = zip(names, values, strict=False)
                told |= {ast.unparse(name): str(one.value) for name, one in pairs if isinstance(one, ast.Constant)}
        if "WRITES" in told:
            written[told["FORM"]] = told["WRITES"]
    return written
