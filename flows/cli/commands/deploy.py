"""`deploy`: the scheduled deployments of `prefect.yaml`, or of one configuration."""

from typing import Annotated

from cyclopts import Parameter

from data.errors import InputError
from flows.cli.commands.serve import Port


def deploy(
    *,
    config: Annotated[str, Parameter(metavar="FILE")] = "",
    cron: Annotated[str, Parameter(metavar="SCHEDULE")] = "",
    port: Port = 4200,
) -> int:
    """Make the work pool, register the scheduled deployments of `prefect.yaml`, have dead runs become Crashed.

    Args:
        config: deploy this configuration alone, without a `prefect.yaml`
        cron: when it runs, in UTC, such as "0 3 * * *"
    """
    if bool(config) != bool(cron):
        raise InputError('deploy: expected --config FILE and --cron "0 3 * * *" together, or neither.')
    from flows.deployment import start

    return start("deploy", port, file=config, cron=cron)
