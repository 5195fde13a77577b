"""What a judged suite says: which judges count, and what their scores, corrected ones and people's labels decide.

Source: SPEC 16.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from data.exits import GateOutcome
from data.plugins import metric
from data.records import Metric
from data.suites import Suite
from metrics.analysis.corrected import Finder
from metrics.analysis.passports import Passport, Share
from metrics.analysis.policy import Gate, Must, outcome_at
from metrics.analysis.scores import Labels, Withheld
from metrics.analysis.summary import percent
from metrics.exam import EXAMINED
from metrics.stats.calibration import Contrast
from metrics.stats.intervals import Interval
from metrics.stats.labelled import DECIDING, FEWEST


@dataclass(frozen=True, slots=True)
class JudgeStatus:
    """Whether a judge counts in a step of a metric, in a language; `why` says what its exam showed if not.

    `measured`: it has a passport, with these rates and this contrast. Without one it counts, and nobody has
    measured it.
    """

    suite: str
    metric: str
    exam: str
    judge: str
    language: str
    measured: bool = False
    counts: bool = True
    why: str = ""
    sensitivity: Share | None = None
    specificity: Share | None = None
    contrast: Contrast | None = None


def status_of(blank: JudgeStatus, found: Passport | None) -> JudgeStatus:
    """Return how a judge stands in a step (`blank`) by its passport, if it has one."""
    if found is None:
        return blank
    rates = {"sensitivity": found.sensitivity, "specificity": found.specificity}
    told = [f"{name} {percent(one.share)} of {one.n}" for name, one in rates.items() if one.share is not None]
    why = "" if found.counts else f"{found.usable}: {', '.join((f'{blank.exam} ({blank.language})', *told))}"
    return replace(
        blank,
        measured=True,
        counts=found.counts,
        why=why,
        sensitivity=found.sensitivity,
        specificity=found.specificity,
        contrast=found.contrast,
    )


def exams_of(unit: Metric) -> list[str]:
    """Return the exams of a metric's judged steps, and of others that it says its verdicts are measured by."""
    own = [exam for exam, (home, _) in EXAMINED.items() if home.name == unit.name]
    return list(dict.fromkeys([*own, *(one.exam for one in unit.measured)]))


def judge_statuses(
    suite: Suite, name: str, judges: Iterable[str], languages: Collection[str], find: Finder
) -> list[JudgeStatus]:
    """Return how each judge of a metric stands in each of its steps and languages."""
    return [
        status_of(JudgeStatus(suite.name, name, exam, judge, language), find(suite, name, judge, exam, language))
        for judge in judges
        for exam in exams_of(metric(name))
        for language in sorted(languages)
    ]


LeftOut = Mapping[str, Mapping[str, str]]
"""By language, the judges of a metric that do not count, and why."""


def left_out(found: Iterable[JudgeStatus]) -> dict[str, dict[str, str]]:
    """Return who does not count in a metric: who does not in one of its steps, by language."""
    out: dict[str, dict[str, str]] = {}
    for one in found:
        if not one.counts:
            out.setdefault(one.language, {}).setdefault(one.judge, one.why)
    return out


@dataclass(frozen=True, slots=True)
class PanelStatus:
    """The judges of a suite's score: who is `left_out` and why, of whom nobody knows (`unmeasured`), and `none`.

    `none` says of a metric for which no judge is left, in one of the languages, why; '' where each has one.
    """

    left_out: Mapping[str, str]
    unmeasured: tuple[str, ...]
    none: str


def panel_status(found: Sequence[JudgeStatus]) -> PanelStatus:
    """Sum up how the judges of the metrics that make a suite's score stand."""
    out = {f"{one.judge}, {one.metric}": one.why for one in found if not one.counts}
    blank = tuple(dict.fromkeys(one.judge for one in found if not one.measured))
    none = ""
    for (_, language), own in _grouped(found):
        excluded = left_out(own).get(language, {})
        if {*excluded} == {one.judge for one in own}:
            none = none or "; ".join(f"{judge}: {why}" for judge, why in excluded.items())
    return PanelStatus(out, blank, none)


def _grouped(found: Iterable[JudgeStatus]) -> Iterator[tuple[tuple[str, str], list[JudgeStatus]]]:
    groups: dict[tuple[str, str], list[JudgeStatus]] = {}
    for one in found:
        groups.setdefault((one.metric, one.language), []).append(one)
    yield from groups.items()


def withheld_by_judges(
    members: Mapping[str, Sequence[Suite]], found: Sequence[JudgeStatus], labels: Labels, must: Must
) -> dict[tuple[str, str], Withheld]:
    """Return, by model and suite, the judged suites that no score decides, and why.

    `members` are the suites of each model, `must` says what judges must have. People's labels that decide stand in
    for both.
    """
    held: dict[tuple[str, str], Withheld] = {}
    for model, suites in members.items():
        for suite in suites:
            judged = [name for name in suite.scored_by if metric(name).steps]
            labelled = {
                name for name in judged if (one := labels.get((suite.name, model, name))) and one.decides
            } - ({*judged} if suite.strata else set())
            own = [one for one in found if one.suite == suite.name and one.metric in {*judged} - labelled]
            if none := panel_status(own).none:
                held[model, suite.name] = Withheld(none, measured=False)
            elif why := _lacking(own, must, [name for name in judged if name not in labelled]):
                held[model, suite.name] = Withheld(why)
    return held


def _lacking(found: Sequence[JudgeStatus], must: Must, unlabelled: Sequence[str]) -> str:
    """Say what judges must have and lack; '' where nothing."""
    if must == "passport" and (blank := next((one for one in found if not one.measured), None)):
        return f"judges_must_have: passport, and {blank.judge} has none for {blank.exam} ({blank.language})"
    if must == "labels" and unlabelled:
        return (
            f"judges_must_have: labels, and fewer than {DECIDING} replies as they are were labelled for "
            f"{unlabelled[0]}, or fewer than {FEWEST} of one kind"
        )
    return ""


@dataclass(frozen=True, slots=True)
class Estimated:
    """A mean in [0, 1] with its interval."""

    value: float
    interval: Interval

    def __str__(self) -> str:
        low, high = self.interval.low, self.interval.high
        around = "" if low is None or high is None else f" [{percent(low)}, {percent(high)}]"
        return f"{percent(self.value)}{around}"


def outcome_as_judged(
    raw: Estimated, corrected: Estimated | None, threshold: float, gate: Gate
) -> tuple[GateOutcome, str]:
    """Return what a judged score comes to at a threshold, and why where it is undecided by the exam.

    The exam only withholds: where the score and what it comes to corrected do not lie on one side, nothing is
    decided. `raw` is what people's labels make of it where these decide; then there is nothing to correct.
    """
    own = outcome_at(raw.value, raw.interval, threshold, gate)
    if corrected is None or own == "undecided":
        return own, ""
    other = outcome_at(corrected.value, corrected.interval, threshold, gate)
    if own == other:
        return own, ""
    return "undecided", (
        f"as judged {raw}, {_IN_WORDS[own]} the threshold of {percent(threshold)}; if the judges err here as on "
        f"the exam's texts {corrected}, {_IN_WORDS[other]} it"
    )


_IN_WORDS: Mapping[GateOutcome, str] = {"pass": "at or above", "fail": "below", "undecided": "on both sides of"}
