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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from basic_control.data.errors import InputError
from basic_control.data.plugins import Plugin, Unit, cache_until_forgotten, find_unit, folders, origin
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
    unit = find_unit(kind, name)
    return UnitIdentity(unit.name, unit.version, _source(kind, unit.name))


def load_unit(kind: type[Unit], expected: UnitIdentity) -> Unit:
    """Return a unit whose version and source are the expected ones.

    Raises:
        InputError: this process has loaded another version or source of it, or has none.
    """
    actual = identity_of(kind, expected.name)
    if actual != expected:
        raise InputError(
            f"{expected.name}: this worker has version {actual.version}, source {actual.source}; the run was "
            f"started with version {expected.version}, source {expected.source}. Give all workers the same code, "
            "and restart them."
        )
    return find_unit(kind, expected.name)


def verifier_of(family: Family) -> UnitIdentity:
    """Return the identity of a family's verifier, which has a separate version."""
    return UnitIdentity(family.name, family.verifier_version, _source(Family, family.name))


@cache_until_forgotten
def _source(kind: Any, name: str) -> str:
    unit = find_unit(kind, name)
    places = [*RULES]
    if getattr(unit, "program", None) or getattr(unit, "programs", None):
        places.append(SANDBOX)
    return _hash_text(f"{digest_of(*places)} {plugin_source(kind, name)}")


@cache_until_forgotten
def plugin_source(kind: Any, name: str) -> str:
    """Hash a plug-in's unit with the files that its modules import or name; '' for a unit of ours."""
    unit_origin = origin(kind, name)
    if unit_origin.home is None:
        return ""
    files = list_source_files(unit_origin.path, unit_origin.home)
    return _hash_files(files, unit_origin.path.parent)


def _hash_files(files: Iterable[Path], folder: Path) -> str:
    """Hash files with their paths from a folder."""
    return _hash_text("\n".join(f"{_path_from(path, folder)} {digest_file(path)}" for path in files))


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _path_from(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


@cache
def digest_of(*names: str) -> str:
    """Hash all files of some of our folders, or single files, as they are when the process first asks."""
    files: list[Path] = []
    for name in names:
        files += filter(Path.is_file, (TOP / name, *(TOP / name).rglob("*")))
    # Bytecode is left out, and what editors and systems leave beside sources.
    sources = sorted(path for path in files if path.suffix != ".pyc" and not path.name.startswith("."))
    return _hash_files(sources, TOP)


def digest_file(path: Path) -> str:
    """Return a file's SHA-256; '' if there is none, as for a module in an archive."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def digest_option_files(options: Any) -> tuple[str, ...]:
    """Return the digests of the files whose paths are values of a unit's options."""
    if isinstance(options, Mapping):
        options = tuple(options.values())
    if isinstance(options, list | tuple):
        return tuple(chain.from_iterable(map(digest_option_files, options)))
    if not isinstance(options, str) or "\0" in options:
        return ()
    # Most texts are no paths; no file has the digest ''.
    return tuple(filter(None, [digest_file(Path(options))]))


def list_source_files(module: Path, home: Plugin) -> list[Path]:
    """Return the file of a plug-in's module, and those that it imports or names, also indirectly.

    Raises:
        InputError: Python finds another plug-in's module by a name that it imports.
    """
    homes = {module: home}
    due = [module]
    while due:
        path = due.pop()
        owner = homes[path]
        files: dict[Path, Plugin] = {}
        if path.suffix == ".py":
            files, words = _read_module(path, owner)
        else:
            words = _read_template(path)
        # What a module may name is taken for named: to compute something again costs less than an old result.
        files |= {file: owner for file, names in _list_files(owner).items() if not words.isdisjoint(names)}
        due += files.keys() - homes.keys()
        homes = files | homes
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
                files |= _find_imported(alias.name, home)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = ".".join(filter(None, [node.module, alias.name]))
                if node.level:  # `from . import` has one
                    files |= _find_modules(path.parents[node.level - 1], name, home)
                else:
                    files |= _find_imported(name, home)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words |= _words_of(node.value)
            if imports_by_name and node.value.replace(".", "").isidentifier():
                files |= _find_imported(node.value, home)
    return files, frozenset(words)


def _read_template(path: Path) -> frozenset[str]:
    """Return the file names of the templates that a template includes."""
    if path.suffix != ".j2":
        return frozenset()
    text = path.read_text("utf-8", "replace")
    return frozenset(name.rpartition("/")[2] for name in _INCLUDED.findall(text))


def _find_imported(name: str, home: Plugin) -> dict[Path, Plugin]:
    """Return the files of a module that a plug-in imports by its full name, of its own or of another plug-in."""
    top, _, inner = name.partition(".")
    if top == "basic_control" or (home.folder == TOP and (TOP / top / "__init__.py").is_file()):
        return {}
    if home.names is not None:
        return _find_modules(home.folder, name, home)
    if top == home.folder.name and inner:  # `plugins.helper`, from where the run starts
        return _find_modules(home.folder, inner, home)
    searched = [*map(Plugin, folders()), home]  # in the order of sys.path
    holders = [plugin for plugin in searched if _find_modules(plugin.folder, name, plugin)]
    if home in holders and holders[0] != home:
        raise InputError(
            f"plug-ins: `import {top}` in {home.folder} finds the module of {holders[0].folder}, not its own. "
            "Rename one."
        )
    if not holders:
        return {}
    return _find_modules(holders[0].folder, name, holders[0])


def _find_modules(folder: Path, name: str, home: Plugin) -> dict[Path, Plugin]:
    """Return the files of a module below a folder, and of the packages around it."""
    files = {}
    for part in name.split("."):
        folder /= part
        for path in (folder.with_name(f"{part}.py"), folder / "__init__.py"):
            if path in _list_files(home):
                files[path] = home
    return files


@cache_until_forgotten
def _list_files(home: Plugin) -> Mapping[Path, frozenset[str]]:
    """Return the code and texts in a plug-in's folder with the words that name them, without what runs write."""
    files = set[Path]()
    # A distribution shares its folder with all others: only its own names in it are searched.
    tops = [home.folder]
    if home.names is not None:
        tops = [home.folder / name for name in home.names]
        files |= set(filter(Path.is_file, [top.with_name(f"{top.name}.py") for top in tops]))
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
    words = {text, last, ""}
    ending = _ENDING.search(last)
    if ending:
        words.add(f"*{ending[1]}")
    return frozenset(words)


def _names_of(path: Path, folder: Path) -> frozenset[str]:
    """Return the words that name a file: its name, its ending, its folders, a template below a language."""
    language, *below = path.relative_to(folder).parts
    template = "/".join(below).removesuffix(".j2") or language
    return frozenset({path.name, f"*{path.suffix}", language, *below[:-1], template})
