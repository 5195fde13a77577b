"""Arrange: a suite's items in the rounds in which they are asked until it is decided."""

from config.settings import StoreSettings
from data.batches import Ref
from data.suites import Stop, Suite
from data.tables import ITEMS
from metrics.analysis.stopping import cut_into_rounds
from tasks.runtime.storage import open_store
from tasks.stage import stage


@stage(version=1, part="generate", takes="generate")
def arrange(store: StoreSettings, items: list[Ref], *, suite: Suite, stop: Stop) -> list[Ref]:
    """Split a suite's items into the rounds in which they are asked until it is decided."""
    opened = open_store(store)
    return [opened.write(ITEMS, part) for part in cut_into_rounds(opened.read_all(items, ITEMS), suite, stop)]
