"""Trim packages of modules that we never use; to be imported before them."""

import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any


class _Later(ModuleType):
    """A module that is executed at first attribute access; submodules of a package are found before that."""

    def __getattr__(self, name: str) -> Any:
        spec, self.__class__ = self.__spec__, ModuleType  # pyrefly: ignore[bad-argument-type] # once is enough
        if spec and spec.loader:
            spec.loader.exec_module(self)
        return getattr(self, name)


def put_off(package: str, *parts: str) -> None:
    """Defer the import of `package`'s modules `parts` until one of their attributes is accessed."""
    whole = find_spec(package)
    if package in sys.modules or whole is None or not whole.origin:
        return
    for part in parts:
        name, path = f"{package}.{part}", Path(whole.origin).parent / Path(*part.split("."))
        file, inside = (path / "__init__.py", [str(path)]) if path.is_dir() else (path.with_suffix(".py"), None)
        spec = spec_from_file_location(name, file, submodule_search_locations=inside)
        if spec and name not in sys.modules:
            sys.modules[name] = module = module_from_spec(spec)
            module.__class__ = _Later
            above, _, own = name.rpartition(".")
            if above in sys.modules:
                setattr(sys.modules[above], own, module)


put_off("openai", "types", "types.responses")  # 400 modules
