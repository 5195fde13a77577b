"""Cascades of a suite's judges: when the small one decides alone, from people's labels or its exam."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from basic_control.config.settings import Judge
from basic_control.data.options import options_of
from basic_control.data.plugins import metric
from basic_control.metrics.analysis.judged import Finder, exams_of
from basic_control.metrics.analysis.passports import Passport, join_passports
from basic_control.metrics.cascade import Decider
from basic_control.metrics.stats.cascade import LabelledAnswer, find_rule, fold_rules, is_alone
from basic_control.tasks.judges.labels import LABELS, criteria_of, list_label_files
from basic_control.tasks.judges.recorded import JudgedMetric, Verdicts, find_verdicts, identity_key
from basic_control.tasks.plan import MetricPlan, SuitePlan

_ROUNDING = 1e-9
FEWEST_LABELS = 50
"""People's labels below which the exam's questions decide."""


def join_identities(
    suites: Iterable[SuitePlan], identities: Mapping[str, Mapping[str, str]]
) -> dict[str, Mapping[str, str]]:
    """Return judges' identities with those of the cascades that they form."""
    joined = dict(identities)
    for suite in suites:
        for metric_plan in suite.judge_metrics:
            for judge in metric_plan.judges:
                if judge.members:
                    small, large = (identity_key(identities[name]) for name in judge.members)
                    rule = {name: str(judge.options[name]) for name in ("error", "level")}
                    joined[judge.name] = {"provider": "cascade", "small": small, "large": large, **rule}
    return joined


@dataclass(frozen=True, slots=True)
class CascadeFinder:
    """Finds when the small judges of a suite's cascades decide alone."""

    suite: SuitePlan
    find: Finder
    identities: Mapping[str, Mapping[str, str]]

    def deciders(self, metric_plan: MetricPlan, languages: Sequence[str]) -> dict[tuple[str, str], Decider]:
        """Return the deciders of a metric's cascades in some languages."""
        cascades = [judge for judge in metric_plan.judges if judge.members]
        return {
            (judge.name, language): self.decider(metric_plan, judge, language)
            for judge in cascades
            for language in languages
        }

    def decider(self, metric_plan: MetricPlan, cascade: Judge, language: str) -> Decider:
        """Return when a cascade's small judge decides alone: by labels if there are enough, else by its exam."""
        labelled = self._list_labelled(metric_plan, cascade)
        answers, source = _read_answers(labelled), "labels"
        n_unanswered = 0
        if len(answers) < FEWEST_LABELS:
            # With so many labels the small judge's answers are all that lacks.
            if len(labelled) >= FEWEST_LABELS:
                n_unanswered = len(labelled) - len(answers)
            answers, source = self._read_examined(metric_plan, cascade, language), "exam"
        error, level = cascade.options["error"], cascade.options["level"]
        rule = find_rule(answers, error=error, level=level)
        return Decider(rule, source if answers else "", n_unanswered)

    def read_labelled(self, metric_plan: MetricPlan, cascade: Judge) -> list[LabelledAnswer]:
        """Return the small judge's answers to the replies that people labelled, in a fixed order."""
        return _read_answers(self._list_labelled(metric_plan, cascade))

    def _list_labelled(self, metric_plan: MetricPlan, cascade: Judge) -> "list[_LabelledReply]":
        """Return what people and the small judge said of each labelled reply, in a fixed order."""
        small = identity_key(self.identities[cascade.members[0]])
        criterion = criteria_of([self.suite.suite]).get((self.suite.name, metric_plan.name), "")
        store = self.suite.store
        folder = Path(store.runs)
        # A reply that several labelled sheets hold counts once.
        labels: dict[str, float] = {}
        verdicts: dict[str, Verdicts] = {}
        for entry in list_label_files(folder / LABELS, self.suite.name, metric_plan.name, criterion):
            labels[entry["reply"]] = fmean(entry["labels"])
            verdicts[entry["reply"]] = {judged["of"]: judged for judged in entry.get("judged", {}).values()}
        lacking = [reply for reply in labels if small not in verdicts[reply]]
        if lacking and len(labels) >= FEWEST_LABELS:
            # Labels may have been joined before this judge was there.
            of = JudgedMetric(folder, store.root, self.suite.name, metric_plan.name, criterion)
            recorded = find_verdicts(of, (small,), lacking)
            for reply, of_reply in recorded.items():
                verdicts[reply] = {**of_reply, **verdicts[reply]}
        return [_LabelledReply(labels[reply], verdicts[reply].get(small)) for reply in sorted(labels)]

    def _read_examined(self, metric_plan: MetricPlan, cascade: Judge, language: str) -> list[LabelledAnswer]:
        pair = self._passports(metric_plan, cascade, language)
        if pair is None:
            return []
        small, _ = pair
        answers = []
        for key in sorted(small.answers.keys() & small.probabilities):
            truth, verdict = small.answers[key]
            answers.append(LabelledAnswer(small.probabilities[key][verdict], verdict != truth))
        return answers

    def _passports(
        self, metric_plan: MetricPlan, cascade: Judge, language: str
    ) -> tuple[Passport, Passport | None] | None:
        """Return the passports of a cascade's judges; None if the small one has none that measures this metric."""
        unit = metric(metric_plan.name)
        options = options_of(unit, metric_plan.options)
        if not all(measured.fits(options) for measured in unit.measured):
            return None
        exams = exams_of(unit, options)
        if not exams:
            return None
        (exam,) = exams
        passports = [
            self.find(self.suite.suite, metric_plan.name, name, exam, language) for name in cascade.members
        ]
        small, large = passports
        if small is None or not small.probabilities:
            return None
        return small, large

    def passport(self, metric_plan: MetricPlan, cascade: Judge, language: str) -> Passport | None:
        """Return a cascade's passport, from those of its judges; None if one of them has none.

        By the exam's own questions each is decided by the rule that the others give.
        """
        pair = self._passports(metric_plan, cascade, language)
        small, large = pair or (None, None)
        if small is None or large is None:
            return None
        keys = sorted(small.answers.keys() & small.probabilities.keys() & large.answers.keys())
        error, level = cascade.options["error"], cascade.options["level"]
        labelled = self.read_labelled(metric_plan, cascade)
        if len(labelled) >= FEWEST_LABELS:
            rules = [find_rule(labelled, error=error, level=level)]
        else:
            answers = self._read_examined(metric_plan, cascade, language)
            rules = fold_rules(answers, error=error, level=level)
        # Own labels are other texts than the exam's: one rule holds for all of its questions.
        joined = {}
        for number, key in enumerate(keys):
            truth, verdict = small.answers[key]
            alone = is_alone(rules[number % len(rules)], small.probabilities[key][verdict])
            if not alone:
                verdict = large.answers[key][1]
            joined[key] = (truth, verdict)
        return replace(join_passports(small, large, joined), judge=cascade.name)


def _differs(value: Any, label: float) -> bool:
    return value is None or abs(float(value) - label) > _ROUNDING


@dataclass(frozen=True, slots=True)
class _LabelledReply:
    """People's mean label of a reply, and what the small judge said of it, if it did."""

    label: float
    small: Mapping[str, Any] | None


def _read_answers(replies: Iterable[_LabelledReply]) -> list[LabelledAnswer]:
    """Return the small judge's answers to labelled replies, as far as it gave any with a confidence."""
    answers = []
    for reply in replies:
        if reply.small is not None and reply.small.get("confidence") is not None:
            is_wrong = _differs(reply.small["value"], reply.label)
            answers.append(LabelledAnswer(reply.small["confidence"], is_wrong))
    return answers
