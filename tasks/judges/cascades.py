"""Cascades of a suite's judges: when the small one decides alone, from people's labels or its exam."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from basic_control.config.settings import Judge
from basic_control.data.draw import format_canonical
from basic_control.data.options import options_of
from basic_control.data.plugins import metric
from basic_control.metrics.analysis.judged import Finder, exams_of
from basic_control.metrics.analysis.passports import Passport, join_passports
from basic_control.metrics.cascade import Decider, confidence_in
from basic_control.metrics.stats.cascade import LabelledAnswer, count_errors, find_rule, fold_rules, is_alone
from basic_control.tasks.judges.labels import LABELS, criteria_of, files_of
from basic_control.tasks.plan import MetricPlan, SuitePlan
from basic_control.tasks.store.manifest import strip_freshness

_ROUNDING = 1e-9
FEWEST_LABELS = 50
"""People's labels below which the exam's questions decide."""


def identity_key(identity: Mapping[str, str]) -> str:
    """Return a hash of what identifies a judge, by which its answers to labelled replies are kept."""
    return hashlib.sha256(format_canonical(strip_freshness(identity)).encode()).hexdigest()[:16]


def join_identities(
    suites: Iterable[SuitePlan], identities: Mapping[str, Mapping[str, str]]
) -> dict[str, Mapping[str, str]]:
    """Return judges' identities with those of the cascades that they form."""
    joined = dict(identities)
    for suite in suites:
        for use in suite.judged:
            for judge in use.judges:
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

    def deciders(self, use: MetricPlan, languages: Iterable[str]) -> dict[tuple[str, str], Decider]:
        """Return the deciders of a metric's cascades in some languages."""
        cascades = [judge for judge in use.judges if judge.members]
        return {
            (judge.name, language): self.decider(use, judge, language)
            for judge in cascades
            for language in languages
        }

    def decider(self, use: MetricPlan, cascade: Judge, language: str) -> Decider:
        """Return when a cascade's small judge decides alone: by labels if there are enough, else by its exam."""
        answers, source = self.read_labelled(use, cascade), "labels"
        if len(answers) < FEWEST_LABELS:
            answers, source = self._read_examined(use, cascade, language), "exam"
        error, level = cascade.options["error"], cascade.options["level"]
        rule = find_rule(answers, error=error, level=level)
        wrong, n = count_errors(answers, error=error, level=level)
        return Decider(rule, source if answers else "", wrong, n)

    def read_labelled(self, use: MetricPlan, cascade: Judge) -> list[LabelledAnswer]:
        """Return the small judge's answers to the replies that people labelled, in a fixed order."""
        small, large = cascade.members
        keys = {name: identity_key(self.identities[name]) for name in cascade.members}
        criterion = criteria_of([self.suite.suite]).get((self.suite.name, use.name), "")
        folder = Path(self.suite.store.runs) / LABELS
        # A reply that several labelled sheets hold counts once.
        answers: dict[str, LabelledAnswer] = {}
        for entry in files_of(folder, self.suite.name, use.name, criterion):
            verdicts = {
                name: judged for name, judged in entry.get("judged", {}).items() if judged["of"] == keys.get(name)
            }
            if small in verdicts and verdicts[small].get("confidence") is not None:
                label = fmean(entry["labels"])
                answers[entry["reply"]] = LabelledAnswer(
                    verdicts[small]["confidence"],
                    _differs(verdicts[small]["value"], label),
                    _differs(verdicts[large]["value"], label) if large in verdicts else None,
                )
        return [answers[reply] for reply in sorted(answers)]

    def _read_examined(self, use: MetricPlan, cascade: Judge, language: str) -> list[LabelledAnswer]:
        pair = self._passports(use, cascade, language)
        if pair is None:
            return []
        small, large = pair
        answers_of_large = large.answers if large else {}
        answers = []
        for key in sorted(small.answers):
            truth, verdict = small.answers[key]
            if key in small.probabilities:
                wrong = answers_of_large[key][1] != truth if key in answers_of_large else None
                answers.append(LabelledAnswer(small.probabilities[key][verdict], verdict != truth, wrong))
        return answers

    def _passports(self, use: MetricPlan, cascade: Judge, language: str) -> tuple[Passport, Passport | None] | None:
        """Return the passports of a cascade's judges; None if the small one has none that measures this metric."""
        unit = metric(use.name)
        options = options_of(unit, use.options)
        if not all(measured.fits(options) for measured in unit.measured):
            return None
        exams = exams_of(unit, options)
        if not exams:
            return None
        (exam,) = exams
        passports = [self.find(self.suite.suite, use.name, name, exam, language) for name in cascade.members]
        small, large = passports
        return None if small is None or not small.probabilities else (small, large)

    def passport(self, use: MetricPlan, cascade: Judge, language: str) -> Passport | None:
        """Return a cascade's passport, from those of its judges; None if one of them has none.

        By the exam's own questions each is decided by the rule that the others give.
        """
        pair = self._passports(use, cascade, language)
        small, large = pair or (None, None)
        if small is None or large is None:
            return None
        keys = [key for key in sorted(small.answers) if key in small.probabilities and key in large.answers]
        error, level = cascade.options["error"], cascade.options["level"]
        labelled = self.read_labelled(use, cascade)
        if len(labelled) >= FEWEST_LABELS:
            rules = [find_rule(labelled, error=error, level=level)]
        else:
            answers = self._read_examined(use, cascade, language)
            rules = fold_rules(answers, error=error, level=level)
        # Own labels are other texts than the exam's: one rule holds for all of its questions.
        joined = {}
        for number, key in enumerate(keys):
            truth, verdict = small.answers[key]
            alone = is_alone(rules[number % len(rules)], small.probabilities[key][verdict])
            joined[key] = (truth, verdict if alone else large.answers[key][1])
        return replace(join_passports(small, large, joined), judge=cascade.name)


def _differs(value: Any, label: float) -> bool:
    return value is None or abs(float(value) - label) > _ROUNDING


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
