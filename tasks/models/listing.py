"""Query an OpenAI-compatible server's model list without the openai package: cached runs call no model."""

import gc
import os
from collections.abc import Mapping
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING

import httpx

from config.settings import Model
from data.records import Call, Reply
from tasks.models.openai_forms import identified
from tasks.models.secrets import bare, carriers, find_key, read_address

if TYPE_CHECKING:
    from tasks.models.openai import OpenAIClient

_LISTED_S = 10.0
_USUAL = "https://api.openai.com/v1"


class ListingClient:
    """A client that imports its package (0.4 s) only for a call or after an error.

    `identity` is answered here if the server's listing raises no objection; otherwise the package's own client asks
    again and reports the error.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._access()  # errors in it are reported at once

    @cached_property
    def opened(self) -> "OpenAIClient":
        """The package's own client."""
        from tasks.models.openai import OpenAIClient

        made = OpenAIClient(self._model)
        gc.freeze()  # objects of the package's import are permanent: exclude them from garbage collection
        return made

    async def identity(self) -> Mapping[str, str]:
        """Return provider, model and address; see `OpenAIClient.identity`."""
        if where := await self._listed():
            return identified(self._model, where)
        return await self.opened.identity()

    def _access(self) -> tuple[str, dict[str, str], dict[str, str]]:
        """Return the address, and the headers and the query that carry the key, which is not stored here.

        Raises:
            InputError: the address is invalid, or the key is not set.
        """
        model = self._model
        key = find_key(model)
        url, headers, query = read_address(model, model.base_url)
        carrying, asking = carriers(model, key, headers)
        return url, carrying, query | asking

    async def _listed(self) -> str:
        """Return the address of a server that lists its models or does not refuse the key; '' otherwise."""
        address, headers, query = self._access()
        try:
            url = httpx.URL(address or os.environ.get("OPENAI_BASE_URL", _USUAL))
            # If there is nothing to verify, the CA certificates need not be read.
            async with (
                httpx.AsyncClient(timeout=_LISTED_S, verify=url.scheme != "http") as client,
                client.stream("GET", f"{str(url).rstrip('/')}/models", headers=headers, params=query) as response,
            ):
                return "" if response.status_code == HTTPStatus.UNAUTHORIZED else bare(str(url))
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, OSError):
            return ""

    async def ask(self, call: Call) -> Reply:
        """Ask once; see `OpenAIClient.ask`."""
        return await self.opened.ask(call)

    async def close(self) -> None:
        """Close the connections."""
        if "opened" in vars(self):
            await self.opened.close()
