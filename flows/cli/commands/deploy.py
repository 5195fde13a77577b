"""`deploy`: see `flows.cli.commands.deployment`."""

from flows.cli.commands.deployment import deploy

__all__ = ["deploy"]
