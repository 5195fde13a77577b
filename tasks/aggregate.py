"""Summary: a run's scores as cells, each with its counts, mean and interval."""

from collections.abc import Sequence

from basic_control.config.settings import StoreSettings
from basic_control.data.batches import Ref
from basic_control.data.tables import ITEMS, SCORES, SUMMARY
from basic_control.metrics.analysis.observations import observations
from basic_control.metrics.analysis.stopping import with_sequence_intervals
from basic_control.metrics.analysis.summary import summarise
from basic_control.tasks.decide import MonitoredSuite, monitor
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.stage import stage


@stage(version=3, part="aggregate", takes="score")
def aggregate(
    store: StoreSettings, items: list[Ref], scores: list[Ref], monitored: Sequence[MonitoredSuite] = ()
) -> Ref:
    """Aggregate all scores of a run into the summary table.

    Suites that are `monitored` have their sequences' intervals.
    """
    opened = open_store(store)
    once = observations(opened.read_all(scores, SCORES), opened.read_all(items, ITEMS))
    summary = summarise(once.scores, once.items)
    if monitored:
        followed = monitor(opened, items, scores, monitored)
        summary = with_sequence_intervals(summary, followed, [suite.suite for suite in monitored])
    return opened.write(SUMMARY, summary)
