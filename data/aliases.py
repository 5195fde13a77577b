"""Former names of the rooms for plug-ins: `data.records` is `basic_control.data.records`.

A plug-in may have a package named like a room of ours: that one is found first, and ours by what it lacks.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from basic_control import ROOMS

TOP = Path(__file__).parents[1]


class _SameModule(Loader):
    """Gives a room's module a second name."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(f"basic_control.{spec.name}")
        # The import system writes the second name's spec into the module; `exec_module` restores the first one's.
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            module.__spec__ = spec.loader_state


class Aliases(MetaPathFinder):
    """Finds rooms by their former names, unless a plug-in's folder or the path has others of these names."""

    def __init__(self, plugin_folders: Callable[[], Iterable[Path]]) -> None:
        self._plugin_folders = plugin_folders

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a plug-in's module, or of ours; None for all that Python finds by itself."""
        if fullname.partition(".")[0] not in ROOMS:
            return None
        if path is None:
            spec = PathFinder.find_spec(fullname, [str(folder) for folder in self._plugin_folders()])
            if _is_foreign(spec):
                return spec
        if _is_foreign(PathFinder.find_spec(fullname, path)):
            return None
        try:
            is_ours = importlib.util.find_spec(f"basic_control.{fullname}") is not None
        except ModuleNotFoundError:
            return None
        return ModuleSpec(fullname, _SameModule()) if is_ours else None


def _is_foreign(spec: ModuleSpec | None) -> bool:
    # A folder without Python files, such as one of data, has no origin.
    return spec is not None and spec.origin is not None and not Path(spec.origin).is_relative_to(TOP)


def install(plugin_folders: Callable[[], Iterable[Path]]) -> None:
    """Let this process import rooms by their former names; once is enough."""
    if not any(isinstance(finder, Aliases) for finder in sys.meta_path):
        sys.meta_path.insert(0, Aliases(plugin_folders))
