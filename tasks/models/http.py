"""An application behind HTTP, called and parsed as the configuration says."""

import asyncio
import hashlib
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from basic_control.config.settings import Model
from basic_control.data.draw import format_canonical
from basic_control.data.records import Call, Reply
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.models.proxies import PORTS, find_proxy
from basic_control.tasks.models.replies import FIELDS, build_offer, read_answer, read_reply
from basic_control.tasks.models.server import CONNECT_S, Server
from basic_control.tasks.models.templates import BodyError, PathError, fill_body, find_values


class HttpClient:
    """An application that gets one request per call; it answers with JSON, or with plain text if no path is given.

    Redirects are not followed: they would turn a POST into a GET.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._options = model.options
        self._server = Server(model, model.base_url, variable=model.api_key_env, follows=False)
        self._errors = self._server.errors
        self._errors.advice |= {
            "connection": "check that the application runs there",
            "unknown_model": f"check the address {self._server.where}",
        }
        # Unlike the server's `url`, with its path as it was written.
        parts = urlsplit(model.base_url)
        self._url = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
        self._http = self._server.open_client()
        self._http.headers.update(self._options["headers"])

    async def identity(self) -> Mapping[str, str]:
        """Return the address and a digest of the call's configuration; check that a server listens."""
        parts = urlsplit(self._model.base_url)
        if not find_proxy(self._url):
            try:
                async with asyncio.timeout(CONNECT_S):
                    _, writer = await asyncio.open_connection(parts.hostname, parts.port or PORTS[parts.scheme])
            except (OSError, TimeoutError) as error:
                raise self._errors.build_connection_error(error) from None
            writer.close()
        # All that changes what an answer means, but for the key.
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        options = {name: value for name, value in self._options.items() if value}
        digest = hashlib.sha256(format_canonical([options, query]).encode()).hexdigest()
        return {
            "provider": "http",
            "model": self._model.server_name,
            "base_url": self._server.where,
            "asks": digest,
        }

    async def ask(self, call: Call) -> Reply:
        """Ask once; see `Client`."""
        request = self._request(call)
        with self._server.raise_call_errors():
            response = await self._http.request(self._options["method"], self._url, **request)
        return self._read(response.text.removeprefix("\ufeff"))

    async def close(self) -> None:
        """Close the connections."""
        await self._server.aclose()

    def _request(self, call: Call) -> dict[str, Any]:
        """Return the request body, or for a GET the query, of a call."""
        try:
            body = fill_body(
                self._options["body"], {**build_offer(call), "schema": call.schema, "item_id": call.item_id}
            )
        except BodyError as error:
            text = self._errors.clean(f"`body` cannot be filled for this item: {error}")
            raise CallError("invalid", text) from None
        if self._options["method"] == "GET":
            texts = {name: json.dumps(value) for name, value in body.items() if not isinstance(value, str)}
            return {"params": {**self._server.query, **body, **texts}}
        content, kind = json.dumps(body).encode(), "application/json"
        if isinstance(self._options["body"], str):
            content, kind = str(body).encode("utf-8", "replace"), "text/plain; charset=utf-8"
        headers = {} if "content-type" in self._http.headers else {"Content-Type": kind}
        return {"params": self._server.query, "content": content, "headers": headers}

    def _read(self, text: str) -> Reply:
        """Read the application's answer."""
        if not self._options["text"] and not self._options["messages"]:
            return read_reply(text)
        body = self._errors.parse(text.encode())
        paths = {name: self._options[name] for name in FIELDS if self._options[name]}
        places = {name: f"{self._server.where}: {name} ({self._options[name]})" for name in FIELDS}
        values = {}
        for name, path in paths.items():
            try:
                values[name] = find_values(body, path)
            except PathError as error:
                reason = f"{self._errors.clean(str(error))}: {self._errors.quote(text.encode())}"
                raise CallError("invalid", f"{places[name]}: {reason}") from None
        return read_answer(values, places)
