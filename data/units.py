"""Identity of a unit: its name, its version, and the hash of the code and texts that its results depend on.

A unit of ours depends on the rooms of rules as a whole, and on the sandbox if it runs programs; a plug-in's besides
on its own module, and on the `.py` and text files of its folder that its modules import or name. Files are read,
never run. Whether something must be recomputed depends on this alone.

Source: SPEC 15.
"""

import ast
import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from basic_control.data.errors import InputError
from basic_control.data.plugins import Plugin, Unit, cache_until_forgotten, find, folders, origin
from basic_control.data.records import Family

TOP = Path(__file__).parents[1]
"""The folder of our own packages."""
RULES = ("generators", "metrics", "prompts", "data")
"""The rooms of rules."""
SANDBOX = "tasks/sandbox"
_READ = frozenset({".py", ".txt", ".md", ".j2", ".yaml", ".yml", ".toml"})
"""Endings of a plug-in's code and texts; other files may be data, or what a run writes."""
_UNREAD = frozenset({"artifacts", "node_modules", "__pycache__"})
_RUN = "manifest.json"
"""The file that is in each run's folder."""
_ENDING = re.compile(r"(?:^|[^\w.])(\.\w+)$")  # of "*.txt", and of the ".txt" in f"{language}.txt"
_INCLUDED = re.compile(
    r"""\{%-?\s*(?:include|import|from|extends)\s+["']([^"']+)"""
)  # {% include "tone/part.j2" %}


@dataclass(frozen=True, slots=True)
class UnitIdentity:
    """What a unit's results depend on, besides its options and inputs; `source` is 16 hex digits."""

    name: str
    version: int
    source: str


def identity_of(kind: type[Unit], name: str) -> UnitIdentity:
    """Return the identity of the unit of that name.

    Raises:
        InputError: there is none.
    """
    unit = find(kind, name)
    return UnitIdentity(unit.name, unit.version, _source(kind, unit.name))


def loaded(kind: type[Unit], known: UnitIdentity) -> Unit:
    """Return a unit whose version and source are the known ones.

    Raises:
        InputError: this process has loaded another version or source of it, or has none.
    """
    if (here := identity_of(kind, known.name)) != known:
        raise InputError(
            f"{known.name}: this worker has version {here.version}, source {here.source}; the run was started with "
            f"version {known.version}, source {known.source}. Give all workers the same code, and restart them."
        )
    return find(kind, known.name)


def verifier_of(family: Family) -> UnitIdentity:
    """Return the identity of a family's verifier, which has a separate version."""
    return UnitIdentity(family.name, family.verifier_version, _source(Family, family.name))


@cache_until_forgotten
def _source(kind: Any, name: str) -> str:
    unit = find(kind, name)
    runs_programs = bool(getattr(unit, "program", None) or getattr(unit, "programs", None))
    return _short(f"{digest_of(*RULES, *([SANDBOX] if runs_programs else []))} {plugin_source(kind, name)}")


