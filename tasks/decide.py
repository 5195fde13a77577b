"""Decide: the targets that a suite with rounds has to go on asking."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, filterfalse
from operator import attrgetter

import polars as pl

from basic_control.config.settings import StoreSettings
from basic_control.data.batches import Cell, Ref, Tables
from basic_control.data.deciding import headlines
from basic_control.data.options import options_of
from basic_control.data.plugins import metric
from basic_control.data.suites import Suite
from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.judged import collect_left_out, exam_table, judge_statuses
from basic_control.metrics.analysis.stopping import ConfidenceSequence, compute_sequences, list_undecided
from basic_control.metrics.stats.calibration import ExamTable
from basic_control.prompts import languages
from basic_control.tasks.judges.passports import PassportFinder
from basic_control.tasks.plan import Identities, SuitePlan
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.stage import stage
from basic_control.tasks.store.tables import Store


@dataclass(frozen=True, slots=True)
class MonitoredSuite:
    """A suite that is asked until it is decided; each of its confidence sequences has level `alpha`.

    `exams` are those of its judges, by headline and the language of the replies.
    """

    suite: Suite
    targets: tuple[str, ...]
    alpha: float
    exams: Mapping[str, Mapping[str, ExamTable]] = field(default_factory=dict)


def list_monitored(suites: Iterable[SuitePlan], examined: PassportFinder | None = None) -> list[MonitoredSuite]:
    """Return those suites that are asked until they are decided.

    `examined` finds the passports of their judges.
    """
    monitored: list[MonitoredSuite] = []
    for suite in suites:
        if suite.suite.stop:
            exams: Mapping[str, Mapping[str, ExamTable]] = {}
            if examined:
                exams = exams_of(suite, examined)
            monitored.append(MonitoredSuite(suite.suite, tuple(suite.target_names), suite.alpha, exams))
    return monitored


def exams_of(plan: SuitePlan, examined: PassportFinder) -> dict[str, dict[str, ExamTable]]:
    """Return the exam results of the judges that count, by headline and language, where their mean is its score."""
    exams: dict[str, dict[str, ExamTable]] = {}
    for score in headlines(plan.suite):
        name = score.headline
        # A score of several metrics has no judge's mean.
        if name in plan.suite.metric_names:
            exams[name] = _exams_of_metric(plan, name, examined)
    return {name: tables for name, tables in exams.items() if tables}


def _exams_of_metric(plan: SuitePlan, name: str, examined: PassportFinder) -> dict[str, ExamTable]:
    """Return the exam results of a metric's judges by language, where its value is the mean of their verdicts."""
    suite, use, unit = plan.suite, plan.find_metric(name), metric(name)
    if not unit.measured:
        return {}
    options = options_of(unit, use.options)
    measured = next((part for part in unit.measured if part.is_whole(options)), None)
    if measured is None or not measured.fits(options):
        return {}
    tables: dict[str, ExamTable] = {}
    judges = [judge.name for judge in use.judges]
    for language in languages("judging/system"):
        statuses = judge_statuses(suite, name, judges, [language], examined.passport)
        left_out = collect_left_out(statuses).get(language, {})
        # All judges that count need an exam with these labels: their mean is corrected as one.
        counting = filterfalse(left_out.__contains__, judges)
        passports = [examined.passport(suite, name, judge, measured.exam, language) for judge in counting]
        fitting = [passport for passport in passports if passport and {*passport.labels} == {*measured.values}]
        if fitting and len(fitting) == len(passports):
            tables[language] = exam_table(fitting, use.aggregate, measured.values)
    return tables


def monitor(
    store: Store, items: Sequence[Ref], scores: Sequence[Ref], monitored: Sequence[MonitoredSuite]
) -> list[ConfidenceSequence]:
    """Compute the confidence sequences of suites; `items` are all rounds asked, also of other suites."""
    if not monitored:
        return []
    rounds: dict[str, list[pl.DataFrame]] = {}
    for ref in items:
        if ref.rows:
            frame = ITEMS.check(store.read(ref))
            rounds.setdefault(frame["suite"][0], []).append(frame)
    all_scores = store.read_all(list(scores), SCORES)
    sequences: list[ConfidenceSequence] = []
    for followed in monitored:
        suite_rounds = rounds.get(followed.suite.name)
        if not suite_rounds:
            continue
        # A judge has an exam for each language: the replies in several have no common one.
        found_languages = pl.concat([frame["language"] for frame in suite_rounds]).unique().to_list()
        language = found_languages[0] if len(found_languages) == 1 else ""
        exams = {name: tables[language] for name, tables in followed.exams.items() if language in tables}
        sequences += compute_sequences(
            suite_rounds, all_scores, followed.suite, followed.targets, followed.alpha, exams=exams
        )
    return sequences


@stage(version=2, part="aggregate", takes="score")
def decide(store: StoreSettings, items: list[Ref], scores: list[Ref], *, monitored: MonitoredSuite) -> list[str]:
    """Return the targets whose verdict or rank is still open; `items` are the rounds that were asked."""
    sequences = monitor(open_store(store), items, scores, [monitored])
    return list_undecided(sequences, monitored.suite, monitored.targets)


def open_targets(plan: SuitePlan, tables: Tables, identities: Identities, targets: Sequence[str]) -> Sequence[str]:
    """Return those of a suite's targets that the next round has to ask; none if it is decided, or asked at once.

    Replies that wait in a server's batch cannot be followed yet: the next run continues from here.
    """
    if plan.suite.stop is None or any(map(attrgetter("submitted"), chain(tables.queries, tables.judged))):
        return ()
    finder = PassportFinder([plan], identities.judges, open_store(plan.store))
    (monitored,) = list_monitored([plan], finder)
    cell = Cell(plan.name, batch=len(tables.items) - 1)
    followed = replace(monitored, targets=tuple(targets))
    return decide(cell, plan.store, tables.items, tables.scores, monitored=followed)
