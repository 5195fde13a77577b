"""Tell public internet addresses from all others, and find addresses written in disguise."""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address

_IPV4 = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
        "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
        "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        "168.63.129.16/32",  # looks public, but is the host machine's own service on Azure
    )
)  # fmt: skip
_GLOBAL = IPv6Network("2000::/3")
"""All that is in use of IPv6: what lies outside is loopback, mapped, compatible, NAT64, local or multicast."""

_IPV6 = tuple(
    IPv6Network(block)
    for block in ("2001::/23", "2001:db8::/32", "2002::/16", "3ffe::/16", "3fff::/20", "2620:4f:8000::/48")
)
_ISATAP = (0x00005EFE, 0x02005EFE)
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{0,16}|[0-9]{1,24}")


def is_public(address: Address) -> bool:
    """Tell whether an address is one of the public internet.

    False for private, loopback, link-local, shared, multicast, reserved and documentation addresses, and for IPv6
    that carries another address in it (mapped, compatible, NAT64, 6to4, Teredo, ISATAP).

    Source: IANA's special-purpose address registries (RFC 6890 and its updates).
    """
    if isinstance(address, IPv4Address):
        return not any(address in block for block in _IPV4)
    carries = (int(address) >> 32) & 0xFFFFFFFF in _ISATAP
    return address in _GLOBAL and not carries and not any(address in block for block in _IPV6)


def read_address(text: str) -> Address | None:
    """Read an address in its plain form (no zone, no octal, no short form); None where it is none."""
    try:
        return None if "%" in text else ip_address(text)
    except ValueError:
        return None


def ends_in_number(host: str) -> bool:
    """Tell whether a host's last label is a number, so that resolvers take the whole for an IPv4 address.

    Source: the WHATWG URL standard.
    """
    last = host.removesuffix(".").rpartition(".")[2]
    return bool(_NUMBER.fullmatch(last))


def read_disguised(host: str) -> IPv4Address | None:
    """Read an IPv4 address as the C library does: decimal, octal or hexadecimal, one to four parts."""
    parts = host.removesuffix(".").split(".")
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):  # noqa: PLR2004 - bytes of an address
        return None
    try:
        numbers = [_read_number(part) for part in parts]
    except ValueError:
        return None
    room = 256 ** (5 - len(numbers))
    if any(number > 255 for number in numbers[:-1]) or numbers[-1] >= room:  # noqa: PLR2004 - a byte
        return None
    value = numbers[-1]
    for place, number in enumerate(numbers[:-1]):
        value += number << (8 * (3 - place))
    return IPv4Address(value)


def _read_number(text: str) -> int:
    if text[:2].lower() == "0x":
        return int(text[2:] or "0", 16)
    return int(text, 8) if text.startswith("0") and len(text) > 1 else int(text)
