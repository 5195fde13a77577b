"""What keeps a model from answering, told without its client: no key, or an address where nothing listens."""

import contextlib
import ipaddress
import socket
from urllib.parse import urlsplit
from urllib.request import getproxies

from config.settings import Model
from data.errors import InputError
from tasks.models.secrets import bare, find_key

KNOCK_S = 0.3
"""How long an address has to refuse: one that has not by then may be slow, and is asked in earnest."""
PORTS = {"http": 80, "https": 443}


def lacking(model: Model, url: str, usual: str = "", *, needed: bool = False) -> str:
    """Return what a model lacks to be asked at an address; '' where nothing is known to be wrong."""
    try:
        find_key(model, usual, needed=needed)
    except InputError as error:
        return str(error)
    if url and _refused(url):
        return (
            f"model {model.name!r}: nothing listens at {bare(url)} (connection refused). Start its server, or "
            "correct `base_url`."
        )
    return ""


def _refused(url: str) -> bool:
    """Say whether an address of this machine or of a number refuses connections; names may take long to look up."""
    if getproxies():
        return False
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)
    except ValueError:
        return False
    if host != "localhost":
        with contextlib.suppress(ValueError):
            ipaddress.ip_address(host)
            return _knocked(host, port)
        return False
    return _knocked(host, port)


def _knocked(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=KNOCK_S).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False
