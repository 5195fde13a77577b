"""Arrange: a suite's items in the rounds in which they are asked until it is decided."""

from config.settings import StoreSettings
from data.batches import Ref
from data.suites import Stop, Suite
from data.tables import ITEMS
from metrics.analysis.stopping import arranged
from tasks.runtime.storage import open_store
from tasks.stage import stage


@stage(version=1)
def arrange(store: StoreSettings, items: list[Ref], *, suite: Suite, stop: Stop) -> list[Ref]:
    """Cut a suite's items into the rounds in which they are asked until it is decided."""
    place = open_store(store)
    return [place.write(ITEMS, part) for part in arranged(place.read_all(items, ITEMS), suite, stop)]
