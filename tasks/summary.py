"""Summary: a run's scores as cells, each with its counts, mean and interval."""

from collections.abc import Sequence

from config.settings import StoreSettings
from data.batches import Ref
from data.tables import ITEMS, SCORES, SUMMARY
from metrics.analysis.observations import observations
from metrics.analysis.stopping import without_peeking
from metrics.analysis.summary import summarise
from tasks.decide import Watched, follow_all
from tasks.runtime.storage import open_store
from tasks.stage import stage


@stage(version=2)
def aggregate(store: StoreSettings, items: list[Ref], scores: list[Ref], watched: Sequence[Watched] = ()) -> Ref:
    """Sum all scores of a run up into the summary table.

    Suites that are `watched` have their sequences' intervals.
    """
    place = open_store(store)
    found = observations(place.read_all(scores, SCORES), place.read_all(items, ITEMS))
    summary = summarise(found.scores, found.items)
    if watched:
        followed = follow_all(place, items, scores, watched)
        summary = without_peeking(summary, followed, [one.suite for one in watched])
    return place.write(SUMMARY, summary)
