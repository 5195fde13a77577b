"""The built-in judge: decides by the overlap of texts, without a model and without a call."""

from collections.abc import Mapping
from typing import Any

from basic_control.config.models import Judge
from basic_control.data.records import Provider

STEPS = ("split", "entails", "support", "correctness", "groundedness")


def _open(_model: Any) -> Any:
    from basic_control.tasks.models.rules import RulesClient

    return RulesClient()


def _decide(step: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    from basic_control.metrics.overlap import DECISIONS

    return DECISIONS[step](values)


def _check(model: Any) -> str:
    if not isinstance(model, Judge):
        return "provider rules answers no questions, it judges: name it under `judges`"
    return "provider rules takes no key" if model.key_place or model.api_key_env else ""


UNIT = Provider(name="rules", version=1, open=_open, check=_check, rules=STEPS, decide=_decide)
