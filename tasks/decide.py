"""Decide: the targets that a suite with rounds has to go on asking."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from basic_control.config.settings import StoreSettings
from basic_control.data.batches import Cell, Ref, Tables
from basic_control.data.deciding import headlines
from basic_control.data.options import options_of
from basic_control.data.plugins import metric
from basic_control.data.suites import Suite
from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.judged import collect_left_out, exam_table, judge_statuses
from basic_control.metrics.analysis.stopping import ConfidenceSequence, confidence_sequences, list_undecided
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


def monitored_suites(suites: Iterable[SuitePlan], examined: PassportFinder | None = None) -> list[MonitoredSuite]:
    """Return those suites that are asked until they are decided.

    `examined` finds the passports of their judges.
    """
    return [
        MonitoredSuite(one.suite, tuple(one.names), one.alpha, exams_of(one, examined) if examined else {})
        for one in suites
        if one.suite.stop
    ]


def exams_of(plan: SuitePlan, examined: PassportFinder) -> dict[str, dict[str, ExamTable]]:
    """Return the exam results of the judges that count, by headline and language, where their mean is its score."""
    names = [score.headline for score in headlines(plan.suite)]
    tables = {name: _exams_of_metric(plan, name, examined) for name in names if name in plan.suite.metric_names}
    return {name: by_language for name, by_language in tables.items() if by_language}


def _exams_of_metric(plan: SuitePlan, name: str, examined: PassportFinder) -> dict[str, ExamTable]:
    suite, own, unit = plan.suite, plan.metric(name), metric(name)
    options = options_of(unit, own.options) if unit.measured else {}
    whole = next((one for one in unit.measured if one.is_whole(options)), None)
    if whole is None or not whole.fits(options):
        return {}
    found: dict[str, ExamTable] = {}
    for language in languages("judging/system"):
        judges = [judge.name for judge in own.judges]
        out = collect_left_out(judge_statuses(suite, name, judges, [language], examined.passport)).get(language, {})
        counting = [one for one in judges if one not in out]
        passports = [examined.passport(suite, name, one, whole.exam, language) for one in counting]
        there = [one for one in passports if one and {*one.labels} == {*whole.values}]
        if there and len(there) == len(passports):
            found[language] = exam_table(there, own.aggregate, whole.values)
    return found


def monitor(
    store: Store, items: Sequence[Ref], scores: Sequence[Ref], listed: Sequence[MonitoredSuite]
) -> list[ConfidenceSequence]:
    """Compute the confidence sequences of suites; `items` are all rounds asked, also of other suites."""
    if not listed:
        return []
    rounds = [ITEMS.check(store.read(ref)) for ref in items if ref.rows]
    every = store.read_all(list(scores), SCORES)
    found: list[ConfidenceSequence] = []
    for one in listed:
        own = [frame for frame in rounds if frame["suite"][0] == one.suite.name]
        if own:
            spoken = {language for frame in own for language in frame["language"].unique()}
            language = min(spoken) if len(spoken) == 1 else ""
            exams = {name: tables[language] for name, tables in one.exams.items() if language in tables}
            found += confidence_sequences(own, every, one.suite, one.targets, one.alpha, exams=exams)
    return found


@stage(version=2, part="aggregate", takes="score")
def decide(store: StoreSettings, items: list[Ref], scores: list[Ref], *, one: MonitoredSuite) -> list[str]:
    """Return the targets whose verdict or rank is still open; `items` are the rounds that were asked."""
    return list_undecided(monitor(open_store(store), items, scores, [one]), one.suite, one.targets)


def open_targets(plan: SuitePlan, tables: Tables, identities: Identities, targets: Sequence[str]) -> Sequence[str]:
    """Return those of a suite's targets that the next round has to ask; none if it is decided, or asked at once.

    Replies that wait in a server's batch cannot be followed yet: the next run continues from here.
    """
    if plan.suite.stop is None or any(asked.submitted for asked in (*tables.queries, *tables.judged)):
        return ()
    finder = PassportFinder([plan], identities.judges, open_store(plan.store))
    (monitored,) = monitored_suites([plan], finder)
    cell = Cell(plan.name, batch=len(tables.items) - 1)
    followed = replace(monitored, targets=tuple(targets))
    return decide(cell, plan.store, tables.items, tables.scores, one=followed)
