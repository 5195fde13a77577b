"""Discovery of units: the decorated functions of a file in its folder, of a plug-in's file, or of an entry point.

Families, metrics, loaders and providers are found alike (`data.decorators`). A file may have them as its `UNIT`, or
as `UNITS`, a sequence, instead.
"""

import hashlib
import importlib
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from basic_control.data import aliases
from basic_control.data.equivalents import explain_equivalent
from basic_control.data.errors import InputError, propose_name
from basic_control.data.records import Family, Loader, Metric, Provider

FOLDERS: Mapping[type, str] = {
    Family: "basic_control.generators",
    Metric: "basic_control.metrics",
    Loader: "basic_control.data.loaders",
    Provider: "basic_control.tasks.models.providers",
}
"""Packages of the project's own units; the last part names their entry points, `basic_control.<part>`."""
VARIABLE = "BASIC_CONTROL_PLUGINS"
"""Files and folders of plug-ins, inherited by the run's worker processes."""
Unit = TypeVar("Unit", Family, Metric, Loader, Provider)
Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
# A module that defines its units: `UNIT = Family(…`, or a decorated function, `@metric(version=2)`.
_HOLDS_UNITS = re.compile(rb"^(?:UNITS?|@(?:metric|family|loader|provider))\b", re.MULTILINE)
_REMEMBERED: list[Callable[[], None]] = []
_DECLARED: dict[str, list[Any]] = {}
"""Units made by decorators, by the module of their function."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plug-in: the folder of its modules, and its top-level names; None if all names in it are its own."""

    folder: Path
    names: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class UnitOrigin:
    """Where a unit comes from, for messages; its module and file, and the plug-in that these belong to."""

    description: str
    module: str
    path: Path
    home: Plugin | None = None


Located = tuple[UnitOrigin, Any]
"""A unit (or an invalid object), and where it comes from."""


def use(paths: Iterable[str | Path]) -> None:
    """Add plug-ins from these files and folders, in this process and its children.

    Raises:
        InputError: one is not there, or a file of it cannot be loaded.
    """
    resolved = [Path(path).expanduser().resolve() for path in paths]
    for path in resolved:
        if not path.exists():
            raise InputError(
                f"plugins: {path}: no such file or folder; expected a Python file or a folder of them."
            )
    if resolved:
        previous = os.environ.get(VARIABLE, "").split(os.pathsep)
        os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys([*filter(None, previous), *map(str, resolved)]))
        forget()
        for path in files():
            _load_file(path)


