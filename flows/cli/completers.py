"""What a shell offers at TAB beside the commands and options that its script knows: runs, keys, suites."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import Parameter

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext
    from pydantic import BaseModel

SUITES = sorted(path.stem for path in (Path(__file__).parents[2] / "config" / "suites").glob("*.yaml"))
RUNS = Path("artifacts/runs")
"""Where runs are unless configured otherwise; a TAB waits for no configuration."""


def runs(context: "CompletionContext") -> list[str]:
    """Return the names of the runs in the usual folder, the newest first."""
    del context
    return sorted((path.parent.name for path in RUNS.glob("*/manifest.json")), reverse=True)


def keys(context: "CompletionContext") -> list[tuple[str, str]]:
    """Return the configuration's keys with their meanings; those of models and judges by the first of each."""
    del context
    from config.models import Judge, Model
    from config.settings import Settings

    entries = [*_keys(Model, "models.0."), *_keys(Judge, "judges.0.")]
    return [(f"{key}=", meaning) for key, meaning in (*_keys(Settings, ""), *entries)]


def _keys(model: "type[BaseModel]", before: str) -> Iterator[tuple[str, str]]:
    from pydantic import BaseModel

    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _keys(inner, f"{before}{name}.")
        elif name != "options":
            yield f"{before}{name}", field.description or ""


def suites(context: "CompletionContext") -> list[str]:
    """Return the suites that ship."""
    del context
    return SUITES


RUN = Parameter(metavar="RUN", completer=runs)
"""Of a parameter that is a run's name."""
KEY = Parameter(metavar="PATH=VALUE", completer=keys)
SUITE = Parameter(name="SUITE", completer=suites)
