"""Detect without a client what keeps a model from answering: no key, nothing at its address, too few sockets."""

import contextlib
import ipaddress
import socket
import sys
from urllib.parse import urlsplit

from basic_control.config.settings import Model
from basic_control.data.errors import InputError
from basic_control.tasks.models.access import find_address, find_key, strip_secrets
from basic_control.tasks.models.proxies import PORTS, find_proxy

KNOCK_S = 0.3
"""How long an address has to refuse a connection: one that has not by then may be slow, and is called normally."""
LEAST_FILES = 64
"""Files without which no run begins."""
SPARE = 256
"""Files that a process has open besides its connections to models."""


def find_obstacle(model: Model) -> str:
    """Return why a model cannot answer now; '' if no problem is known."""
    if model.unit.unready:
        return model.unit.unready(model)
    return find_obstacle_at(model, model.base_url)


def find_obstacle_at(model: Model, url: str) -> str:
    """Return why a model cannot be called at an address; '' if no problem is known."""
    try:
        find_key(model)
    except InputError as error:
        return str(error)
    if not url or not _refuses(url):
        return ""
    advice = "correct its address (`base_url` or `url`)"
    if "provider" not in model.model_fields_set:
        advice += f", or set its `provider` (default: {model.provider})"
    where = f"nothing listens at {strip_secrets(url)} (connection refused)"
    return f"model {model.name!r}: {where}. Start its server, or {advice}."


def is_down(model: Model) -> bool:
    """Return whether nothing listens at the address of a model's server."""
    url = find_address(model)
    return bool(url) and _refuses(url)


def _refuses(url: str) -> bool:
    """Return whether a local or numeric address refuses connections; resolving names may take long."""
    if find_proxy(url):
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


def count_connections(count: int) -> int:
    """Raise the system's limit to this many connections; return how many of them it allows.

    The initial limit is often below what is allowed on request: 1 024 open files, and then a million.
    """
    if sys.platform == "win32":  # it has no limit
        return count
    import resource

    limit, ceiling = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = count + SPARE
    if limit == resource.RLIM_INFINITY or limit >= needed:
        return count
    # Without a ceiling what is needed is allowed.
    if ceiling != resource.RLIM_INFINITY:
        needed = min(needed, ceiling)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, ceiling))
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(count, max(1, limit - SPARE))


def check_files() -> None:
    """Check that this process may have as many files open as any run needs.

    Raises:
        InputError: it may not.
    """
    count_connections(1)  # asks for more, if fewer are allowed at first
    if sys.platform == "win32":
        return
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit != resource.RLIM_INFINITY and limit < LEAST_FILES:
        raise InputError(
            f"This process may have {limit} files open, and a run needs {LEAST_FILES} or more. Raise the limit, "
            "for example with: ulimit -n 1024"
        )
