"""Two judges as one: the small one decides alone where labels show that it may, else the large one is asked."""

from typing import Any

from pydantic import Field

from basic_control.config.models import Judge
from basic_control.data.decorators import provider
from basic_control.data.errors import InputError
from basic_control.data.options import Frozen, Share


class Options(Frozen):
    """The judges, and what error of the small one is tolerated where it decides alone."""

    cascade: tuple[str, str] = Field(
        description="the small judge, which decides by probabilities, and the large one"
    )
    error: float = Field(0.1, gt=0, lt=1, description="tolerated share of wrong decisions of the small judge alone")
    level: float = Field(0.05, gt=0, lt=1, description="chance that this error is exceeded all the same")
    check: Share = Field(0.05, description="random share of its decisions that the large judge sees too; 0: none")


def _check(model: Any) -> str:
    if not isinstance(model, Judge):
        return "a cascade answers no questions, it judges: put it under `judges`"
    if model.options["cascade"][0] == model.options["cascade"][1]:
        return "a cascade needs two different judges: the small one, and the large one"
    return ""


@provider(options=Options, check=_check, unready=lambda _: "")
def cascade(model: Any) -> Any:
    """Refuse: a cascade's judges are asked in its place."""
    raise InputError(f"judge {model.name!r} is a cascade, whose judges are asked in its place")
