"""Servers with OpenAI's API: OpenAI, Azure, Gemini's compatible endpoint, vLLM and many others."""

import gc
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from basic_control.config.addresses import find_secret_part
from basic_control.config.settings import Model
from basic_control.data.records import Call, Reply
from basic_control.tasks.models.access import find_key_variable
from basic_control.tasks.models.dialect import Dialect
from basic_control.tasks.models.openai_forms import Body, Chat, Responses
from basic_control.tasks.models.server import CONNECT_S, Server

if TYPE_CHECKING:
    from openai import AsyncOpenAI, RequestOptions

_USUAL = "https://api.openai.com/v1"
_OPTIONS: "RequestOptions" = {
    "security": {"bearer_auth": True},  # OPENAI_ADMIN_KEY is not for model calls
    "idempotency_key": "none",  # never sent, but the package draws random bytes for it on each call
}


class OpenAIClient:
    """A model behind an OpenAI-compatible server, called through the openai package, whose client is `api`.

    The package takes 0.7 s to import: a run whose replies are all remembered does without.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._is_azure = model.provider == "azure"
        url = model.base_url
        header = "api-key"
        if not self._is_azure:
            url, header = url or os.environ.get("OPENAI_BASE_URL") or _USUAL, ""
        self.server = Server(model, url, key_header=header, variable=find_key_variable(model))
        names = f"the model name {model.server_name!r} and the address {self.server.where} (many end in /v1)"
        self.server.errors.advice |= {
            "connection": "check that the server runs there",
            "quota": "the account is exhausted: top it up, or use another key",
            "unknown_model": f"check {names}",
        }
        form = Responses() if model.options.get("api") == "responses" else Chat()
        self.dialect = Dialect(model, form, self.server.errors)
        self._http = self.server.open_client(params=self.server.query)
        # Absolute, since a relative address is parsed again for each call; Azure's is assembled by the package.
        self.base, self._where = str(httpx.URL(self.server.url)).rstrip("/"), self.server.where
        if self._is_azure:
            self.base, self._where = "", f"{self.server.where}/openai"
        self._address = f"{self.base}{form.path}"

    def prepare(self) -> None:
        """Import the package before the first call's time counts."""
        self.api  # noqa: B018 - made at its first use

    @cached_property
    def api(self) -> "AsyncOpenAI":
        """The package's own client."""
        import httpx2
        from openai import AsyncAzureOpenAI, AsyncOpenAI

        # The server's transport carries the key, and the scheduler tries again.
        options: dict[str, Any] = {"api_key": "none", "max_retries": 0, "timeout": self._model.deadline_s}
        options |= {"default_query": self.server.query, "http_client": httpx2.AsyncClient(**self.server.options)}
        if self._is_azure:
            api: AsyncOpenAI = AsyncAzureOpenAI(
                azure_endpoint=self.server.url, api_version=self._model.api_version, **options
            )
        else:
            api = AsyncOpenAI(base_url=self.server.url, **options)
        gc.freeze()  # objects of the package's import are permanent: exclude them from garbage collection
        return api

    async def identity(self) -> Mapping[str, str]:
        """Return provider, model and address; list the server's models once, to fail early.

        A server without a listing, or one that refuses it to this key, is no error.
        """
        if not self._is_azure:  # its listing names base models, not deployments
            await self.server.await_listing(self._list_models())
        return self._describe()

    async def _list_models(self) -> None:
        address = self._address.removesuffix(self.dialect.form.path)
        with self.server.raise_call_errors():
            await self._http.get(f"{address}/models", timeout=CONNECT_S)

    def _describe(self) -> dict[str, str]:
        """Return what identifies the model."""
        model = self._model
        identity = {"provider": model.provider, "model": model.server_name, "base_url": self._where}
        # Chats have none, so that replies of earlier versions are found.
        api = str(model.options.get("api", "chat"))
        if api != "chat":
            identity["api"] = api
        query = urlsplit(model.base_url).query
        if query and not find_secret_part(model.base_url):  # hashed: an address is written down without it
            identity["query"] = hashlib.sha256(query.encode()).hexdigest()
        if model.api_version:
            identity["api_version"] = model.api_version
        return identity

    async def ask(self, call: Call) -> Reply:
        """Ask once; a refused parameter is renamed or left out and the call repeated at once."""
        return await self.dialect.ask(call, self.send)

    async def send(self, body: Body) -> bytes:
        """Return the body of the response to a call."""
        # Not `chat.completions.create`, which checks every message's types for half of all CPU time.
        from httpx2 import Response

        with self.raise_call_errors():
            response = await self.api.post(self._address, cast_to=Response, body=body, options=_OPTIONS)
        return response.content

    async def close(self) -> None:
        """Close the connections."""
        await self.server.aclose()

    @contextmanager
    def raise_call_errors(self) -> Iterator[None]:
        """Translate what the package raises itself into CallErrors."""
        from openai import OpenAIError

        with self.server.raise_call_errors(OpenAIError):
            yield
