"""OpenAI's models on Azure."""

from typing import Any

from data.records import Provider
from tasks.models.providers.openai import Options, check, unready


def _open(model: Any) -> Any:
    from tasks.models.openai import OpenAIClient

    return OpenAIClient(model)


def _check(model: Any) -> str:
    whole = model.base_url and model.api_version
    return check(model) if whole else "provider azure needs `base_url` and `api_version`"


UNIT = Provider(name="azure", version=1, open=_open, unready=unready, options=Options, check=_check)
