"""`worker`: runs what is due on the server."""

from flows.cli.commands.serve import Port


def worker(*, port: Port = 4200) -> int:
    """Run what is due on the server."""
    from flows.deployment import start

    return start("worker", port)
