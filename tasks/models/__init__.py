"""The only code that talks to a model."""

from config.settings import Model
from tasks.models.protocol import Client


def open_client(model: Model) -> Client:
    """Open the client of a model; to be used in one event loop, and closed in it.

    Raises:
        InputError: what the provider needs is not there: a key, a file, an extra.
    """
    client: Client = model.unit.open(model)
    return client