def cache_until_forgotten(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Cache facts about units until the next discovery."""
    cached: Any = cache(function)
    _REMEMBERED.append(cached.cache_clear)
    return cached


def forget() -> None:
    """Discover units again at the next lookup."""
    for clear in _REMEMBERED:
        clear()


def paths() -> list[Path]:
    """Return the files and folders of plug-ins."""
    return [Path(path) for path in os.environ.get(VARIABLE, "").split(os.pathsep) if path]


def folders() -> list[Path]:
    """Return the folders of plug-ins' modules."""
    return [*map(_find_folder, paths())]


def _find_folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def files(ending: str = ".py") -> Iterator[Path]:
    """Yield the plug-ins' files of one kind, each once; in a folder those that do not begin with an underscore."""
    found_files: dict[Path, None] = {}
    for path in paths():
        if path.is_dir():
            inside = sorted(file for file in path.glob(f"*{ending}") if not file.name.startswith("_"))
            found_files |= dict.fromkeys(inside)
        elif path.suffix == ending:
            found_files[path] = None
    yield from found_files


@cache_until_forgotten
def _load_file(path: Path) -> ModuleType:
    """Import a plug-in's file under a unique name; it can import the other files of its folder."""
    name = f"basic_control_plugin_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"plug-in {path}: expected a Python file.")
    # A plug-in's modules import each other by their plain names, and ours by the names of earlier versions.
    aliases.install(folders)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    _DECLARED.pop(name, None)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise InputError(
            f"plug-in {path}{format_line(str(path), error)}: cannot be loaded ({type(error).__name__}: {error}). "
            "Fix or remove it."
        ) from error
    return module


def format_line(path: str, error: BaseException) -> str:
    """Return the last line of a file in an exception's traceback, as `, line 7`; '' if there is none."""
    at = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f", line {at[-1]}" if at else ""


def declare(unit: Unit, module: str) -> Unit:
    """Return a unit that a decorator made of a function of that module, where discovery finds it."""
    _DECLARED.setdefault(module, []).append(unit)
    return unit


def _list_units(module: ModuleType, origin: UnitOrigin) -> Iterator[Located]:
    """Yield the units that a module holds: its `UNIT` or `UNITS`, then those that its decorators made."""
    units = [module.UNIT] if hasattr(module, "UNIT") else [*getattr(module, "UNITS", ())]
    # A decorated function may also be the module's UNIT: it is the same object then.
    identities = [*map(id, units)]
    units += [unit for unit in _DECLARED.get(module.__name__, ()) if id(unit) not in identities]
    for unit in units:
        yield origin, unit


def _locate_own(module: str, path: Path) -> UnitOrigin:
    return UnitOrigin(f"{module.removeprefix('basic_control.').replace('.', '/')}.py", module, path)


def _find_own(kind: type) -> Iterator[Located]:
    """Yield the units below a kind's folder; files that define no unit are not imported."""
    package = FOLDERS[kind]
    for folder in importlib.import_module(package).__path__:
        for path in sorted(Path(folder).rglob("[!_]*.py")):
            if _HOLDS_UNITS.search(path.read_bytes()):
                module = ".".join([package, *path.relative_to(folder).with_suffix("").parts])
                yield from _list_units(importlib.import_module(module), _locate_own(module, path))


def _find_added(kind: type) -> Iterator[Located]:
    """Yield the plug-ins' units of a kind; a file may hold units of other kinds."""
    for path in files():
        for origin, unit in _list_units(
            _load_file(path), UnitOrigin(str(path), path.stem, path, Plugin(path.parent))
        ):
            if not isinstance(unit, tuple(FOLDERS)):
                kinds = ", ".join(kind_of_unit.__name__ for kind_of_unit in FOLDERS)
                raise InputError(f"{path}: expected UNIT to be one of {kinds}, found {type(unit).__name__}.")
            if isinstance(unit, kind):
                yield origin, unit


@cache_until_forgotten
def _read_entry_points() -> Callable[..., EntryPoints]:
    """Read the entry points of all installed distributions, once for all kinds; return a selector by kind."""
    return entry_points().select


@cache_until_forgotten
def list_entry_points(kind: str) -> EntryPoints:
    """Return the entry points of a kind: `generators`, `metrics`, `loaders`, `providers` or `suites`."""
    return _read_entry_points()(group=f"basic_control.{kind}")


def _find_registered(kind: type) -> Iterator[Located]:
    for point in list_entry_points(FOLDERS[kind].rpartition(".")[2]):
        unit = load(point)
        path = Path(sys.modules[point.module].__file__ or "")
        top, *inner = point.module.split(".")
        folder = path.parents[len(inner) + (path.name == "__init__.py")]
        # A distribution may bring modules beside the one with the unit; all of them are the plug-in's own.
        files = (point.dist.files if point.dist else None) or ()
        home = Plugin(folder, frozenset({top, *(Path(file.parts[0]).stem for file in files)}))
        yield UnitOrigin(f"entry point {point.name} = {point.value}", point.module, path, home), unit


def load(point: EntryPoint) -> object:
    """Return the object of an entry point.

    Raises:
        InputError: it cannot be loaded; the message says which one, and why.
    """
    aliases.install(folders)
    try:
        return point.load()
    except Exception as error:
        raise InputError(
            f"entry point {point.name} = {point.value}: cannot be loaded ({type(error).__name__}: {error}). "
            "Fix or uninstall the distribution that registers it."
        ) from error


@cache_until_forgotten
def _discover_units(kind: Any, _plugins: str) -> Mapping[str, Located]:
    """Find a kind's units, cached for each set of plug-ins because discovery is slow."""
    located: dict[str, Located] = {}
    for origin, unit in (*_find_own(kind), *_find_added(kind), *_find_registered(kind)):
        if not isinstance(unit, kind):
            raise InputError(
                f"{origin.description}: expected UNIT to be a {kind.__name__}, found {type(unit).__name__}."
            )
        name = unit.name
        if name in located:
            first = located[name][0].description
            raise InputError(
                f"two units are named {name!r}: {first} and {origin.description}. Rename or remove one."
            )
        located[name] = origin, unit
    return dict(sorted(located.items()))


def discover(kind: type[Unit]) -> Mapping[str, Unit]:
    """Return every unit of a kind, by name, in alphabetical order.

    Raises:
        InputError: an object of another type, or two units of one name; each with where it came from.
    """
    located = _discover_units(kind, os.environ.get(VARIABLE, ""))
    return {name: unit for name, (_, unit) in located.items()}


def _find_alone(kind: Any, name: str) -> Located | None:
    """Return one of the project's units without importing others, if no plug-in can have its name.

    It is in a file of its name, alone or in a folder of its name.
    """
    folder = FOLDERS[kind]
    if paths() or list_entry_points(folder.rpartition(".")[2]) or not name.isidentifier() or name.startswith("_"):
        return None
    for module in (f"{folder}.{name}", f"{folder}.{name}.{name}"):
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError:  # of a folder that is not there
            return None
        if spec is not None and spec.submodule_search_locations is None:
            unit_origin = _locate_own(module, Path(spec.origin or ""))
            for holder, unit in _list_units(importlib.import_module(module), unit_origin):
                if isinstance(unit, kind) and unit.name == name:
                    return holder, unit
    return None


@cache_until_forgotten
def _look_up(kind: Any, name: str, plugins: str) -> Located | None:
    """Find a unit, cached for each set of plug-ins: every row asks for one, and there are many entry points."""
    return _find_alone(kind, name) or _discover_units(kind, plugins).get(name)


def _find_unit(kind: type[Unit], name: str) -> Located:
    located = _look_up(kind, name, os.environ.get(VARIABLE, ""))
    if located is None:
        names = [unit_name for unit_name, unit in discover(kind).items() if not getattr(unit, "internal", False)]
        problem = f"unknown {kind.__name__.lower()} {name!r}"
        hint = explain_equivalent(name) if kind is Metric else ""
        hint = hint or propose_name(name, names)
        raise InputError(f"{problem}: expected one of {', '.join(names)}.{hint}")
    return located


def find_unit(kind: type[Unit], name: str) -> Unit:
    """Return the unit of that name; without plug-ins, only this one of the project's units is imported.

    Raises:
        InputError: there is none, or there are two; the message lists what there is.
    """
    unit: Unit = _find_unit(kind, name)[1]
    return unit


def origin(kind: type[Unit], name: str) -> UnitOrigin:
    """Return where the unit of that name comes from; see `find`."""
    return _find_unit(kind, name)[0]


def families() -> Mapping[str, Family]:
    """Return all families, by name."""
    return discover(Family)


def metrics() -> Mapping[str, Metric]:
    """Return all metrics, by name."""
    return discover(Metric)


def metric(name: str) -> Metric:
    """Return the metric of that name; see `find`."""
    return find_unit(Metric, name)


def loader(name: str) -> Loader:
    """Return the loader of that name; see `find`."""
    return find_unit(Loader, name)


def family(name: str) -> Family:
    """Return the family of that name or seed id.

    Raises:
        InputError: there is none; the message lists what there is.
    """
    located = _look_up(Family, name, os.environ.get(VARIABLE, ""))
    if located:
        family_unit: Family = located[1]
        return family_unit
    for unit in families().values():
        if name and name == unit.seed_id:
            return unit
    names = ", ".join(families())
    raise InputError(f"unknown family {name!r}: expected one of {names} (or a seed id such as t01_simple_logic).")
