"""promptfoo's providers as models of ours."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from basic_control.tasks.exchange.moving.conversions import Account
from basic_control.tasks.exchange.moving.foreign_files import SCHEME, Folder
from basic_control.tasks.exchange.moving.variables import UntakenError, is_number, mapping_of, wrap, write_text

_WAYS = ("chat", "messages", "responses")
_OTHER_WAYS = ("completion", "embedding", "embeddings", "assistant", "image", "realtime", "speech", "moderation")
_PROVIDERS: Mapping[str, Mapping[str, str]] = {
    "openai": {"provider": "openai"},
    "anthropic": {"provider": "anthropic"},
    "ollama": {"provider": "ollama"},
    "azure": {"provider": "azure"},
    "azureopenai": {"provider": "azure"},
    # Servers that speak OpenAI's protocol.
    "openrouter": {
        "provider": "openai",
        "base_url": "https://openrouter.ai/api/v1",
        "api_key_env": "OPENROUTER_API_KEY",
    },
    "groq": {"provider": "openai", "base_url": "https://api.groq.com/openai/v1", "api_key_env": "GROQ_API_KEY"},
    "mistral": {"provider": "openai", "base_url": "https://api.mistral.ai/v1", "api_key_env": "MISTRAL_API_KEY"},
    "deepseek": {"provider": "openai", "base_url": "https://api.deepseek.com", "api_key_env": "DEEPSEEK_API_KEY"},
    "togetherai": {
        "provider": "openai",
        "base_url": "https://api.together.xyz/v1",
        "api_key_env": "TOGETHER_API_KEY",
    },
}
"""promptfoo's providers, and what their models have here."""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_variable(value: Any) -> bool:
    """Return whether a value is a variable's name; another text may be the key itself."""
    return isinstance(value, str) and _VARIABLE.fullmatch(value) is not None


_SETTINGS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "temperature": ("temperature", is_number),
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "num_predict"), ("max_tokens", is_number)),
    "seed": ("seed", is_number),
    "apiBaseUrl": ("base_url", _is_text),
    "apiKeyEnvar": ("api_key_env", _is_variable),
    "apiVersion": ("api_version", _is_text),
}
"""A provider's settings: our keys, and whether a value is one."""
_EXTRA = ("top_p", "top_k", "presence_penalty", "frequency_penalty", "stop", "reasoning_effort", "response_format")
_ENTRY = {"id", "label", "config", "prompts"}


def convert_provider(provider: Any, folder: Folder, account: Account) -> list[dict[str, Any]]:
    """Return the models that an entry of `providers` stands for; none if it cannot be taken over."""
    models: list[dict[str, Any]] = []
    for entry in _list_entries(provider, folder, account):
        name = entry["id"]
        model = _find_model(name)
        if model is None:
            account.add(f"provider {name}", "left out", "no equal provider; see docs/servers.md")
            continue
        label = entry.get("label")
        # What people call it, beside what its server does.
        if isinstance(label, str) and label.strip():
            model |= {"name": label.strip(), "model": model["name"]}
        for key in sorted(entry.keys() - _ENTRY):
            account.add(f"{name}: {key}", "left out", "no equal")
        models.append(model | _convert_settings(name, entry.get("config"), account))
        account.add(f"provider {name}", "taken")
    return models


def _list_entries(provider: Any, folder: Folder, account: Account) -> Iterator[Mapping[str, Any]]:
    """Yield the entries of `providers` that have an id, those of a file included."""
    entries = wrap(provider)
    if isinstance(provider, str) and provider.startswith(SCHEME):
        try:
            entries = wrap(folder.load(provider))
        except UntakenError as error:
            account.add(f"provider {provider}", "left out", str(error))
            return
    for entry in map(_lay_out, entries):
        if isinstance(entry.get("id"), str) and entry["id"]:
            yield entry
        else:
            account.add("provider", "left out", "expected its name, such as openai:gpt-4o")


def _lay_out(entry: Any) -> Mapping[str, Any]:
    """Return an entry with its id as a key: of `openai:gpt-4o`, and of `{openai:gpt-4o: {config: …}}`."""
    if not isinstance(entry, dict):
        return {"id": entry}
    if "id" not in entry and len(entry) == 1:
        ((name, settings),) = entry.items()
        return {**mapping_of(settings), "id": name}
    return entry


def name_provider(entry: Any) -> str:
    """Return what promptfoo calls an entry of `providers`: its id; '' if it has none."""
    return write_text(_lay_out(entry).get("id"))


def _find_model(name: str) -> dict[str, Any] | None:
    """Return the model that a name such as `openai:chat:gpt-4o` stands for; None if no provider of ours has it."""
    provider, _, served = name.partition(":")
    way, _, after = served.partition(":")
    if way in _WAYS and after:
        served = after
    if not served or way in _OTHER_WAYS or provider not in _PROVIDERS:
        return None
    return {"name": served, **_PROVIDERS[provider]}


def _convert_settings(name: str, config: Any, account: Account) -> dict[str, Any]:
    """Return a provider's settings by our keys; keys themselves are never copied."""
    settings: dict[str, Any] = {}
    for key, value in mapping_of(config).items():
        target, is_setting = _SETTINGS.get(key, (key, None))
        if is_setting and is_setting(value):
            settings[target] = value
        elif key == "apiHost" and isinstance(value, str):
            settings["base_url"] = f"https://{value}"
        elif key in _EXTRA:
            settings["extra"] = {**settings.get("extra", {}), key: value}
        elif "key" in key.lower():
            account.add(f"{name}: {key}", "left out", "a key is never copied; set its environment variable")
        else:
            reason = "expected a number" if is_setting is is_number else "no equal"
            account.add(f"{name}: {key}", "left out", reason)
    return settings


def name_apart(models: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return models with names that differ: the second `a` is `a-2`."""
    names: dict[str, int] = {}
    apart = []
    for model in models:
        name = model["name"]
        names[name] = count = names.get(name, 0) + 1
        apart.append(model if count == 1 else {"model": name, **model, "name": f"{name}-{count}"})
    return apart
