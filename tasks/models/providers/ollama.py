"""Models of an Ollama server."""

import os
from typing import Any

from data.records import Provider


def _open(model: Any) -> Any:
    from tasks.models.ollama import OllamaClient

    return OllamaClient(model)


_ELSEWHERE = ("reasoning_effort", "reasoning_format", "chat_template_kwargs", "enable_thinking")


def _check(model: Any) -> str:
    """Reject what Ollama would silently ignore: names of other servers, and invalid values."""
    if found := [name for name in _ELSEWHERE if name in model.extra]:
        return f"found `extra.{found[0]}`, which Ollama ignores; use `think` instead"
    think = model.extra.get("think")
    if think is None or isinstance(think, bool) or (isinstance(think, str) and think):
        return ""
    return f"found {think!r} in `extra.think`; expected true, false, or a level such as low, medium or high"


def _unready(model: Any) -> str:
    from tasks.models.readiness import lacking

    url = model.base_url or os.environ.get("OLLAMA_HOST") or "http://127.0.0.1:11434"
    return lacking(model, url if "://" in url else f"http://{url}" if ":" in url else f"http://{url}:11434")


UNIT = Provider(name="ollama", version=1, open=_open, unready=_unready, check=_check)
