"""Verify sources: check cited sources, by rule and, if allowed, on the network."""

from basic_control.config.settings import StoreSettings
from basic_control.data.batches import Batch, Ref
from basic_control.data.tables import EVIDENCE
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.stage import FETCHING, stage
from basic_control.tasks.store.samples import read_samples
from basic_control.tasks.web import check


@stage(version=1, part="query", takes="query", rules=FETCHING)
def verify_sources(store: StoreSettings, batch: Batch, *, network: bool) -> Ref:
    """Check each cited source, and store the findings as evidence.

    A later run replays the evidence, also when other rules have changed; `--rerun query` fetches again.
    """
    opened = open_store(store)
    return opened.write(EVIDENCE, check(list(read_samples(opened, batch)), network=network))
