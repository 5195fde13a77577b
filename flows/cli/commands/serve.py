"""`serve`: a Prefect server on loopback. Its password comes from the environment, or from a private file."""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Annotated

from cyclopts import Parameter, Token
from cyclopts.validators import Number

Port = Annotated[
    int,
    Parameter(
        name="--port",
        validator=Number(gte=1, lte=65535),
        help="the server's port on 127.0.0.1, 1 to 65535 (default: 4200)",
    ),
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


def serve(*, port: Port = 4200, host: Host = "127.0.0.1") -> int:
    """Run a Prefect server with authentication, on loopback unless told otherwise."""
    from flows.deployment import start

    return start("serve", port, host)
