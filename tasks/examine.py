"""Examine: the short exams that a suite's judges have to take first, and which of its judges count."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from basic_control.config.exam import plan_short_exams
from basic_control.data.batches import Ref, Tables
from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.judged import JudgeStatus, LeftOut, collect_left_out
from basic_control.tasks.judge import Deciders
from basic_control.tasks.judges.passports import (
    PassportFinder,
    find_missing_exams,
    find_suite_statuses,
    keep_passports,
)
from basic_control.tasks.plan import Identities, SuitePlan, resolve
from basic_control.tasks.runtime.storage import open_store


@dataclass(frozen=True, slots=True)
class SuiteJudges:
    """A suite's judges, in the languages of its items."""

    plan: SuitePlan
    identities: Identities
    languages: frozenset[str] = field(default_factory=frozenset)

    def plan_missing_exams(self) -> Iterator[SuitePlan]:
        """Yield the short exams of judges that are to take one and have no passport yet."""
        plan = self.plan
        missing = find_missing_exams(plan.suite, plan.judges, self._statuses(in_cascades=True))
        for settings in plan_short_exams(plan.judges, missing, store=plan.store, batch_size=plan.batch_size):
            yield from resolve(settings).suites

    def keep(self, exam: SuitePlan, answers: Tables, run: str) -> None:
        """Keep the passports of an exam that a run put; one that waits in a batch is left to the next run."""
        if any(query.submitted for query in answers.judged):
            return
        store = open_store(self.plan.store)
        scores, questions = store.read_all(answers.scores, SCORES), store.read_all(answers.items, ITEMS)
        keep_passports(exam.judges, self.identities.judges, scores, questions, store, about={"run": run})

    def find_left_out(self) -> dict[str, LeftOut]:
        """Return the judges that do not count, by metric: decided before any verdict is used."""
        statuses: dict[str, list[JudgeStatus]] = {metric.name: [] for metric in self.plan.judge_metrics}
        for status in self._statuses():
            statuses[status.metric].append(status)
        return dict(zip(statuses, map(collect_left_out, statuses.values()), strict=True))

    def deciders(self) -> dict[str, Deciders]:
        """Return when the small judges of cascades decide alone, by metric: found before any is asked."""
        cascades = self._finder.cascades(self.plan.name)
        return {use.name: cascades.deciders(use, sorted(self.languages)) for use in self.plan.judge_metrics}

    @property
    def _finder(self) -> PassportFinder:
        return PassportFinder([self.plan], self.identities.judges, open_store(self.plan.store))

    def _statuses(self, *, in_cascades: bool = False) -> list[JudgeStatus]:
        return find_suite_statuses(self.plan, self.languages, self._finder, in_cascades=in_cascades)


def judges_of(plan: SuitePlan, items: Sequence[Ref], identities: Identities) -> SuiteJudges:
    """Return a suite's judges."""
    if not plan.judge_metrics:
        return SuiteJudges(plan, identities)
    store = open_store(plan.store)
    languages = set[str]().union(*(store.read(ref)["language"].unique() for ref in items))
    return SuiteJudges(plan, identities, frozenset(languages))
