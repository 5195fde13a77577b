"""Connections to model servers."""

import ssl
from importlib import import_module
from typing import Any
from weakref import WeakSet

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

IDLE_S = 60.0
"""How long an unused connection is kept."""
MOST_OF_HEADER = 64 * 1024
"""Bytes read of a header: a gateway's cookies may be long."""


class Connector(aiohttp.TCPConnector):
    """Connections that are closed once anything arrived on them that nobody asked for."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        # The endpoint limits how many there are (`rate_limits`).
        super().__init__(*arguments, limit=0, keepalive_timeout=IDLE_S, **options)
        self._used = WeakSet[ResponseHandler]()

    async def connect(self, *args: Any, **options: Any) -> Connection:
        """Return a connection: a new one, or one on which all has been read."""
        while True:
            connection = await super().connect(*args, **options)
            protocol = connection.protocol
            # A second answer to the last question would be taken for the answer to the next.
            if protocol in self._used and protocol is not None and protocol.should_close:
                connection.close()
                continue
            if protocol is not None:
                self._used.add(protocol)
            return connection


def open_session(socks: str = "") -> aiohttp.ClientSession:
    """Return a session that sends what the packages' clients wrote; cookies and redirects are theirs.

    `socks`: the SOCKS proxy that it asks through.

    Raises:
        ImportError: the package for such proxies is not installed.
        ValueError: the proxy's address is none.
    """
    return aiohttp.ClientSession(
        connector=_connector_through(socks) if socks else Connector(),
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
        auto_decompress=False,
        max_line_size=MOST_OF_HEADER,
        max_field_size=MOST_OF_HEADER,
    )


def _connector_through(socks: str) -> Connector:
    """Return the connector of a SOCKS proxy."""
    package: Any = import_module("aiohttp_socks")

    class SocksConnector(Connector, package.ProxyConnector):
        """Connections through a SOCKS proxy."""

    # socks5h has the proxy resolve names, as this package does anyway; socks is what desktops write for socks5.
    scheme, _, address = socks.partition("://")
    scheme = {"socks": "socks5", "socks5h": "socks5", "socks4a": "socks4"}.get(scheme, scheme)
    return SocksConnector.from_url(f"{scheme}://{address}", rdns=True)


def check_surplus(response: aiohttp.ClientResponse) -> None:
    """Check that one response arrived: of two, nothing says which is the question's.

    Raises:
        ValueError: there are more.
    """
    protocol = response._protocol  # noqa: SLF001 - the connection itself is given back at the body's end
    if protocol is not None and len(protocol) > 0:
        raise ValueError("it sent two answers to one request, and neither is used")


def build_tls_context() -> ssl.SSLContext:
    """Return what verifies certificates: SSL_CERT_FILE's or SSL_CERT_DIR's, else the system's."""
    import httpx2

    return httpx2.create_ssl_context()
