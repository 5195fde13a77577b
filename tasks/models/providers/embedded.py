"""A GGUF model in this process, run by llama.cpp."""

from typing import Any, Literal

from pydantic import Field

from basic_control.data.decorators import provider
from basic_control.data.errors import InputError
from basic_control.data.options import Frozen
from basic_control.tasks.models.openai_forms import find_misfit


def _at_once(model: Any) -> int:
    from basic_control.tasks.models.embedded import count_engines

    return count_engines(model)


def _unready(model: Any) -> str:
    from basic_control.tasks.models.embedded import find_weights

    try:
        find_weights(model)
    except InputError as error:
        return str(error)
    return ""


class Options(Frozen):
    """How the engine is asked."""

    api: Literal["chat", "systemone"] = Field(
        "chat",
        description="systemone: the file is a decision model's, which answers a judge's typed questions by "
        "probabilities; experimental, since no such file has been asked yet",
    )


def _check(model: Any) -> str:
    if model.key_place:
        return "provider embedded takes no key"
    return find_misfit(model)


@provider(
    name="embedded",
    options=Options,
    unready=_unready,
    check=_check,
    at_once=_at_once,
    decides=lambda model: model.options["api"] == "systemone",
)
def engine(model: Any) -> Any:
    """Return a client of an engine in a process of its own."""
    from basic_control.tasks.models.embedded import EmbeddedClient

    return EmbeddedClient(model)
