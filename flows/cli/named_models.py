"""Models by name: with a provider before it, or of the server that is there."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from basic_control.config.addresses import find_host
from basic_control.data.commands import format_command
from basic_control.data.errors import InputError
from basic_control.flows.cli.console import say
from basic_control.flows.cli.hints import check_name

if TYPE_CHECKING:
    from basic_control.config.models import Judge, Model

OLLAMA, OPENAI = "ollama", "openai"
VARIABLES = ("OPENAI_BASE_URL", "OPENAI_API_KEY")
"""Variables that name a server of OpenAI's API, or its key."""


def build_entries(kind: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the entries of `models` or `judges` for names like `openai/gpt-6-luna`, `phi3` or `embedded`.

    The part before the first slash counts if it is a provider; otherwise the whole is a name at the server that is
    there: Ollama, else OpenAI's if the environment names it. A provider's name alone stands for its shipped entry,
    if it has one. Entries with equal names keep the whole given name.

    Raises:
        InputError: a provider that needs a model name is given alone.
    """
    import yaml

    from basic_control.config.reading import DEFAULT
    from basic_control.data.plugins import discover
    from basic_control.data.records import Provider

    providers = discover(Provider)
    option = f"--{kind.removesuffix('s')}"
    is_ollama_down = look_once()
    entries: list[dict[str, Any]] = []
    for spec in names:
        provider, _, name = spec.partition("/")
        if provider not in providers:
            entries.append({"name": spec, "provider": choose_provider(option, spec, providers, is_ollama_down)})
        elif name:
            entries.append({"name": name, "provider": provider})
        else:
            shipped = yaml.safe_load(DEFAULT.read_text(encoding="utf-8"))[kind]
            matches = [entry for entry in shipped if entry["provider"] == provider]
            if not matches:
                raise InputError(f"{option} {spec}: found a provider alone, expected {option} {provider}/NAME.")
            entries.append(matches[0])
    # Models of two providers may have one name: a run tells its targets apart by name.
    frequencies = Counter(entry["name"] for entry in entries)
    for index, spec in enumerate(names):
        name = entries[index]["name"]
        if frequencies[name] > 1:
            entries[index] = {**entries[index], "name": spec, "model": name}
    return entries


def choose_provider(option: str, name: str, providers: Collection[str], is_down: Callable[[], bool]) -> str:
    """Return the provider of a name without one, and say which if it is not Ollama, which `is_down` may show.

    Raises:
        InputError: the name looks like another provider's.
    """
    variable = find_openai(name, is_down)
    # Names of OpenAI's own need no hint where OpenAI is asked.
    if not variable or find_host(name) != OPENAI:
        check_name(option, name, providers)
    if not variable:
        return OLLAMA
    _tell([name], variable)
    return OPENAI


def find_openai(name: str, is_down: Callable[[], bool]) -> str:
    """Return the variable by which a model without a provider is one of OpenAI's API; '' if it is of Ollama.

    Ollama comes first where it answers, or OLLAMA_HOST names it.
    """
    variables = [*filter(os.environ.get, VARIABLES)]
    is_foreign = find_host(name) not in {"", OPENAI}
    if not variables or is_foreign or os.environ.get("OLLAMA_HOST") or not is_down():
        return ""
    return variables[0]


def look_once() -> Callable[[], bool]:
    """Return a function that says whether no Ollama answers: it looks once, for however many models."""

    @cache
    def look() -> bool:
        from basic_control.config.models import Model
        from basic_control.tasks.models.readiness import is_down

        return is_down(Model(name=OLLAMA))

    return look


def list_chosen(models: Sequence["Model"], judges: Sequence["Judge"]) -> list[str]:
    """Return the assignments that state the provider of models and judges without one, if that is not Ollama."""
    is_ollama_down = look_once()
    assignments: list[str] = []
    variables: dict[str, str] = {}
    for kind, entries in (("models", models), ("judges", judges)):
        for index, entry in enumerate(entries):
            is_stated = {"provider", "base_url"} & entry.model_fields_set
            # `think` is what Ollama alone has.
            if is_stated or "think" in entry.extra:
                continue
            variable = find_openai(entry.server_name, is_ollama_down)
            if variable:
                variables[entry.name] = variable
                assignments.append(f"{kind}.{index}.provider={OPENAI}")
    if variables:
        _tell([*variables], *{*variables.values()})
    return assignments


def _tell(names: Sequence[str], variable: str) -> None:
    """Say where models without a provider are asked, and why."""
    say(
        f"{', '.join(names)}: asked at OpenAI's API, since no provider is named, {variable} is set and no Ollama "
        f"answers; write provider openai or ollama ({OPENAI}/{names[0]}) to choose."
    )


def list_servers(file: str) -> list[str]:
    """Return a line on how a new configuration's questions are put to a server that is there; none without one."""
    from basic_control.config.models import Model
    from basic_control.tasks.models.readiness import is_down

    variables = [*filter(os.environ.get, VARIABLES)]
    if variables:
        # Another server than OpenAI's own has other models.
        name = "NAME" if variables[0] == VARIABLES[0] else "gpt-6-luna"
        return [f"{variables[0]} is set: {format_command(f'run {file} --model {OPENAI}/{name}')}"]
    if not is_down(Model(name=OLLAMA)):
        return [f"An Ollama answers: {format_command(f'run {file} --model {OLLAMA}/NAME')}"]
    return []
