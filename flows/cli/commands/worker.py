"""`worker`: see `flows.cli.commands.deployment`."""

from flows.cli.commands.deployment import worker

__all__ = ["worker"]