@cache_until_forgotten
def plugin_source(kind: Any, name: str) -> str:
    """Hash a plug-in's unit with the files that its modules import or name; '' for a unit of ours."""
    unit_origin = origin(kind, name)
    if unit_origin.home is None:
        return ""
    files = files_of(unit_origin.path, unit_origin.home)
    return _short("\n".join(f"{_path_from(path, unit_origin.path.parent)} {digest(path)}" for path in files))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _path_from(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


@cache
def digest_of(*places: str) -> str:
    """Hash all files of some of our folders, or single files, as they are when the process first asks."""
    files = [path for place in places for path in (TOP / place, *(TOP / place).rglob("*")) if path.is_file()]
    # Bytecode is left out, and what editors and systems leave beside sources.
    sources = sorted(path for path in files if path.suffix != ".pyc" and not path.name.startswith("."))
    return _short("\n".join(f"{_path_from(path, TOP)} {digest(path)}" for path in sources))


def digest(path: Path) -> str:
    """Return a file's SHA-256; '' if there is none, as for a module in an archive."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def named_in(options: Any) -> tuple[str, ...]:
    """Return the digests of the files whose paths are values of a unit's options."""
    if isinstance(options, Mapping | list | tuple):
        values = options.values() if isinstance(options, Mapping) else options
        return tuple(chain.from_iterable(map(named_in, values)))
    content = digest(Path(options)) if isinstance(options, str) and "\0" not in options else ""
    return (content,) if content else ()


def files_of(module: Path, home: Plugin) -> list[Path]:
    """Return the file of a plug-in's module, and those that it imports or names, also indirectly.

    Raises:
        InputError: Python finds another plug-in's module by a name that it imports.
    """
    homes = {module: home}
    due = [module]
    while due:
        path = due.pop()
        owner = homes[path]
        files, words = _read_module(path, owner) if path.suffix == ".py" else ({}, _read_template(path))
        files |= {file: owner for file, names in _files(owner).items() if not words.isdisjoint(names)}
        fresh = {file: plugin for file, plugin in files.items() if file not in homes}
        homes |= fresh
        due += fresh
    return sorted(homes)


def _read_module(path: Path, home: Plugin) -> tuple[dict[Path, Plugin], frozenset[str]]:
    """Return the plug-ins' files that a module imports, and the words by which it may name a file."""
    try:
        code = path.read_bytes()
        tree = ast.parse(code)
    except (OSError, SyntaxError, ValueError):
        return {}, frozenset()
    imports_by_name = b"import_module" in code or b"__import__" in code
    files: dict[Path, Plugin] = {}
    words: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                files |= _imported(alias.name, home)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = ".".join(filter(None, [node.module, alias.name]))
                files |= _modules(path.parents[node.level - 1], name, home) if node.level else _imported(name, home)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words |= _words_of(node.value)
            if imports_by_name and node.value.replace(".", "").isidentifier():
                files |= _imported(node.value, home)
    return files, frozenset(words)


def _read_template(path: Path) -> frozenset[str]:
    """Return the file names of the templates that a template includes."""
    text = path.read_text("utf-8", "replace") if path.suffix == ".j2" else ""
    return frozenset(name.rpartition("/")[2] for name in _INCLUDED.findall(text))


def _imported(name: str, home: Plugin) -> dict[Path, Plugin]:
    """Return the files of a module that a plug-in imports by its full name, of its own or of another plug-in."""
    top, _, inner = name.partition(".")
    if top == "basic_control" or (home.folder == TOP and (TOP / top / "__init__.py").is_file()):
        return {}
    if home.names is not None:
        return _modules(home.folder, name, home)
    if top == home.folder.name and inner:  # `plugins.helper`, from where the run starts
        return _modules(home.folder, inner, home)
    searched = [*map(Plugin, folders()), home]  # in the order of sys.path
    holders = [plugin for plugin in searched if _modules(plugin.folder, name, plugin)]
    if home in holders and holders[0] != home:
        raise InputError(
            f"plug-ins: `import {top}` in {home.folder} finds the module of {holders[0].folder}, not its own. "
            "Rename one."
        )
    return _modules(holders[0].folder, name, holders[0]) if holders else {}


def _modules(folder: Path, name: str, home: Plugin) -> dict[Path, Plugin]:
    """Return the files of a module below a folder, and of the packages around it."""
    files = {}
    for part in name.split("."):
        folder /= part
        for path in (folder.with_name(f"{part}.py"), folder / "__init__.py"):
            if path in _files(home):
                files[path] = home
    return files


@cache_until_forgotten
def _files(home: Plugin) -> Mapping[Path, frozenset[str]]:
    """Return the code and texts in a plug-in's folder with the words that name them, without what runs write."""
    files = set[Path]()
    names = [""] if home.names is None else [*home.names, *(f"{name}.py" for name in home.names)]
    tops = [home.folder / name for name in names]
    files |= {top for top in tops if top.suffix == ".py" and top.is_file()}
    for top in tops:
        for folder, inner, entries in os.walk(top):
            if _RUN in entries and Path(folder) != top:
                inner.clear()
                continue
            inner[:] = [name for name in inner if name not in _UNREAD and not name.startswith(".")]
            files |= {Path(folder, entry) for entry in entries if Path(entry).suffix in _READ}
    return {path: _names_of(path, home.folder) for path in files}


def _words_of(text: str) -> frozenset[str]:
    """Return the words by which a string in a module may name files: a path, a file's name, an ending, a folder."""
    last = text.rstrip("/").rpartition("/")[2]
    ending = _ENDING.search(last)
    return frozenset({text, last, f"*{ending[1]}" if ending else ""})


def _names_of(path: Path, folder: Path) -> frozenset[str]:
    """Return the words that name a file: its name, its ending, its folders, a template below a language."""
    language, *below = path.relative_to(folder).parts
    template = "/".join(below).removesuffix(".j2") or language
    return frozenset({path.name, f"*{path.suffix}", language, *below[:-1], template})
