"""Models of an Ollama server."""

from typing import Any

from basic_control.data.decorators import provider

_ELSEWHERE = ("reasoning_effort", "reasoning_format", "chat_template_kwargs", "enable_thinking")


def _check(model: Any) -> str:
    """Reject what Ollama would silently ignore: names of other servers, and invalid values."""
    names = [name for name in _ELSEWHERE if name in model.extra]
    if names:
        return f"found `extra.{names[0]}`, which Ollama ignores; use `think` instead"
    think = model.extra.get("think")
    if think is None or isinstance(think, bool) or (isinstance(think, str) and think):
        return ""
    return f"found {think!r} in `extra.think`; expected true, false, or a level such as low, medium or high"


def _unready(model: Any) -> str:
    from basic_control.config.addresses import find_host
    from basic_control.tasks.models.access import find_ollama
    from basic_control.tasks.models.readiness import find_obstacle_at

    obstacle = find_obstacle_at(model, find_ollama(model))
    host = find_host(model.server_name)
    # An entry without a provider is one of Ollama's.
    return f"{obstacle} If {host}'s model is meant, set `provider: {host}`." if obstacle and host else obstacle


@provider(unready=_unready, check=_check)
def ollama(model: Any) -> Any:
    """Return a client of an Ollama server."""
    from basic_control.tasks.models.ollama import OllamaClient

    return OllamaClient(model)
