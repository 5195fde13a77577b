"""The only code that talks to a model."""

from tasks.models.registry import open_client

__all__ = ["open_client"]
