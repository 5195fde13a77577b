"""Identity of a unit: its name, its version, and the hash of its source with all its imports.

The source is read, never run: the unit's module, every module of ours or of the same plug-in that it imports, also
indirectly and inside functions, and the files next to them that they name (texts, prompts, schemas). Whether
something must be recomputed depends on this alone.
"""

import ast
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from data.errors import InputError
from data.plugins import Plugin, Unit, find, folders, origin, remembered
from data.records import Family

TOP = Path(__file__).parents[1]
"""The folder of our own packages."""
TEMPLATES = TOP / "prompts"
"""The folder of templates that a unit names, whichever module renders them."""
UNREAD = frozenset({"phrases.yaml"})
"""Modules that only affect reports, on which no result depends."""

# Import statements hold neither strings nor nested brackets, so patterns find every one. Parsing the same files
# takes thirty times as long, and a run reads about a hundred of them before it asks anything.
_GAP = r"(?:[ \t\f]|\\\r?\n)"
_IMPORT = re.compile(r"import\b")
_BEFORE = re.compile(rf"(?:^|[:;]){_GAP}*(?:from{_GAP}*(?P<module>[.\w](?:[.\w]|{_GAP})*?){_GAP}*)?\Z")
_AFTER = re.compile(rf"{_GAP}*(?:\((?:[^()#]|#.*)*\)|(?:\\\r?\n|[^\n;#(])+)")
_BETWEEN = re.compile(r"#.*|\\\r?\n|[()]")
_BY_NAME = re.compile(r"(?:import_module|__import__)\(\s*[\"'](?P<module>\w[.\w]*)[\"']")
_LITERAL = re.compile(r"[\"'}*]/?([\w. -]+(?:/[\w. -]+)*(?:/(?=[{\"'])|(?=[\"'])))")
_DOCSTRING = 2000
"""Minimum size in bytes of an `__init__.py` with more than a docstring."""
_LISTS = ("glob(", "iterdir(", "scandir(", "listdir(", "walk(")
_LANGUAGE = re.compile(r"[a-z]{2}(?:[-_][A-Za-z]+)?")
_CODE = frozenset({".py", ".pyc", ".pyi", *EXTENSION_SUFFIXES})


@dataclass(frozen=True, slots=True)
class UnitIdentity:
    """What a unit's results depend on, besides its options and inputs; `source` is 16 hex digits."""

    name: str
    version: int
    source: str


@dataclass(frozen=True, slots=True)
class Module:
    """A module by its full name and its file; `home` is its plug-in, None for ours."""

    name: str
    path: Path
    home: Plugin | None = None


@dataclass(frozen=True, slots=True)
class _Source:
    """The content of a module's file: its imports (level, module, names), and its quoted words.

    `lists`: it lists folders, so that every file of a folder it names counts.
    """

    imports: tuple[tuple[int, str, tuple[str, ...]], ...]
    literals: frozenset[str]
    lists: bool


def identity_of(kind: type[Unit], name: str) -> UnitIdentity:
    """Return the identity of the unit of that name.

    Raises:
        InputError: there is none.
    """
    unit = find(kind, name)
    return UnitIdentity(unit.name, unit.version, _hash(kind, unit.name))


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
    return UnitIdentity(family.name, family.verifier_version, _hash(Family, family.name))


@remembered
def _hash(kind: Any, name: str) -> str:
    return source_of(_module(kind, name))


@remembered
def plugin_source(kind: Any, name: str) -> str:
    """Hash a plug-in's unit with what it imports of the plug-in; '' for a unit of ours."""
    module = _module(kind, name)
    return source_of(module, lambda one: one.home is not None) if module.home else ""


def _module(kind: Any, name: str) -> Module:
    found = origin(kind, name)
    return Module(found.module, found.path, found.home)


def source_of(module: Module, counts: Callable[[Module], bool] = lambda _module: True) -> str:
    """Hash a module with all relevant imports; where their folders are does not matter."""
    top = module.path.parent
    told = sorted(f"{_place(path, top)} {_digest(path)}" for path in files_of(module, counts))
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


