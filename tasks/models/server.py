"""The one way to a server over HTTP, whichever package asks: its address, its key, its limits, and what fails.

A request through it gets a whole, decoded response, or ends with a CallError.
"""

import logging
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from importlib import import_module
from typing import Any

import aiohttp
import httpx
from yarl import URL

from basic_control.config.settings import Model
from basic_control.data.extras import format_install
from basic_control.tasks.models.access import find_key, read_address, strip_secrets
from basic_control.tasks.models.connections import build_tls_context, check_surplus, open_session
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.models.proxies import find_proxy
from basic_control.tasks.models.server_errors import Refusal, ServerErrors
from basic_control.tasks.runtime.bodies import ACCEPTED, TooLarge, Undecodable, read_body

CONNECT_S = 30.0
"""How long a connection may take to be made, and a server to say what models it has."""
ERROR_BYTES = 1_000_000
"""Decoded bytes read of an error or a redirect; a larger body is not read at all."""

_CREDENTIALS = {"authorization", "api-key", "x-api-key"}
"""Headers in which packages send a key of their own finding."""
_DECODED = {"content-encoding", "content-length", "transfer-encoding"}
"""Headers that say how a body was sent: here it is whole, and decoded."""
_REDIRECTS = {301, 302, 303, 307, 308}


for _name in ("httpx", "httpx2"):
    # With every call they log its address, which may hold a key. A filter outlasts a later set-up of logging.
    logging.getLogger(_name).addFilter(lambda _: False)


