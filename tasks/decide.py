"""Decide: which systems a suite that asks in rounds has to ask on."""

from collections.abc import Sequence
from dataclasses import dataclass

from artifacts.store import Store
from config.settings import Settings
from config.settings import Store as StoreSettings
from data.batches import Ref
from data.suites import Suite
from data.tables import ITEMS, SCORES
from metrics.stats.sequential import share_of
from metrics.stopping import Narrowing, narrowings, sequences, unsettled
from tasks.models.systems import competitors
from tasks.runtime.storage import open_store
from tasks.stage import stage


@dataclass(frozen=True, slots=True)
class Watched:
    """A suite that is asked until it is decided: whose replies are followed, each sequence at its `alpha`."""

    suite: Suite
    systems: tuple[str, ...]
    alpha: float


def watched(settings: Settings) -> list[Watched]:
    """Return the suites that are asked until they are decided; all sequences of the run share alpha."""
    listed = [(suite, suite.stop, tuple(competitors(settings, suite))) for suite in settings.suites]
    every = sum(sequences(suite, len(systems)) for suite, stop, systems in listed if stop)
    return [
        Watched(suite, systems, stop.share or share_of(stop.alpha, every))
        for suite, stop, systems in listed
        if stop
    ]


def follow_all(
    place: Store, items: Sequence[Ref], scores: Sequence[Ref], listed: Sequence[Watched]
) -> list[Narrowing]:
    """Follow the sequences of suites; `items` are the rounds that were asked, of these suites and of others."""
    if not listed:
        return []
    rounds = [ITEMS.check(place.read(ref)) for ref in items if ref.rows]
    every = place.read_all(list(scores), SCORES)
    found: list[Narrowing] = []
    for one in listed:
        own = [frame for frame in rounds if frame["suite"][0] == one.suite.name]
        if own:
            found += narrowings(own, every, one.suite, one.systems, one.alpha)
    return found


@stage(version=1)
def decide(store: StoreSettings, items: list[Ref], scores: list[Ref], *, one: Watched) -> list[str]:
    """Return the systems whose verdict, or rank, is not there yet; `items` are the rounds that were asked."""
    return unsettled(follow_all(open_store(store), items, scores, [one]), one.suite, one.systems)
