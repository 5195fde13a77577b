"""The openai package without what no call of ours uses: to be imported before it."""

import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any


class _Later(ModuleType):
    """A package whose own module runs when something of it is asked for; modules in it are found before that."""

    def __getattr__(self, name: str) -> Any:
        spec, self.__class__ = self.__spec__, ModuleType  # type: ignore[assignment] # once is enough
        if spec and spec.loader:
            spec.loader.exec_module(self)
        return getattr(self, name)


def put_off(package: str, *parts: str) -> None:
    """Have `package`, once it is imported, import its packages `parts` only when something of them is asked for."""
    whole = find_spec(package)
    if package in sys.modules or whole is None or not whole.origin:
        return
    for part in parts:
        name, folder = f"{package}.{part}", Path(whole.origin).parent / Path(*part.split("."))
        spec = spec_from_file_location(name, folder / "__init__.py", submodule_search_locations=[str(folder)])
        if spec and name not in sys.modules:
            sys.modules[name] = module = module_from_spec(spec)
            module.__class__ = _Later
            above, _, own = name.rpartition(".")
            if above in sys.modules:
                setattr(sys.modules[above], own, module)


put_off("openai", "types", "types.responses")  # 400 modules