def _place(path: Path, top: Path) -> str:
    """Return the place of a file among ours, or else from a unit's folder."""
    return os.path.relpath(path, TOP if path.is_relative_to(TOP) else top)


def files_of(module: Module, counts: Callable[[Module], bool] = lambda _module: True) -> list[Path]:
    """Return the files of a module, its imports, and the other files that they read."""
    found = {module.path: module}
    due = [module]
    while due:
        for one in _imported(due.pop()):
            if one.path not in found and counts(one):
                found[one.path] = one
                due.append(one)
    code = [path for path, one in found.items() if counts(one) and _says_something(path)]
    return sorted({*code, *_files_named(code)})


def digest(path: Path) -> str:
    """Return a file's SHA-256; '' if there is none, as for a module in an archive."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


_digest = remembered(digest)


def named_in(options: Any) -> tuple[str, ...]:
    """Return the digests of the files whose paths are values of a unit's options."""
    if isinstance(options, Mapping | list | tuple):
        values = options.values() if isinstance(options, Mapping) else options
        return tuple(found for one in values for found in named_in(one))
    found = digest(Path(options)) if isinstance(options, str) and "\0" not in options else ""
    return (found,) if found else ()


@remembered
def _read(path: Path) -> _Source:
    """Read a module's file; a compiled one has no content."""
    text = path.read_text("utf-8", "replace") if path.suffix == ".py" and path.is_file() else ""
    imports = [*_imports(text)]
    if "import_module" in text or "__import__" in text:
        imports += [(0, match["module"], ()) for match in _BY_NAME.finditer(text)]
    return _Source(tuple(imports), frozenset(_LITERAL.findall(text)), any(one in text for one in _LISTS))


def _imports(text: str) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield a source's imports: level, module, and names; false matches do no harm."""
    for found in _IMPORT.finditer(text):
        start = text.rfind("\n", 0, found.start()) + 1
        while text.endswith(("\\\n", "\\\r\n"), 0, start):
            start = text.rfind("\n", 0, start - 1) + 1
        before, after = _BEFORE.search(text[start : found.start()]), _AFTER.match(text, found.end())
        if before and after:
            listed = _BETWEEN.sub(" ", after[0]).split(",")  # a as b, c
            names = tuple(words[0] for one in listed if (words := one.split()))
            if before["module"]:
                module = re.sub(_GAP, "", before["module"])
                absolute = module.lstrip(".")
                yield len(module) - len(absolute), absolute, names
            else:
                yield from ((0, name, ()) for name in names)


@remembered
def _says_something(path: Path) -> bool:
    """Return whether a file is more than a package's docstring."""
    if path.name != "__init__.py" or path.stat().st_size > _DOCSTRING:
        return True
    try:
        body = ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError):
        return True
    return not all(isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) for one in body)


@remembered
def _imported(module: Module) -> tuple[Module, ...]:
    package = module.name.split(".")
    if module.path.name != "__init__.py":
        package.pop()
    wanted: dict[str, None] = {}
    for level, name, names in _read(module.path).imports:
        start = package[: len(package) + 1 - level] if level else []
        parts = [*start, *filter(None, name.split("."))]
        wanted |= {".".join(parts[:n]): None for n in range(1, len(parts) + 1)}
        wanted |= {".".join([*parts, one]): None for one in names}
    there = (_located(name, module.home) for name in wanted)
    return tuple(one for one in there if one is not None)


@remembered
def _located(name: str, home: Plugin | None) -> Module | None:
    """Return the module of that name, ours or the plug-in's; None for third-party modules."""
    *parents, last = name.split(".")
    top = parents[0] if parents else last
    if "__init__.py" in _entries(f"{TOP}/{top}"):
        home = None
    elif home is None or (home.names is not None and top not in home.names):
        return None
    folder = "/".join([str(_base(top, home) if home else TOP), *parents])
    entries = _entries(folder)
    if last in entries and "__init__.py" in _entries(f"{folder}/{last}"):
        return Module(name, Path(folder, last, "__init__.py"), home)
    there = (f"{last}{ending}" for ending in (".py", *EXTENSION_SUFFIXES))
    file = next((one for one in there if one in entries), None)
    return Module(name, Path(folder, file), home) if file else None


