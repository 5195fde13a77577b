"""Cite: check the sources that answers name, by rule and, where it is allowed, on the network."""

from config.settings import StoreSettings
from data.batches import Batch, Ref
from data.tables import EVIDENCE
from tasks.runtime.storage import open_store
from tasks.stage import stage
from tasks.store.samples import answered
from tasks.web import check


@stage(version=1)
def cite(store: StoreSettings, batch: Batch, *, network: bool) -> Ref:
    """Find out what is to be known of each cited source, and keep it as evidence.

    Cached like any stage: a rerun replays the evidence; `--rerun judge` and what comes before it fetches anew.
    """
    place = open_store(store)
    return place.write(EVIDENCE, check(list(answered(place, batch)), network=network))
