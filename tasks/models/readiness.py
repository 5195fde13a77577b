"""Detect without a client what keeps a model from answering: no key, nothing at its address, too few sockets."""

import contextlib
import ipaddress
import socket
import sys
from urllib.parse import urlsplit

from config.settings import Model
from data.errors import InputError
from tasks.models.access import find_key, strip_secrets
from tasks.models.proxies import proxy_of

KNOCK_S = 0.3
"""How long an address has to refuse a connection: one that has not by then may be slow, and is called normally."""
PORTS = {"http": 80, "https": 443}
SPARE = 256
"""Files that a process has open besides its connections to models."""


def lacking(model: Model, url: str) -> str:
    """Return why a model cannot be called at an address; '' if no problem is known."""
    try:
        find_key(model)
    except InputError as error:
        return str(error)
    if url and _refused(url):
        named = "provider" in model.model_fields_set
        assumed = "" if named else f", or set its `provider` (default: {model.provider})"
        return (
            f"model {model.name!r}: nothing listens at {strip_secrets(url)} (connection refused). Start its "
            f"server, or correct its address (`base_url` or `url`){assumed}."
        )
    return ""


def _refused(url: str) -> bool:
    """Return whether a local or numeric address refuses connections; resolving names may take long."""
    if proxy_of(url):
        return False
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)
        if host != "localhost":
            ipaddress.ip_address(host)
        socket.create_connection((host, port), timeout=KNOCK_S).close()
    except ConnectionRefusedError:
        return True
    except (ValueError, OSError):
        return False
    return False


def connections_allowed(wanted: int) -> int:
    """Raise the system's limit to this many connections; return how many of them it allows.

    The initial limit is often below what is allowed on request: 1 024 open files, and then a million.
    """
    if sys.platform == "win32":  # it has no limit
        return wanted
    import resource

    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + SPARE
    if now == resource.RLIM_INFINITY or now >= needed:
        return wanted
    more = needed if most == resource.RLIM_INFINITY else min(needed, most)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (more, most))
    now, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(wanted, max(1, now - SPARE))
