"""Hints for what people type: models without their provider, options that are keys, files of other kinds."""

import re
from collections.abc import Collection
from difflib import get_close_matches
from pathlib import Path

from basic_control.config.addresses import find_host
from basic_control.data.commands import format_command
from basic_control.data.errors import InputError

_ROWS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
FOREIGN = (".yaml", ".yml", ".json", ".csv", ".jsonl")
"""How configurations of other tools end."""
_CLOSE = 0.8
"""How alike a name is to the one that was meant; cyclopts' own 0.6 takes --threshold for --fresh."""
_CONFIGURED = frozenset({"run", "exam", "doctor", "rejudge"})
"""The commands that take a configuration and any of its keys."""
# As cyclopts words it: Unknown option: --treshold. Did you mean --fresh?
_UNKNOWN = re.compile(r'(Unknown option: "?(--[\w-]+)[^"]*?"?)\.(?: Did you mean (\S+)\?)?')


def check_name(option: str, name: str, providers: Collection[str]) -> None:
    """Refuse the name of a model that is no provider's, if it looks like another's than Ollama's.

    Raises:
        InputError: it does; the message names the provider that is meant.
    """
    start, separator, model = name.partition("/")
    if not separator:
        start, separator, model = name.partition(":")
    meant = ""
    if separator and model:
        # Owners of models at Hugging Face are no misspelt providers.
        for similar in get_close_matches(start, providers, n=1, cutoff=_CLOSE):
            meant = f"{similar}/{model}"
    provider = find_host(name)
    if provider in providers:
        meant = f"{provider}/{name}"
    if meant:
        raise InputError(
            f"{option} {name}: a name without a provider is an Ollama model. Did you mean {option} {meant}? For "
            f"Ollama's, write {option} ollama/{name}."
        )


def explain_word(word: str) -> str:
    """Return what a word is that names a file, but no configuration, and what to do; '' if it names none."""
    name = word.lower().removesuffix(".gz")
    if name.endswith(_ROWS):
        return (
            f"{word}: these are rows, not a configuration; expected a YAML file that names them as data. Write "
            f"one with basic-control init, and set its data to {word}."
        )
    if name.endswith(".py"):
        entry = f"models: [{{name: mine, provider: python, function: {word}:NAME}}]"
        return (
            f"{word}: this is Python, not a configuration; expected a YAML file. To evaluate a function: {entry}."
        )
    if "." in Path(word).name and Path(word).is_file():
        return (
            f"{word}: expected a configuration, a YAML file that ends in .yaml; its data may name a file of rows."
        )
    return ""


def refuse_foreign(files: Collection[str]) -> None:
    """Refuse another tool's configuration, with the command that converts it.

    Raises:
        InputError: one of the files is one.
    """
    from basic_control.tasks.exchange.moving.foreign_files import name_tool

    for file in files:
        tool = name_tool(Path(file))
        if tool:
            command = format_command(f"init FOLDER --from {file}")
            raise InputError(
                f"{file}: this is a file of {tool}; expected a configuration of ours. Convert it: {command}."
            )


def correct_suggestion(message: str, command: str = "run") -> str:
    """Return the message about an unknown option with a suggestion that is near, or the key that it sets."""
    match = _UNKNOWN.match(message)
    if match is None:
        return message
    from basic_control.config.elsewhere import list_keys_named
    from basic_control.config.settings import Settings

    start, option, suggested = match.groups()
    key = option.removeprefix("--").replace("-", "_")
    takes_keys = command in _CONFIGURED
    if suggested and get_close_matches(option, [suggested], cutoff=_CLOSE):
        suggestion = f" Did you mean {suggested}?"
    elif key in Settings.model_fields and not takes_keys:
        suggestion = f" It is a key of a configuration, which `run` takes; {command} reads what has been run."
    elif takes_keys:
        suggestion = ""
        keys = [key] if key in Settings.model_fields else list_keys_named(key)
        near = get_close_matches(key, Settings.model_fields, n=1, cutoff=_CLOSE)
        if keys:
            suggestion = f" It is a key of the configuration: {', '.join(f'--set {name}=…' for name in keys)}"
        elif near:
            suggestion = f" Did you mean --set {near[0]}=…?"
    else:
        suggestion = ""
    return f"{start}.{suggestion}"
