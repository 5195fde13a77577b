"""Arrange: a suite's items in the rounds in which they are asked until it is decided."""

from collections.abc import Mapping, Sequence

from basic_control.config.settings import StoreSettings
from basic_control.data.batches import Ref
from basic_control.data.suites import Stop, Suite
from basic_control.data.tables import ITEMS
from basic_control.metrics.analysis.stopping import cut_into_rounds
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.stage import stage

Numbered = Mapping[int | None, Ref]
"""Batches of items by number; None for the only one."""


@stage(version=1, part="generate", takes="generate")
def arrange(store: StoreSettings, items: list[Ref], *, suite: Suite, stop: Stop) -> list[Ref]:
    """Split a suite's items into the rounds in which they are asked until it is decided."""
    opened = open_store(store)
    return [opened.write(ITEMS, part) for part in cut_into_rounds(opened.read_all(items, ITEMS), suite, stop)]


def rounds_of(suite: Suite, items: Sequence[Ref]) -> list[Numbered]:
    """Return what is asked at a time: one batch after another until the verdict is reached, or all at once."""
    if suite.stop is not None:
        return [{number: batch} for number, batch in enumerate(items)]
    return [dict(enumerate(items)) if len(items) > 1 else dict.fromkeys([None], items[0])]