class Server:
    """A server, and the transport of every client that a package asks it through.

    Its connections are aiohttp's, which take half of the CPU of httpx's own: 0.45 ms a call in place of 0.75. `url`
    is its address without secrets, `query` what is asked with every request. The model's key goes where its entry
    says, else into `key_header`, else it is a bearer token; `key` takes its place. `secret` is one that the package
    finds by itself.

    Raises:
        InputError: the address is invalid, or the model's key is not set.
    """

    def __init__(
        self,
        model: Model,
        url: str,
        *,
        variable: str = "",
        key: str = "",
        key_header: str = "",
        secret: str = "",
        follows: bool = True,
    ) -> None:
        key = key or find_key(model)
        self.url, self._headers, self.query = read_address(model, url)
        header = model.api_key_header or key_header
        if key and model.api_key_query:
            self._headers = {}
            self.query[model.api_key_query] = key
        elif key:
            self._headers = {header: key} if header else {"Authorization": f"Bearer {key}"}
        # A package sends no key of its own finding beside the model's.
        self._replaced = {"accept-encoding", *map(str.lower, self._headers), *(_CREDENTIALS if key else ())}
        address = httpx.URL(self.url)
        self._origin = _origin_of(address)
        self.where = strip_secrets(str(address))
        self.errors = ServerErrors(self.where, url=url, key=key or secret, variable=variable)
        self._max_bytes = model.max_response_bytes
        # A redirect would take a key in a place of its own to another host.
        self._follows = follows and not model.key_place
        timeouts = (min(CONNECT_S, model.deadline_s), *[model.deadline_s] * 3)
        self.options: dict[str, Any] = {"transport": self, "timeout": timeouts, "follow_redirects": True}
        self._sessions: dict[str, aiohttp.ClientSession] = {}
        self._routes: dict[object, tuple[str, dict[str, Any]]] = {}

    def open_client(self, **options: Any) -> httpx.AsyncClient:
        """Return a client through which the server is asked; the keyword arguments are its own."""
        return httpx.AsyncClient(**self.options, **options)

    @contextmanager
    def raise_call_errors(self, *package_errors: type[Exception]) -> Iterator[None]:
        """Translate what fails before or after the exchange: a text that cannot be sent, redirects without end.

        `package_errors` are those of a package that asks.
        """
        try:
            yield
        except (httpx.HTTPError, httpx.InvalidURL, *package_errors) as error:
            cause = error.__cause__ or error
            if isinstance(cause, CallError):
                raise cause from None
            raise self.errors.build_connection_error(cause) from None
        except UnicodeEncodeError as error:
            text = f"the request cannot be sent: {self.errors.clean(str(error))}"
            raise CallError("invalid", text) from None

    async def await_listing(self, listing: Awaitable[Any]) -> None:
        """Await the list of a server's models, to fail early; no error if it has none, or refuses it to this key.

        Raises:
            CallError: the server cannot be reached, or the key is wrong.
        """
        try:
            await listing
        except CallError as error:
            is_refused = isinstance(error, Refusal) and error.status != HTTPStatus.UNAUTHORIZED
            if not is_refused and error.kind in {"connection", "timeout", "auth"}:
                raise

    async def handle_async_request(self, request: Any) -> Any:
        """Send a package's request and return its whole response; a redirect too, if they are followed.

        Raises:
            Refusal: the response is no success.
            CallError: there is no response, or it cannot be read.
        """
        url, timeouts = request.url, request.extensions["timeout"]
        content = await request.aread()
        session, route = self._route_to(url)
        try:
            async with session.request(
                request.method,
                URL(f"{url.scheme}://{url.netloc.decode()}{url.raw_path.decode()}", encoded=True),
                headers=self._headers_for(request),
                data=content or None,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(sock_connect=timeouts["connect"], sock_read=timeouts["read"]),
                **route,
            ) as response:
                headers, body = await self._read(response)
                check_surplus(response)
        except CallError:
            raise
        except aiohttp.SocketTimeoutError:
            raise CallError("timeout", f"no data from {self.where} for {timeouts['read']:g} s") from None
        except Exception as error:  # noqa: BLE001 - whatever a server or a proxy sends fails its own call alone
            raise self.errors.build_connection_error(error) from None
        # httpx or httpx2, whichever the request is of.
        package = import_module(type(request).__module__.partition(".")[0])
        return package.Response(response.status, headers=headers, content=body)

    async def aclose(self) -> None:
        """Close the connections."""
        for session in self._sessions.values():
            await session.close()

    def _headers_for(self, request: Any) -> list[tuple[str, str]]:
        """Return a request's headers, with the key if it goes to the server itself."""
        encoding = request.headers.encoding
        pairs = [(name.decode(encoding), value.decode(encoding)) for name, value in request.headers.raw]
        headers = [(name, value) for name, value in pairs if name.lower() not in self._replaced]
        headers.append(("Accept-Encoding", ACCEPTED))
        if _origin_of(request.url) == self._origin:
            headers += self._headers.items()
        return headers

    def _route_to(self, url: Any) -> tuple[aiohttp.ClientSession, dict[str, Any]]:
        """Return the session for an address, and its options: an HTTP proxy, and the TLS settings.

        Raises:
            CallError: the environment's proxy cannot be used.
        """
        origin = _origin_of(url)
        if origin not in self._routes:
            proxy = find_proxy(str(url))
            self.errors.hide_credentials(proxy)
            options: dict[str, Any] = {"ssl": url.scheme != "https" or build_tls_context()}
            if proxy.lower().startswith("socks"):
                self._routes[origin] = proxy, options
            else:
                self._routes[origin] = "", options | {"proxy": proxy or None}
        socks, options = self._routes[origin]
        # Opened in the event loop of the first request.
        if socks not in self._sessions:
            try:
                self._sessions[socks] = open_session(socks)
            except ImportError:
                advice = f"it needs the extra `socks`; install it ({format_install('socks')})"
                raise self.errors.refuse_proxy(socks, advice) from None
            except ValueError as error:
                raise self.errors.refuse_proxy(socks, f"correct it: {error}") from None
        return self._sessions[socks], options

    async def _read(self, response: aiohttp.ClientResponse) -> tuple[list[tuple[str, str]], bytes]:
        """Return a response's headers and decoded body; see `handle_async_request`."""
        is_success, headers = httpx.codes.is_success(response.status), response.headers
        limit = self._max_bytes
        if not is_success:
            limit = min(limit, ERROR_BYTES)
        body = b""
        try:
            body = await read_body(response.content.iter_any(), headers.get("Content-Encoding", ""), limit)
        except TooLarge:
            if is_success:
                text = f"{self.where} sent more than {limit} bytes (max_response_bytes)"
                raise CallError("invalid", text) from None
        except Undecodable as error:
            if is_success:
                raise CallError("server", f"{self.where} sent a body that cannot be decoded: {error}") from None
        location = headers.get("Location", "") if response.status in _REDIRECTS else ""
        if location and not self._follows:
            raise self.errors.redirect(response.status, location)
        if not (is_success or location):
            raise self.errors.refusal(response.status, headers, body.decode("utf-8", "replace"))
        return [(name, value) for name, value in headers.items() if name.lower() not in _DECODED], body


def _origin_of(url: Any) -> tuple[str, str, int | None]:
    """Return what a key is meant for, and what has a proxy of its own: scheme, host and port."""
    return url.scheme, url.host, url.port
