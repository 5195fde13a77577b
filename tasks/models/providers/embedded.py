"""A GGUF model in this process, run by llama.cpp."""

from typing import Any

from data.errors import InputError
from data.records import Provider


def _open(model: Any) -> Any:
    from tasks.models.embedded import EmbeddedClient

    return EmbeddedClient(model)


def _at_once(model: Any) -> int:
    from tasks.models.embedded import engines

    return engines(model)


def _unready(model: Any) -> str:
    from tasks.models.embedded import find_weights

    try:
        find_weights(model)
    except InputError as error:
        return str(error)
    return ""


UNIT = Provider(
    name="embedded",
    version=1,
    open=_open,
    unready=_unready,
    check=lambda model: "provider embedded takes no key" if model.key_place else "",
    at_once=_at_once,
)
