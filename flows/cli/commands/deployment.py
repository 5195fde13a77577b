"""Life under a Prefect server: `server` runs one on loopback, `deploy` registers, `worker` runs what is due.

The API's password comes from the environment, or from a private file that the first of the three makes.
"""

from collections.abc import Sequence
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


def server(*, port: Port = 4200) -> int:
    """Run a Prefect server on loopback, with authentication."""
    from flows.deployment import start

    return start("server", port)


def deploy(*, port: Port = 4200) -> int:
    """Make the work pool, register the scheduled deployments of `prefect.yaml`, have dead runs become Crashed."""
    from flows.deployment import start

    return start("deploy", port)


def worker(*, port: Port = 4200) -> int:
    """Run what is due on the server."""
    from flows.deployment import start

    return start("worker", port)


VERBS = (server, deploy, worker)
