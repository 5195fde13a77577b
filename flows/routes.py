"""How Prefect's clients reach its server: by the routes that model servers are reached by.

Prefect's HTTP package asks this machine through the environment's proxy, and ends at a NO_PROXY that it
cannot read.
"""

from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import Any
from urllib.request import getproxies_environment

from basic_control.data.errors import InputError
from basic_control.tasks.models.access import strip_secrets
from basic_control.tasks.models.proxies import find_proxy, settle_proxies

_ROUTED = "basic_control_routed"


def route_clients() -> None:
    """Let Prefect's clients of this process take our routes; a deployed run gets its proxies back."""
    from prefect.client.base import PrefectHttpxAsyncClient, PrefectHttpxSyncClient  # slow to import

    settle_proxies()
    for kind in (PrefectHttpxAsyncClient, PrefectHttpxSyncClient):
        if not hasattr(kind, _ROUTED):
            setattr(kind, "__init__", _route(kind.__init__))  # noqa: B010 - a type checker forbids it otherwise
            setattr(kind, _ROUTED, True)


def proxy_options(url: str) -> dict[str, Any]:
    """Return the options of an HTTP client of Prefect's package for an address.

    Raises:
        InputError: the proxy needs a package that is not installed.
    """
    proxy = find_proxy(url)
    if proxy.startswith("socks") and not find_spec("socksio"):
        where, server = strip_secrets(proxy), strip_secrets(url)
        raise InputError(
            f"{server}: the environment's proxy is {where}, and Prefect needs the package socksio for it. Install "
            "that (pip install socksio), or name the server in NO_PROXY."
        )
    return {"trust_env": False, "proxy": proxy or None}


def _route(begin: Callable[..., None]) -> Callable[..., None]:
    """Return a client's constructor that decides the route to its address by our rule."""

    @wraps(begin)
    def construct(client: object, *args: Any, **options: Any) -> None:
        # Without proxies in the environment nothing is changed.
        if getproxies_environment() and "transport" not in options:
            options = proxy_options(str(options.get("base_url", ""))) | options
        begin(client, *args, **options)

    return construct
