"""The adapters: one module per format of another tool, discovered in `tasks/exchange/adapters/`.

An adapter has the tool's name `TOOL`. A reader has `fits(source)` and `read(source)`, which yields rows
(`Recorded`), remarks (texts) and what the file states of itself (mappings); one with `ANY` reads what no other
recognises. A writer has the format's name `FORM` and describes its files in `WRITES`, each a text in a line of its
own; its `write(evaluations, folder, run=…)`, called once for a run, returns the files.
"""

import importlib
import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

from basic_control.data.errors import InputError
from basic_control.tasks.exchange import adapters

_CONSTANT = re.compile(r'^(FORM|WRITES) = "(.+)"$', re.MULTILINE)


@cache
def load_adapters() -> tuple[ModuleType, ...]:
    """Return all adapters, by name."""
    names = sorted(info.name for info in pkgutil.iter_modules(adapters.__path__))
    return tuple(importlib.import_module(f"{adapters.__name__}.{name}") for name in names)


def readers() -> list[ModuleType]:
    """Return the adapters that read a format."""
    return [*filter(lambda adapter: hasattr(adapter, "read"), load_adapters())]


def writer(form: str) -> ModuleType:
    """Return the adapter that writes a format.

    Raises:
        InputError: it does not exist.
    """
    if form not in forms():
        raise InputError(
            f"--form {form}: unknown form; expected one of {', '.join(forms())}.{_describe_readable(form)}"
        )
    return {getattr(adapter, "FORM", ""): adapter for adapter in load_adapters()}[form]


def _describe_readable(form: str) -> str:
    """Return that a tool's files are read, but not written; '' of a name that is no tool's."""
    word = _simplify(form)
    for adapter in readers():
        module = adapter.__name__.rpartition(".")[2]
        if word in {_simplify(module), _simplify(adapter.TOOL)}:
            return f" Files of {adapter.TOOL} are read (exchange read, compare, gate), not written."
    return ""


def _simplify(name: str) -> str:
    """Return a tool's name without case, signs and remarks: `LM-Eval` as `lmeval`."""
    return re.sub(r"\(.*\)|[\W_]", "", name).casefold()


def forms() -> Mapping[str, str]:
    """Return the description of each writable format; for a command's help, which imports no adapter."""
    paths = list[Path]()
    for folder in adapters.__path__:
        paths += Path(folder).glob("*.py")
    descriptions: dict[str, str] = {}
    for path in sorted(paths, key=lambda path: path.name):
        constants = dict(_CONSTANT.findall(path.read_text(encoding="utf-8")))
        if "WRITES" in constants:
            descriptions[constants["FORM"]] = constants["WRITES"]
    return descriptions
