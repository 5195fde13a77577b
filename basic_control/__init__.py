"""Basic Control: declarative LLM evaluation with deterministic verifiers and explained verdicts."""

from basic_control.interrupts import leave_while_starting

leave_while_starting()

import importlib  # noqa: E402 - imports take longer than people take to press Ctrl-C
from pathlib import Path  # noqa: E402 - likewise
from typing import Any  # noqa: E402 - likewise

ROOMS = ("data", "prompts", "metrics", "generators", "config", "tasks", "flows")

_FOLDER = Path(__file__).parent
if not (_FOLDER / "flows").is_dir() or (_FOLDER / "flows").is_symlink():
    # A checkout has its rooms beside this folder, a wheel inside it; they are `basic_control.<room>` in both. A
    # checkout's links to them are for tools that read the code without running it.
    __path__.insert(0, str(_FOLDER.parent))

_EXPORTED = {
    **dict.fromkeys(
        ("run", "evaluate", "compare", "gate", "read", "Run"),
        "basic_control.api",
    ),
    **dict.fromkeys(("metric", "family", "loader", "provider"), "basic_control.data.decorators"),
    **dict.fromkeys(
        ("Metric", "Score", "Sample", "Family", "Item", "Verdict", "Loader", "Provider"),
        "basic_control.data.records",
    ),
    "InputError": "basic_control.data.errors",
}
"""The module of each exported name."""
__all__ = [
    "Family",
    "InputError",
    "Item",
    "Loader",
    "Metric",
    "Provider",
    "Run",
    "Sample",
    "Score",
    "Verdict",
    "compare",
    "evaluate",
    "family",
    "gate",
    "loader",
    "metric",
    "provider",
    "read",
    "run",
]


def __getattr__(name: str) -> Any:
    """Import an exported name."""
    if name not in _EXPORTED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_EXPORTED[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the exported names as well."""
    return sorted({*globals(), *_EXPORTED})
