"""The built-in judge: decides by the overlap of texts, without a model and without a call."""

from collections.abc import Mapping
from typing import Any

from basic_control.config.models import Judge
from basic_control.data.decorators import provider

STEPS = ("split", "entails", "support", "correctness", "groundedness", "useful")


def _decide(step: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    from basic_control.metrics.overlap import DECISIONS

    return DECISIONS[step](values)


def _check(model: Any) -> str:
    if not isinstance(model, Judge):
        return "provider rules answers no questions, it judges: name it under `judges`"
    return "provider rules takes no key" if model.key_place or model.api_key_env else ""


@provider(check=_check, rules=STEPS, decide=_decide)
def rules(_model: Any) -> Any:
    """Return a client that answers judges' questions by rule."""
    from basic_control.tasks.models.rules import RulesClient

    return RulesClient()
