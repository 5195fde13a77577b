"""The only code that talks to a model."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `python_child` is read where nothing heavy may be
    from basic_control.config.settings import Model
    from basic_control.tasks.models.protocol import Client


def open_client(model: "Model") -> "Client":
    """Open the client of a model; to be used and closed in one event loop.

    Raises:
        InputError: a requirement of the provider is missing: a key, a file, an extra.
    """
    client: Client = model.unit.open(model)
    return client
