"""Cascades of a suite's judges: when the small one decides alone, from people's labels or its exam.

Labels joined without its verdicts are completed by what it said in recorded runs.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

from basic_control.config.settings import Judge
from basic_control.data.draw import format_canonical
from basic_control.data.errors import InputError
from basic_control.data.options import options_of
from basic_control.data.plugins import metric
from basic_control.metrics.analysis.judged import Finder, exams_of
from basic_control.metrics.analysis.passports import Passport, join_passports
from basic_control.metrics.cascade import Decider, confidence_in
from basic_control.metrics.stats.cascade import LabelledAnswer, find_rule, fold_rules, is_alone
from basic_control.tasks.judges.labels import (
    LABELS,
    criteria_of,
    list_label_files,
    load_judged,
    reply_names,
    select_distinct,
)
from basic_control.tasks.plan import MetricPlan, SuitePlan
from basic_control.tasks.store.manifest import strip_freshness
from basic_control.tasks.store.runs import Run, find_by_name, list_runs

MOST_RUNS = 10
"""Runs that are read for a judge's verdicts, the newest ones."""

Verdicts = Mapping[str, Mapping[str, Any]]
"""What was said of a reply, by the key of the judge's identity: value and, of a judge that decides, confidence."""


def identity_key(identity: Mapping[str, str]) -> str:
    """Return a hash of what identifies a judge, by which its answers to labelled replies are kept."""
    return hashlib.sha256(format_canonical(strip_freshness(identity)).encode()).hexdigest()[:16]


def collect_judged(
    details: str, identities: Mapping[str, Mapping[str, str]], members: Mapping[str, tuple[str, ...]]
) -> dict[str, Any]:
    """Return what judges said of a labelled reply, by judge: value, confidence and a key of their identity.

    Of a cascade, what its judges said (`members`).
    """
    verdicts: dict[str, Any] = {}
    for name, result in json.loads(details).get("judges", {}).items():
        if name in members and "cascade" in result:
            small, large = members[name]
            account = result["cascade"]
            verdicts[small] = {"value": account["small"], "confidence": account["confidence"]}
            if account["large"] is not None:
                verdicts[large] = {"value": account["large"]}
        elif result.get("value") is not None:
            confidence = confidence_in(result.get("probabilities", {}), result["value"])
            verdicts[name] = {"value": result["value"], "confidence": confidence}
    return {
        name: {**judged, "of": identity_key(identities[name])}
        for name, judged in verdicts.items()
        if name in identities
    }


def members_in(configuration: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the judges of each cascade of a recorded configuration."""
    judges = configuration.get("judges") or ()
    return {judge["name"]: tuple(judge["cascade"]) for judge in judges if judge.get("cascade")}


@dataclass(frozen=True, slots=True)
class JudgedMetric:
    """A metric of a suite with its criterion, the folder of the runs in which it was judged, and their store."""

    folder: Path
    root: str
    suite: str
    metric: str
    criterion: str


def find_verdicts(of: JudgedMetric, keys: Collection[str], replies: Collection[str]) -> dict[str, Verdicts]:
    """Return what judges of these identities said of replies in recorded runs, by reply.

    The replies are named as labels name them; a later run's verdict takes the place of an earlier one's.
    """
    wanting, verdicts = {*replies}, dict[str, Verdicts]()
    recorded = [run for run in list_runs(of.folder) if run.is_finished and _is_judged_by(run, keys)]
    for run in reversed(recorded[-MOST_RUNS:]):
        if not wanting:
            break
        # A run whose tables are gone tells nothing.
        with suppress(InputError):
            of_run = _read(run.name, of)
            verdicts |= {reply: of_run[reply] for reply in wanting & of_run.keys()}
            wanting -= verdicts.keys()
    return verdicts


def _is_judged_by(run: Run, keys: Collection[str]) -> bool:
    identities = run.manifest.get("judge_identities") or {}
    return any(identity_key(identity) in keys for identity in identities.values())


@lru_cache(64)
def _read(name: str, of: JudgedMetric) -> dict[str, Verdicts]:
    """Return what a finished run's judges said of its replies; its tables do not change."""
    run = find_by_name(name, of.folder)
    rows = select_distinct(load_judged(run, of.root).filter(suite=of.suite, metric=of.metric))
    identities = run.manifest.get("judge_identities") or {}
    members = members_in(run.configuration)
    verdicts: dict[str, Verdicts] = {}
    for _, of_model in rows.group_by("model", maintain_order=True):
        names = reply_names(of_model, of.criterion)
        for reply, details in zip(names, of_model["details"], strict=True):
            entries = collect_judged(details, identities, members).values()
            verdicts[reply] = {entry["of"]: entry for entry in entries}
    return verdicts


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
