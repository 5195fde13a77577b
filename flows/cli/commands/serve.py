"""`serve`: see `flows.cli.commands.deployment`."""

from flows.cli.commands.deployment import server as serve

__all__ = ["serve"]
