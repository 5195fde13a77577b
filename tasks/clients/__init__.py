"""The only code that talks to a model."""

from tasks.clients.opening import open_client

__all__ = ["open_client"]
