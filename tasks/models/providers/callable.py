"""A function of the Python process that started the run: `bc.evaluate(rows, target=function)`."""

import os
from typing import Any

from pydantic import Field

from basic_control.data.decorators import provider
from basic_control.data.options import Frozen


class Options(Frozen):
    """What is known of the function."""

    version: str = Field("", description="its version, for the cache; without one it is asked anew in each run")
    sees_item: bool = Field(default=False, description="whether it is shown the row")


def _unready(model: Any) -> str:
    if os.environ.get("BASIC_CONTROL_CALLER"):
        return ""
    return (
        f"model {model.name!r}: it is a function of the Python process that started its run; start it from there."
    )


@provider(
    name="callable",
    options=Options,
    sees=lambda model: bool(model.options["sees_item"]),
    brings=lambda _model: ("retrieved_contexts", "citations"),
    unready=_unready,
)
def caller_function(model: Any) -> Any:
    """Return a client that calls a function of the caller's process."""
    from basic_control.tasks.models.functions import CallerClient

    return CallerClient(model)
