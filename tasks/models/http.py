"""An application behind HTTP, called and parsed as the configuration says."""

import asyncio
import hashlib
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies

import httpx

from config.settings import Model
from data.draw import canonical
from data.records import Call, Reply
from tasks.models.bodies import ACCEPTED, bound
from tasks.models.errors import ServerErrors
from tasks.models.ollama import UNBOUNDED, BoundedStream, Spread
from tasks.models.protocol import CallError
from tasks.models.replies import FIELDS, offered, read_answer, read_reply
from tasks.models.secrets import Secrets, bare, carriers, find_key, read_address
from tasks.models.templates import BodyError, PathError, fill, find

_CONNECT_S = 30.0


class HttpClient:
    """An application that gets one request per call; it answers with JSON, or with plain text if no path is given.

    Redirects are not followed: they would send keys to another host, and turn a POST into a GET.
    """

    def __init__(self, model: Model) -> None:
        key = find_key(model)
        url, headers, query = read_address(model, model.base_url)
        carrying, asking = carriers(model, key, headers)
        self._model = model
        self._options = model.options
        parts = urlsplit(model.base_url)  # unlike `url`, its path as it was written
        self._url = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
        self._query = query | asking
        self._where = bare(url)
        said = {name: value for name, value in self._options.items() if value}
        self._asks = hashlib.sha256(canonical([said, query]).encode()).hexdigest()
        self._errors = ServerErrors(
            model,
            self._where,
            Secrets(key, model.base_url),
            variable=model.api_key_env,
            advice={
                "connection": "; check that the application runs there",
                "unknown_model": f"; check the address {self._where}",
            },
        )
        self._http = httpx.AsyncClient(
            headers={"Accept-Encoding": ACCEPTED, **self._options["headers"], **carrying},
            follow_redirects=False,
            timeout=httpx.Timeout(model.deadline_s, connect=min(_CONNECT_S, model.deadline_s)),
            # If the environment names a proxy, httpx's own pool uses it.
            transport=None if getproxies() else Spread(),
            limits=UNBOUNDED,
            event_hooks={"response": [bound(BoundedStream, model.max_response_bytes, self._where)]},
        )

    async def identity(self) -> Mapping[str, str]:
        """Return the address and a digest of the call's configuration; check that a server listens."""
        if not getproxies():
            parts = urlsplit(self._url)
            port, context = (443, httpx.create_ssl_context()) if parts.scheme == "https" else (80, None)
            try:
                async with asyncio.timeout(_CONNECT_S):
                    _, writer = await asyncio.open_connection(parts.hostname, parts.port or port, ssl=context)
            except (OSError, TimeoutError) as error:
                raise self._errors.broken(error) from None
            writer.close()
        return {"provider": "http", "model": self._model.served, "base_url": self._where, "asks": self._asks}

    async def ask(self, call: Call) -> Reply:
        """Ask once; see `Client`."""
        sent = self._request(call)
        try:
            answer = await self._http.request(self._options["method"], self._url, **sent)
        except (httpx.ReadTimeout, httpx.WriteTimeout):
            raise self._errors.silent() from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise self._errors.broken(error) from None
        text = _decoded(answer.content, answer.charset_encoding)
        if not answer.is_success:
            raise self._refusal(answer, text)
        return self._read(text)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def _request(self, call: Call) -> dict[str, Any]:
        """Return the request body, or for a GET the query, of a call."""
        try:
            body = fill(self._options["body"], {**offered(call), "schema": call.schema, "item_id": call.item_id})
        except BodyError as error:
            said = self._errors.clean(f"`body` cannot be filled for this item: {error}")
            raise CallError("invalid", said) from None
        if self._options["method"] == "GET":
            query = {name: value if isinstance(value, str) else json.dumps(value) for name, value in body.items()}
            return {"params": self._query | query}
        content, kind = json.dumps(body).encode(), "application/json"
        if isinstance(self._options["body"], str):
            content, kind = str(body).encode("utf-8", "replace"), "text/plain; charset=utf-8"
        own = any(name.lower() == "content-type" for name in self._options["headers"])
        return {"params": self._query, "content": content, "headers": {} if own else {"Content-Type": kind}}

    def _read(self, text: str) -> Reply:
        """Read the application's answer."""
        if not self._options["text"]:
            return read_reply(text)
        body = self._errors.parsed(text)
        given = {}
        places = {name: f"{self._where}: {name} ({self._options[name]})" for name in FIELDS}
        for name, path in ((name, self._options[name]) for name in FIELDS if self._options[name]):
            try:
                given[name] = find(body, path)
            except PathError as error:
                said = self._errors.clean(str(error))
                raise CallError("invalid", f"{places[name]}: {said}: {self._errors.quoted(text)}") from None
        return read_answer(given, places)

    def _refusal(self, answer: httpx.Response, text: str) -> CallError:
        if answer.is_redirect:
            target = bare(str(answer.headers.get("location", "")))
            said = self._errors.clean(f"redirects to {target}, and redirects are not followed")
            return CallError("invalid", f"HTTP {answer.status_code}: {said}; set `base_url` to the final address")
        return self._errors.refusal(answer.status_code, answer.headers, text)


def _decoded(body: bytes, charset: str | None) -> str:
    """Return a body's text; undecodable bytes become U+FFFD."""
    try:
        return body.decode(charset or "utf-8-sig", "replace")
    except LookupError:
        return body.decode("utf-8-sig", "replace")
