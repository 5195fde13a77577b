"""promptfoo's providers as models of ours."""

import re
from typing import Any

from basic_control.tasks.exchange.moving.conversions import Account
from basic_control.tasks.exchange.moving.foreign_files import SCHEME, Folder
from basic_control.tasks.exchange.moving.variables import UntakenError, mapping_of, write_text

_WAYS = ("chat", "messages", "responses")
_COMPATIBLE = {
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "groq": ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": ("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "deepseek": ("https://api.deepseek.com", "DEEPSEEK_API_KEY"),
    "togetherai": ("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
}
"""Servers that speak OpenAI's protocol: address, and the variable with the key."""
_OURS = {"openai": "openai", "anthropic": "anthropic", "ollama": "ollama", "azure": "azure", "azureopenai": "azure"}
_KEYS = {
    "temperature": "temperature",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "num_predict": "max_tokens",
    "seed": "seed",
    "apiBaseUrl": "base_url",
    "apiKeyEnvar": "api_key_env",
    "apiVersion": "api_version",
}
_EXTRA = ("top_p", "top_k", "presence_penalty", "frequency_penalty", "stop", "reasoning_effort", "response_format")
_ENTRY = {"id", "label", "config", "prompts"}
_NUMBERS = ("temperature", "max_tokens", "seed")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


def convert_provider(provider: Any, folder: Folder, account: Account) -> list[dict[str, Any]]:
    """Return the models that an entry of `providers` stands for; none if it cannot be taken over."""
    if isinstance(provider, list):
        return [model for entry in provider for model in convert_provider(entry, folder, account)]
    if isinstance(provider, str) and provider.startswith(SCHEME):
        try:
            loaded = folder.load(provider)
        except UntakenError as error:
            account.add(f"provider {provider}", "left out", str(error))
            return []
        # A file may name others, and so on without end.
        is_nested = isinstance(loaded, str) or (isinstance(loaded, list) and any(map(_is_file, loaded)))
        return [] if is_nested else convert_provider(loaded, folder, account)
    if isinstance(provider, dict) and "id" not in provider and len(provider) == 1:
        # {openai:gpt-4o: {config: …}}
        (name, settings), *_ = provider.items()
        provider = {**(mapping_of(settings)), "id": name}
    entry = {"id": provider}
    if isinstance(provider, dict):
        entry = provider
    name = entry.get("id")
    if not isinstance(name, str) or not name:
        account.add("provider", "left out", "expected its name, such as openai:gpt-4o")
        return []
    model = _model(name)
    if model is None:
        account.add(f"provider {name}", "left out", "no equal provider; see docs/servers.md")
        return []
    label = entry.get("label")
    if isinstance(label, str) and label.strip():
        model = {**model, "name": label.strip(), "model": model["name"]}
    for key in sorted(entry.keys() - _ENTRY):
        account.add(f"{name}: {key}", "left out", "no equal")
    model |= _settings(name, entry.get("config"), account)
    account.add(f"provider {name}", "taken")
    return [model]


def name_provider(entry: Any) -> str:
    """Return what promptfoo calls an entry of `providers`: its id; '' if it has none."""
    if isinstance(entry, dict) and "id" not in entry and len(entry) == 1:
        (entry,) = entry
    if isinstance(entry, dict):
        entry = entry.get("id")
    return write_text(entry)


def _is_file(entry: Any) -> bool:
    return isinstance(entry, str) and entry.startswith(SCHEME)


def _model(name: str) -> dict[str, Any] | None:
    """Return the model that a name such as `openai:chat:gpt-4o` stands for; None if no provider of ours has it."""
    provider, _, served = name.partition(":")
    way, _, after = served.partition(":")
    if way in _WAYS and after:
        served = after
    elif way in {"completion", "embedding", "embeddings", "assistant", "image", "realtime", "speech", "moderation"}:
        return None
    if not served:
        return None
    if provider in _COMPATIBLE:
        address, variable = _COMPATIBLE[provider]
        return {"name": served, "provider": "openai", "base_url": address, "api_key_env": variable}
    if provider not in _OURS:
        return None
    return {"name": served, "provider": _OURS[provider]}


def _settings(name: str, config: Any, account: Account) -> dict[str, Any]:
    """Return a provider's settings by our keys; keys themselves are never copied."""
    settings: dict[str, Any] = {}
    for key, value in mapping_of(config).items():
        target = _KEYS.get(key)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if target in _NUMBERS:
            if is_number:
                settings[target] = value
            else:
                account.add(f"{name}: {key}", "left out", "expected a number")
        elif key == "apiHost" and isinstance(value, str):
            settings["base_url"] = f"https://{value}"
        elif target == "api_key_env":
            # Another text may be the key itself.
            if isinstance(value, str) and _VARIABLE.fullmatch(value):
                settings[target] = value
        elif target and isinstance(value, str):
            settings[target] = value
        elif key in _EXTRA:
            settings["extra"] = {**settings.get("extra", {}), key: value}
        else:
            reason = "no equal"
            if "key" in key.lower():
                reason = "a key is never copied; set its environment variable"
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
