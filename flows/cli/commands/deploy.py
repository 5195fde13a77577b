"""`deploy`: the scheduled deployments of `prefect.yaml`."""

from flows.cli.commands.serve import Port


def deploy(*, port: Port = 4200) -> int:
    """Make the work pool, register the scheduled deployments of `prefect.yaml`, have dead runs become Crashed."""
    from flows.deployment import start

    return start("deploy", port)
