"""Decide: which systems a suite that asks in rounds has to ask on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from artifacts.store import Store
from config.settings import Settings
from config.settings import Store as StoreSettings
from data.batches import Ref
from data.plugins import metric
from data.suites import Suite
from data.tables import ITEMS, SCORES
from metrics.stats.sequential import share_of
from metrics.stopping import Exam, Narrowing, narrowings, sequences, unsettled
from prompts import languages
from tasks.judges.passports import Examined
from tasks.models.systems import competitors, judges_of
from tasks.runtime.storage import open_store
from tasks.stage import stage


@dataclass(frozen=True, slots=True)
class Watched:
    """A suite that is asked until it is decided: whose replies are followed, each sequence at its `alpha`.

    `exams` are those of its judge, by the language of the replies.
    """

    suite: Suite
    systems: tuple[str, ...]
    alpha: float
    exams: Mapping[str, Exam] = field(default_factory=dict)


def watched(settings: Settings, examined: Examined | None = None) -> list[Watched]:
    """Return the suites that are asked until they are decided; all sequences of the run share alpha.

    `examined` finds the passports of their judges.
    """
    listed = [(suite, suite.stop, tuple(competitors(settings, suite))) for suite in settings.suites]
    every = sum(sequences(suite, len(systems)) for suite, stop, systems in listed if stop)
    return [
        Watched(
            suite,
            systems,
            stop.share or share_of(stop.alpha, every),
            exams_of(settings, suite, examined) if examined else {},
        )
        for suite, stop, systems in listed
        if stop
    ]


def exams_of(settings: Settings, suite: Suite, examined: Examined) -> dict[str, Exam]:
    """Return the exams of a suite's judge by language: of one whose verdicts' plain mean is the suite's score."""
    name = suite.scored_by[0]
    measured = metric(name).measured
    judges = judges_of(settings, suite, name) if metric(name).steps else ()
    if len(suite.scored_by) > 1 or len(judges) != 1 or [one.part for one in measured] != [""]:
        return {}
    found: dict[str, Exam] = {}
    for language in languages("judging/system"):
        passport = examined.passport(suite, name, judges[0].name, measured[0].exam, language)
        if passport and set(passport.labels) == {*measured[0].values}:
            table = tuple(tuple(row) for row in passport.confusion)
            found[language] = Exam(table, tuple(measured[0].values[label] for label in passport.labels))
    return found


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
            spoken = {language for frame in own for language in frame["language"].unique()}
            exam = one.exams.get(min(spoken)) if len(spoken) == 1 else None
            found += narrowings(own, every, one.suite, one.systems, one.alpha, exam=exam)
    return found


@stage(version=1)
def decide(store: StoreSettings, items: list[Ref], scores: list[Ref], *, one: Watched) -> list[str]:
    """Return the systems whose verdict, or rank, is not there yet; `items` are the rounds that were asked."""
    return unsettled(follow_all(open_store(store), items, scores, [one]), one.suite, one.systems)
