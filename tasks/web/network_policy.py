"""What may be accessed, and how much of it: names, addresses, ports, sizes, times."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from basic_control.metrics.citation.urls import Address, is_public, read_address

USER_AGENT: Final = "basic-control/0.1 (LLM evaluation; checks pages that a model's answer cites)"
PRODUCT: Final = "basic-control"
"""The name that robots.txt may address."""


class HostRefused(Exception):  # noqa: N818 - said of a host
    """A refused host; the message is a reason for `judge_outcome`."""


Resolve = Callable[[str], Awaitable[list[str]]]
"""Return a name's addresses in plain form; raise HostRefused with the reason if there are none."""


async def resolve_name(host: str) -> list[str]:
    """Resolve a name with the system's resolver, unchanged: no search domain is appended.

    Raises:
        HostRefused: the name does not exist, or cannot be looked up now.
    """
    loop = asyncio.get_running_loop()
    try:
        entries = await loop.getaddrinfo(f"{host}.", None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}:
            raise HostRefused("the name does not resolve") from error
        raise HostRefused("the name cannot be looked up") from error
    except (OSError, UnicodeError) as error:
        raise HostRefused("the name cannot be looked up") from error
    return list(dict.fromkeys(str(address[0]) for *_, address in entries))


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a page is read, and for how long; seconds and bytes.

    `head_bytes` is the limit before a reply's body (headers, and endless interim replies); `delay_s` is the delay
    between two pages of a site, more if its robots.txt asks for it.
    """

    connect_s: float = 5.0
    total_s: float = 20.0
    read_s: float = 10.0
    page_bytes: int = 3_000_000
    robots_bytes: int = 512_000
    head_bytes: int = 170_000
    extraction_s: float = 10.0
    redirects: int = 5
    addresses: int = 3
    delay_s: float = 1.0
    longest_delay_s: float = 10.0
    at_once: int = 16
    pages_per_answer: int = 20
    failures_per_site: int = 3


@dataclass(frozen=True, slots=True)
class NetworkPolicy:
    """The network access for checks of sources.

    `resolve` looks a name up; `allows` says whether an address may be connected to; `ports` maps each port allowed
    in a URL to the one that is dialled. `control` is a name that resolves wherever there is a network: only if it
    does, a name that does not resolve counts as nonexistent.
    """

    resolve: Resolve = resolve_name
    allows: Callable[[Address], bool] = is_public
    ports: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({80: 80, 443: 443}))
    control: str = "iana.org"
    limits: Limits = field(default_factory=Limits)
    tls: ssl.SSLContext | None = None

    async def addresses(self, host: str) -> list[str]:
        """Return the allowed addresses of a host, each checked.

        One non-public address among them refuses the name: a name that points inside is a trick.

        Raises:
            HostRefused: there are none, or one is not public.
        """
        # A literal address is its own.
        texts = [host] if read_address(host) else await self.resolve(host)
        addresses = [*map(read_address, texts)]
        if not addresses:
            raise HostRefused("the name does not resolve")
        if not all(address is not None and self.allows(address) for address in addresses):
            raise HostRefused("not a public address")
        return [str(address) for address in addresses]
