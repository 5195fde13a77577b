"""Which client speaks to which provider."""

from importlib import import_module

from config.settings import Model
from tasks.clients.protocol import Client

# Named, not imported: a provider's package is paid for only where it is used (openai alone takes 0.7 s).
PROVIDERS = {
    "embedded": "tasks.clients.embedded:EmbeddedClient",
    "ollama": "tasks.clients.ollama:OllamaClient",
    "openai": "tasks.clients.openai:OpenAIClient",
    "azure": "tasks.clients.openai:OpenAIClient",
    "replay": "tasks.clients.replay:ReplayClient",
}


def open_client(model: Model) -> Client:
    """Open the client of a model; to be used in one event loop, and closed in it.

    Raises:
        InputError: what the provider needs is not there: a key, a file, an extra.
    """
    module, _, name = PROVIDERS[model.provider].partition(":")
    client: Client = getattr(import_module(module), name)(model)
    return client