@remembered
def _base(top: str, home: Plugin) -> Path:
    """Return the folder in which Python finds a plug-in's top-level module: its own, or another plug-in's.

    Raises:
        InputError: it has a module of that name, but Python imports another plug-in's.
    """
    try:
        spec = find_spec(top)
    except ValueError:  # __main__ has none
        spec = None
    places = (
        [*(spec.submodule_search_locations or ()), *([spec.origin] if spec.has_location else ())] if spec else []
    )
    base = Path(str(places[0])).parent.resolve() if places else home.folder
    if base / top == home.folder:  # `plugins.helper`, from where the run starts
        return base
    if base == home.folder or base not in folders():
        return home.folder
    if not _entries(str(home.folder)).isdisjoint({top, f"{top}.py"}):
        raise InputError(
            f"plug-ins: `import {top}` in {home.folder} finds the module of {base}, not its own. Rename one."
        )
    return base


@remembered
def _entries(folder: str) -> frozenset[str]:
    """Return the names in a folder; empty if there is no such folder."""
    try:
        return frozenset(os.listdir(folder))  # noqa: PTH208 - a path for each of thousands takes far longer
    except OSError:
        return frozenset()


def _files_named(code: Iterable[Path]) -> Iterator[Path]:
    """Yield the non-code files next to modules that these name in one of the ways of `names_of`.

    All files count of a folder that is named with a slash (`claims/`), or named by a module that lists folders.
    Those of a plug-in count by their ending alone (`f"{language}.txt"`, `"*.txt"`); ours have names or a folder.
    """
    read = {path: _read(path) for path in code}
    literals = frozenset[str]().union(*(one.literals for one in read.values()))
    whole_folders = tuple(one for one in literals if one.endswith("/"))
    for folder in {TEMPLATES, *(path.parent for path in read)}:
        own = [one for path, one in read.items() if path.parent == folder]
        listed = frozenset[str]().union(*(one.literals for one in own if one.lists))
        endings = frozenset[str]().union(*(one.literals for one in own if not folder.is_relative_to(TOP)))
        for below in ("", *_folders(folder)):
            if below and not (below in literals or _LANGUAGE.fullmatch(below)):
                continue
            for path, names in _files(folder, below):
                beside = path.suffix in literals and path.with_suffix(".py") in read  # it has a module's name
                named = any(n in literals or n.startswith(whole_folders) for n in names)
                if below in listed or beside or named or path.suffix in endings:
                    yield path


@remembered
def _folders(folder: Path) -> tuple[str, ...]:
    """Return the names of a folder's subfolders that hold no package."""
    named = (name for name in _entries(str(folder)) if not name.startswith((".", "__")))
    inside = {name: _entries(f"{folder}/{name}") for name in named if Path(name).suffix not in _CODE}
    return tuple(sorted(name for name, there in inside.items() if there and "__init__.py" not in there))


@remembered
def _files(folder: Path, below: str) -> tuple[tuple[Path, frozenset[str]], ...]:
    """Return the non-code files in a folder and below its subfolders, with all their names."""
    inside = (folder / below).rglob("*") if below else (folder / name for name in _entries(str(folder)))
    wanted = (path for path in inside if path.suffix not in _CODE and path.name not in UNREAD and path.is_file())
    return tuple((path, frozenset(names_of(path, folder))) for path in wanted)


def names_of(path: Path, folder: Path) -> Iterator[str]:
    """Yield each text by which a module in a folder may name a file in or below that folder."""
    parts = path.relative_to(folder).parts
    yield path.name  # file name: "split.j2"
    yield "/".join(parts)  # path: "en/claims/split.j2"
    if len(parts) > 1:
        yield "/".join(parts[1:])  # path below the first folder: "claims/split.j2"
    for n, part in enumerate(parts[:-1], 1):
        if _LANGUAGE.fullmatch(part):
            yield "/".join(parts[n:]).removesuffix(path.suffix)  # path below a language: "claims/split"
