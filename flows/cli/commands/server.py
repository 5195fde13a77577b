"""Life under a Prefect server: `serve`, `deploy` and `worker`. Its password is the environment's, or a file's."""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Annotated

from cyclopts import Parameter, Token
from cyclopts.validators import Number

from data.errors import InputError
from flows.cli.options import File

Port = Annotated[
    int,
    Parameter(
        name="--port",
        validator=Number(gte=1, lte=65535),
        help="the server's port on 127.0.0.1, 1 to 65535 (default: 4200)",
    ),
]


def _host(_type: object, tokens: Sequence[Token]) -> str:
    text = tokens[0].value
    try:
        return str(ip_address(text))
    except ValueError as error:
        raise ValueError(
            f"found {text!r}, expected an IP address, such as 0.0.0.0 for all of this machine's"
        ) from error


def serve(
    *, port: Port = 4200, host: Annotated[str, Parameter(name="--host", converter=_host)] = "127.0.0.1"
) -> None:
    """Run a Prefect server with authentication, on loopback unless told otherwise.

    Args:
        host: where it listens; 127.0.0.1, or 0.0.0.0 in a container
    """
    from flows import deployment

    deployment.serve(port, host)


def deploy(
    *, config: File = "", cron: Annotated[str, Parameter(metavar="SCHEDULE")] = "", port: Port = 4200
) -> int:
    """Make the work pool, register the scheduled deployments of `prefect.yaml`, have dead runs become Crashed.

    Args:
        config: deploy this configuration alone, without a `prefect.yaml`
        cron: when it runs, in UTC, such as "0 3 * * *"
    """
    if bool(config) != bool(cron):
        raise InputError('deploy: expected --config FILE and --cron "0 3 * * *" together, or neither.')
    from flows import deployment

    return deployment.deploy(port, config, cron)


def worker(*, port: Port = 4200) -> None:
    """Run what is due on the server."""
    from flows import deployment

    deployment.work(port)
