"""What identified models, kept beside their replies, for runs that find a server down."""

from basic_control.config.settings import Model, StoreSettings
from basic_control.data.batches import StoredIdentity
from basic_control.data.records import Provider
from basic_control.data.units import plugin_source
from basic_control.tasks.models.access import digest_access
from basic_control.tasks.runtime.storage import find_cache_url, open_cache
from basic_control.tasks.store.databases import find_file


def recall_identity(store: StoreSettings, model: Model, reason: str = "") -> StoredIdentity | None:
    """Return what identified a model last, None if it never was; `reason`: why it cannot be asked now."""
    file = find_file(find_cache_url(store))
    # Reading must not create a cache.
    if file is not None and not file.is_file():
        return None
    recalled = open_cache(store).recall_identity(_digest_access(model))
    return recalled and StoredIdentity(*recalled, reason)


def remember_identity(store: StoreSettings, model: Model, identity: StoredIdentity) -> None:
    """Keep beside the replies what identifies a model, for runs that find its server down."""
    # What runs on this machine, and recorded replies, have no server.
    if not (identity.reason or model.unit.at_once or model.unit.by_item):
        open_cache(store).remember_identity(_digest_access(model), identity.values)


def _digest_access(model: Model) -> str:
    return digest_access(model, plugin_source(Provider, model.provider))
