"""Run evaluations on a schedule, under a Prefect server; the password is in the environment or a file."""

from ipaddress import IPv4Address, IPv6Address
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from basic_control.data.errors import InputError
from basic_control.flows.cli.options import File

Address = Annotated[IPv4Address | IPv6Address, Parameter(metavar="ADDRESS")]
LOOPBACK = IPv4Address("127.0.0.1")
Port = Annotated[
    int,
    Parameter(
        name="--port",
        validator=Number(gte=1, lte=65535),
        help="the server's port on 127.0.0.1, 1 to 65535 (default: 4200)",
    ),
]


def serve(*, port: Port = 4200, host: Address = LOOPBACK) -> None:
    """Run a Prefect server with authentication, on loopback unless told otherwise.

    Args:
        host: the IP address to listen at, such as 0.0.0.0 in a container (default: 127.0.0.1)
    """
    from basic_control.flows import deployment

    deployment.serve(port, str(host))


def deploy(
    file: File = "",
    /,
    *,
    config: Annotated[File, Parameter(show=False)] = "",
    cron: Annotated[str, Parameter(metavar="SCHEDULE")] = "",
    port: Port = 4200,
) -> int:
    """Create the work pool, register the deployments of `prefect.yaml`, and have dead runs marked as Crashed.

    Args:
        file: deploy only this configuration, without a `prefect.yaml`
        cron: when it runs, in UTC, such as "0 3 * * *"
    """
    file = file or config
    if bool(file) != bool(cron):
        raise InputError('deploy: expected FILE and --cron "0 3 * * *" together, or neither.')
    from basic_control.flows import deployment

    return deployment.deploy(port, file, cron)


def worker(*, port: Port = 4200) -> None:
    """Run the deployments that are due on the server."""
    from basic_control.flows import deployment

    deployment.work(port)


VERBS = (serve, deploy, worker)
