"""Life under a Prefect server: `server` runs one on loopback, `deploy` registers, `worker` runs what is due.

The API's password comes from the environment, or from a private file that the first of the three makes.
"""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Annotated

from cyclopts import Parameter, Token

SHOWN = False
"""For `python -m flows.deployment`: the same stand among the commands as serve, deploy and worker."""
LAST = 65_535


def _port(_type: object, tokens: Sequence[Token]) -> int:
    """Read a port's number."""
    text = tokens[0].value
    if not text.isascii() or not text.isdecimal() or not 0 < int(text) <= LAST:
        raise ValueError(f"found {text!r}, expected a number from 1 to {LAST}")
    return int(text)


Port = Annotated[
    int, Parameter(name="--port", converter=_port, help="the server's port on 127.0.0.1 (default: 4200)")
]


def _host(_type: object, tokens: Sequence[Token]) -> str:
    """Read an address of this machine."""
    text = tokens[0].value
    try:
        return str(ip_address(text))
    except ValueError as error:
        raise ValueError(
            f"found {text!r}, expected an IP address, such as 0.0.0.0 for all of this machine's"
        ) from error


Host = Annotated[
    str, Parameter(name="--host", converter=_host, help="where it listens; 127.0.0.1, or 0.0.0.0 in a container")
]


def server(*, port: Port = 4200, host: Host = "127.0.0.1") -> int:
    """Run a Prefect server with authentication, on loopback unless told otherwise."""
    from flows.deployment import start

    return start("server", port, host)


def deploy(*, port: Port = 4200) -> int:
    """Make the work pool, register the scheduled deployments of `prefect.yaml`, have dead runs become Crashed."""
    from flows.deployment import start

    return start("deploy", port)


def worker(*, port: Port = 4200) -> int:
    """Run what is due on the server."""
    from flows.deployment import start

    return start("worker", port)


VERBS = (server, deploy, worker)
