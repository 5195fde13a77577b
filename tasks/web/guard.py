"""Connect to exactly the address that was checked, and read no more than is allowed."""

import asyncio
import ssl
from collections.abc import Iterable
from typing import Any

import httpcore

from tasks.web.bodies import TooLarge
from tasks.web.policy import HostRefused, NetworkPolicy


class MeteredStream(httpcore.AsyncNetworkStream):
    """A connection that is over when more has come than is allowed, whatever it is: headers, hints, body."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, most: int) -> None:
        self._stream = stream
        self._left = most

    def allow(self, more: int) -> None:
        """Let more bytes come."""
        self._left += more

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's
        """Read what has come.

        Raises:
            TooLarge: it is more than is allowed.
        """
        data = await self._stream.read(max_bytes, timeout)
        self._left -= len(data)
        if self._left < 0:
            raise TooLarge("larger than is read")
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - httpcore's
        """Send."""
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close."""
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's
    ) -> "MeteredStream":
        """Begin TLS with the name that was asked for."""
        return MeteredStream(await self._stream.start_tls(ssl_context, server_hostname, timeout), self._left)

    def get_extra_info(self, info: str) -> Any:
        """Return what is known of the connection."""
        return self._stream.get_extra_info(info)


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Look a host up, check every address of it, and dial one of those: no other lookup follows.

    TLS keeps the name (SNI and certificate), as the request's Host does.
    """

    def __init__(self, net: NetworkPolicy) -> None:
        self._net = net
        self._dialler: httpcore.AsyncNetworkBackend = httpcore.AnyIOBackend()  # pyrefly: ignore[bad-assignment] # anyio is here

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to a host that is allowed.

        Raises:
            Refused: its port or one of its addresses is not allowed, or it has none.
        """
        limits = self._net.limits
        if port not in self._net.ports:
            raise HostRefused("a port that is not fetched")
        tried = (await self._net.addresses(host))[: limits.addresses]
        for address in tried:
            try:
                stream = await self._dialler.connect_tcp(
                    address, self._net.ports[port], timeout, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if address == tried[-1]:
                    raise
            else:
                return MeteredStream(stream, limits.head_bytes)
        raise HostRefused("no connection")

    async def connect_unix_socket(
        self,
        path: str,  # noqa: ARG002 - httpcore's interface
        timeout: float | None = None,  # noqa: ARG002, ASYNC109 - httpcore's interface
        socket_options: Iterable[Any] | None = None,  # noqa: ARG002 - httpcore's interface
    ) -> httpcore.AsyncNetworkStream:
        """Refuse: no page stands behind a Unix socket."""
        raise HostRefused("not a public address")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
