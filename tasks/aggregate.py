"""Aggregate: scores to cells, each with its counts, mean and interval."""

from config.settings import Store
from data.records import Ref
from data.tables import ITEMS, SCORES, SUMMARY
from metrics.summary import summarise
from tasks.runtime.storage import open_store
from tasks.stage import stage


@stage(version=1)
def aggregate(store: Store, items: list[Ref], scores: list[Ref]) -> Ref:
    """Sum all scores of a run up into the summary table."""
    place = open_store(store)
    return place.write(SUMMARY, summarise(place.read_all(scores, SCORES), place.read_all(items, ITEMS)))
