"""Models of an Ollama server."""

import os
from typing import Any

from data.records import Provider


def _open(model: Any) -> Any:
    from tasks.models.ollama import OllamaClient

    return OllamaClient(model)


def _unready(model: Any) -> str:
    from tasks.models.readiness import lacking

    url = model.base_url or os.environ.get("OLLAMA_HOST") or "http://127.0.0.1:11434"
    return lacking(model, url if "://" in url else f"http://{url}" if ":" in url else f"http://{url}:11434")


UNIT = Provider(name="ollama", version=1, open=_open, unready=_unready)
