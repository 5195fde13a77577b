"""OpenAI's models on Azure."""

from typing import Any

from basic_control.data.decorators import provider
from basic_control.tasks.models.openai_forms import DECIDING, Options, find_misfit


def _decides(model: Any) -> bool:
    return model.options["api"] in DECIDING


def _check(model: Any) -> str:
    if not (model.base_url and model.api_version):
        return "provider azure needs `base_url` and `api_version`"
    if model.options["api"] == "systemone":
        return "found `api: systemone`, which Azure does not speak; use `api: decisions`"
    return find_misfit(model)


@provider(options=Options, check=_check, decides=_decides)
def azure(model: Any) -> Any:
    """Return a client of an Azure deployment; of its probabilities, for a judge that decides."""
    if _decides(model):
        from basic_control.tasks.models.openai_deciding import DecidingClient

        return DecidingClient(model)
    from basic_control.tasks.models.openai import OpenAIClient

    return OpenAIClient(model)
