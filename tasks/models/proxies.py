"""Which proxy leads to an address: the environment's, and none to this machine."""

import ipaddress
import json
import os
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from urllib.parse import urlsplit
from urllib.request import getproxies, getproxies_environment, proxy_bypass

PORTS = {"http": 80, "https": 443}
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
SAVED = "BASIC_CONTROL_PROXIES"
"""The variable that hands the environment's proxies on to a process that must not read them itself."""

# [fd00::1]:8080, models.example:8080, or a whole IPv6 address, which has more colons
_EXCEPTION = re.compile(
    r"\[(?P<inside>[^\]]*)\](?P<bits>/\d+)?(?::(?P<port>\d+))?|(?P<host>[^:]*):(?P<host_port>\d+)"
)


def find_proxy(url: str) -> str:
    """Return the address of the proxy through which an address is asked; '' if it is asked directly."""
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS.get(parts.scheme, 0)
    except ValueError:  # no address, which whoever asks it says
        return ""
    host = _name_of(parts.hostname or "")
    environment = getproxies_environment()
    if is_this_machine(host):
        return ""
    if environment:
        # As in: localhost,10.0.0.0/8, .example.com
        exceptions = re.split(r"[,\s]+", environment.get("no", ""))
        is_direct = any(_is_excepted(text, parts.scheme, host, port) for text in exceptions if text)
    else:
        is_direct = bool(proxy_bypass(host))
    if is_direct:
        return ""
    proxies = environment or getproxies()
    proxy = (proxies.get(parts.scheme) or proxies.get("all") or "").strip()
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy.removeprefix('//')}"
    return proxy


def is_this_machine(host: str) -> bool:
    """Return whether a host is this machine as it is written; names are not resolved."""
    host = _name_of(host)
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address_of(host)
    return address is not None and address.is_loopback


def _name_of(host: str) -> str:
    """Return a host as it is compared: in lower case, without the dot at its end or an address's zone."""
    return host.lower().rstrip(".").partition("%")[0]


def _address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that a host is, ::ffff:10.0.0.1 as 10.0.0.1; None if it is a name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _is_excepted(text: str, scheme: str, host: str, port: int) -> bool:
    """Return whether an entry of NO_PROXY names a host: `*`, a domain, address or network, perhaps with a port."""
    form, separator, target = text.rpartition("://")
    if separator and form.lower() not in {"all", scheme}:
        return False
    if not target.rpartition("/")[2].isdecimal():  # a path, and no network's length
        target = target.partition("/")[0]
    match = _EXCEPTION.fullmatch(target)
    if match and match["host"] is None:
        target = match["inside"] + (match["bits"] or "")
    elif match:
        target = match["host"]
    expected_port = match and (match["port"] or match["host_port"])
    if expected_port and int(expected_port) != port:
        return False
    target = _name_of(target)
    address = _address_of(host)
    if address:
        return target == "*" or _holds(target, address)
    # Of `.example.com`, `*.example.com` and `example.com` each means the domain and all below it.
    domain = target.removeprefix("*.").lstrip(".")
    return bool(target) and (fnmatchcase(host, target) or host == domain or host.endswith(f".{domain}"))


def _holds(network: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return whether an address or a network, as text, holds an address; 10.* too."""
    try:
        block = ipaddress.ip_network(network, strict=False)
    except ValueError:
        return "*" in network and fnmatchcase(str(address), network)
    same_kind = block.version == address.version
    return (same_kind and address in block) or _address_of(network) == address


def build_prefect_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return a Prefect process's environment: its HTTP package ends at what it cannot read, and asks all by proxy.

    Only plain proxies are kept, and none leads to this machine; `settle_proxies` returns what was there.
    """
    originals = {name: text for name, text in environment.items() if name.lower() in VARIABLES}
    if not originals or SAVED in environment:
        return dict(environment)
    changed = dict(originals)
    for name, text in originals.items():
        if not _is_plain(text):
            changed[name] = ""
    # A colon is an IPv6 address's or a port's, which that package takes for a broken URL.
    entries = re.split(r"[,\s]+", environment.get("no_proxy") or environment.get("NO_PROXY", ""))
    readable = [entry for entry in entries if entry and not re.search(r"[:\[\]]", entry)]
    for name in ("no_proxy", "NO_PROXY"):
        changed[name] = ",".join([*readable, *LOOPBACK])
    return {**environment, **changed, SAVED: json.dumps(originals)}


def settle_proxies() -> None:
    """Give this process the proxies back that `build_prefect_environment` replaced, and none for this machine."""
    saved = os.environ.pop(SAVED, "")
    if saved:
        for name in [name for name in os.environ if name.lower() in VARIABLES]:
            del os.environ[name]
        os.environ |= json.loads(saved)
    if getproxies_environment():
        exceptions = os.environ.get("no_proxy") or os.environ.get("NO_PROXY", "")
        if not exceptions.endswith(",".join(LOOPBACK)):
            exceptions = ",".join(filter(None, (exceptions, *LOOPBACK)))
        os.environ |= {"no_proxy": exceptions, "NO_PROXY": exceptions}


def _is_plain(proxy: str) -> bool:
    """Return whether a proxy is one that every HTTP package can use."""
    try:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        return parts.scheme in PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
