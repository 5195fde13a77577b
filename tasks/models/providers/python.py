"""A function of the user's own, in a file or a package."""

import re
from typing import Any

from pydantic import Field, field_validator

from basic_control.data.decorators import provider
from basic_control.data.options import Frozen

_REFERENCE = re.compile(r"(?P<module>.+\.py|[^\W\d]\w*(\.[^\W\d]\w*)*):(?P<function>[^\W\d]\w*(\.[^\W\d]\w*)*)")


class Options(Frozen):
    """Which function answers."""

    function: str = Field(description="my_app.py:answer or package.module:function")
    version: str = Field("", description="the application's version; changing it asks everything again")
    python: str = Field("", description="the interpreter that runs it; default: the one that runs Basic Control")

    @field_validator("function")
    @classmethod
    def _reference(cls, value: str) -> str:
        if not _REFERENCE.fullmatch(value):
            raise ValueError("expected a function such as my_app.py:answer or package.module:function")
        return value


def _sees(model: Any) -> bool:
    from basic_control.tasks.models.python import load

    return "item" in load(model)[1]["takes"]


# What a function brings, only its mappings say.
@provider(options=Options, sees=_sees, brings=lambda _: ("retrieved_contexts", "citations"))
def python(model: Any) -> Any:
    """Return a client that calls a function of a Python file or module."""
    from basic_control.tasks.models.python import PythonClient

    return PythonClient(model)
