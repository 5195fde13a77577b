"""OpenAI's models on Azure."""

from typing import Any

from data.records import Provider
from tasks.models.openai_forms import Options, find_misfit


def _open(model: Any) -> Any:
    from tasks.models.openai import OpenAIClient

    return OpenAIClient(model)


def _check(model: Any) -> str:
    if not (model.base_url and model.api_version):
        return "provider azure needs `base_url` and `api_version`"
    return find_misfit(model)


UNIT = Provider(name="azure", version=1, open=_open, options=Options, check=_check)
