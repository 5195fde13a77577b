"""Models of an Ollama server."""

from typing import Any

from data.records import Provider


def _open(model: Any) -> Any:
    from tasks.models.ollama import OllamaClient

    return OllamaClient(model)


UNIT = Provider(name="ollama", version=1, open=_open)
