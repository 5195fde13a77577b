"""Verify sources: check cited sources, by rule and, if allowed, on the network."""

from config.settings import StoreSettings
from data.batches import Batch, Ref
from data.tables import EVIDENCE
from tasks.runtime.storage import open_store
from tasks.stage import FETCHING, stage
from tasks.store.samples import sample_rows
from tasks.web import check


@stage(version=1, part="query", takes="query", rules=FETCHING)
def verify_sources(store: StoreSettings, batch: Batch, *, network: bool) -> Ref:
    """Check each cited source, and store the findings as evidence.

    A later run replays the evidence, also when other rules have changed; `--rerun query` fetches again.
    """
    opened = open_store(store)
    return opened.write(EVIDENCE, check(list(sample_rows(opened, batch)), network=network))
