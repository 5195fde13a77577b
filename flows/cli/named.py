"""Models and judges that the command line names: `openai/gpt-4o-mini`, `llama3.1:8b`, `embedded`."""

from collections.abc import Sequence
from typing import Any

import yaml

from config.reading import DEFAULT
from data.errors import InputError
from data.plugins import discover
from data.records import Provider

OLLAMA = "ollama"


def named(kind: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the entries of `models` or `judges` that names stand for.

    What stands before the first slash counts where it is a provider; else the whole is a name at Ollama. A
    provider's name alone is the entry that ships, where one does. Of equal names each keeps its provider.

    Raises:
        InputError: a provider that needs a name stands alone.
    """
    made = [_entry(kind, one) for one in names]
    short = [one["name"] for one in made]
    return [
        {**one, "name": spec, "model": one["name"]} if short.count(one["name"]) > 1 else one
        for one, spec in zip(made, names, strict=True)
    ]


def _entry(kind: str, spec: str) -> dict[str, Any]:
    providers = discover(Provider)
    provider, _, name = spec.partition("/")
    if provider not in providers:
        return {"name": spec, "provider": OLLAMA}
    if name:
        return {"name": name, "provider": provider}
    shipped = yaml.safe_load(DEFAULT.read_text(encoding="utf-8"))[kind]
    entry: dict[str, Any] | None = next((one for one in shipped if one["provider"] == provider), None)
    if entry is None:
        option = kind.removesuffix("s")
        raise InputError(f"--{option} {spec}: found a provider alone, expected --{option} {provider}/NAME.")
    return entry
