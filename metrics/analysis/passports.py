"""A judge's passport: its exam results at one judged step, in one language.

Every statement is a number with its n and interval.

Source: SPEC 11; Cohen 1960 (κ), Wilson 1927.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter

from basic_control.data.labelled_sets import SETS
from basic_control.metrics.exam import LABELS, pair_probabilities
from basic_control.metrics.stats.calibration import (
    HARDLY_READ,
    NOT_SHOWN,
    TOO_WEAK,
    UNREAD,
    UNTESTED,
    UNUSABLE,
    Contrast,
    contrast,
    kappa,
    kappa_limits,
    tabulate,
)
from basic_control.metrics.stats.intervals import Interval, Share
from basic_control.metrics.stats.reliability import Reliability, reliability

SCHEMA = 2
FAIR = 0.4
"""The κ below which agreement is less than fair (Landis & Koch 1977, whose moderate agreement begins there)."""

YES_NO = frozenset({"entails", "useful"})
"""Steps at which only the best label counts, as 1, and all others as 0."""


@dataclass(frozen=True, slots=True)
class Passport:
    """A judge at one step and language.

    `confusion` has a row for each true label and a column for each judged one, in the order of `labels`, best
    first; sensitivity and specificity are of the best label against the others; for a split they are the shares of
    facts that it contains and of claims that contain one fact. `contrast` says whether the judge can measure the
    step. `failed` counts unreadable replies, `repeated` the questions whose verdict changed when they were asked
    again. `answers` (truth, verdict) are by question, so that several judges' can be joined; of a judge that
    decides they have `probabilities`. `domain` is the human-labelled set of these texts; '' for the exam's own.
    """

    judge: str
    exam: str
    language: str
    labels: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    sensitivity: Share
    specificity: Share
    contrast: Contrast
    kappa: float | None
    right: Share
    failed: Share
    repeated: Share
    answers: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    domain: str = ""
    probabilities: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def kappa_interval(self) -> Interval:
        """The 95 % interval of κ, if that is defined."""
        return Interval() if self.kappa is None else kappa_limits(self.confusion)

    @property
    def reliability(self) -> Reliability | None:
        """How far the probabilities can be believed; None of a judge that writes."""
        truths, verdicts, shares = [], [], []
        for key, (truth, verdict) in self.answers.items():
            if key in self.probabilities:
                truths.append(truth)
                verdicts.append(verdict)
                shares.append(self.probabilities[key])
        return reliability(truths, verdicts, shares)

    @property
    def n_of_each(self) -> int:
        """The number of questions of each truth that it was asked, whether or not it answered them."""
        n_answers = sum(map(sum, self.confusion))
        # A split has no table: each of its questions has facts of both kinds.
        if not n_answers:
            return self.failed.n
        share_answered = 1 - (self.failed.share or 0.0)
        return round(n_answers / share_answered / len(self.labels))

    @property
    def counts(self) -> bool:
        """Whether the judge counts at this step (SPEC 16)."""
        return self.contrast.is_shown

    @property
    def is_weak(self) -> bool:
        """Whether it agrees with the truth little more than chance would."""
        return self.kappa is not None and self.kappa < FAIR

    @property
    def exclusion(self) -> str:
        """The reason why the judge does not count; '' if it does."""
        if self.counts:
            return ""
        if self.contrast.value is None:
            # Questions of each kind were asked: what lacks are its answers.
            if not self.failed.share:
                return UNTESTED
            if self.failed.share < 1:
                return HARDLY_READ
            return UNREAD
        return TOO_WEAK if self.contrast.value < UNUSABLE - 1e-9 else NOT_SHOWN

    def explain_exclusion(self) -> str:
        """Return why the judge does not count, with the figures of its exam; '' if it does."""
        if self.counts:
            return ""
        facts = [f"{self.exam} ({self.language})"]
        for kind, rate in (("right", self.sensitivity), ("wrong", self.specificity)):
            if rate.share is not None:
                share = f"{rate.share:.1%}".replace(".0%", "%")
                facts.append(f"{share} of {rate.n} {kind} replies recognised")
        return f"{self.exclusion}: {', '.join(facts)}"

    def as_dict(self) -> dict[str, Any]:
        """Return the passport as JSON."""
        document = {"schema": SCHEMA, **asdict(self), "kappa_interval": asdict(self.kappa_interval)}
        if measured := self.reliability:
            document["reliability"] = asdict(measured)
        return document


_FORM = TypeAdapter(Passport)


def read_passport(document: Mapping[str, Any]) -> Passport | None:
    """Return a passport from its JSON; None for an incompatible earlier exam, or a set that went.

    Fields of earlier versions, such as probes of biases, are ignored.
    """
    if document.get("schema") != SCHEMA or document.get("domain", "") not in {"", *SETS}:
        return None
    return _FORM.validate_python(document)


@dataclass(frozen=True, slots=True)
class ExamResult:
    """One exam item as answered by one judge: its row in a score's details."""

    judge: str
    exam: str
    language: str
    item_id: str
    status: str
    details: Mapping[str, Any]
    domain: str = ""
    probabilities: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def passports(results: Iterable[ExamResult]) -> list[Passport]:
    """Summarise an exam: one passport for each judge, step and language, and for each human-labelled set."""
    groups: dict[tuple[str, str, str, str], list[ExamResult]] = {}
    for result in results:
        key = (result.judge, result.domain, result.exam, result.language)
        groups.setdefault(key, []).append(result)
    return [_passport(*key, group) for key, group in sorted(groups.items())]


def _passport(judge: str, domain: str, exam: str, language: str, results: Sequence[ExamResult]) -> Passport:
    labels = SETS[domain].labels if domain else LABELS[exam]
    scored = [result for result in results if result.status == "scored"]
    answers = _answers(scored, labels)
    # Two rates tell more than the table of all labels, where only the best label is worth anything.
    measured = _measure(answers, labels, of_two=exam in YES_NO or domain != "")
    changes = [result.details["changed"] for result in scored if "changed" in result.details]
    passport = Passport(
        judge=judge,
        exam=exam,
        language=language,
        labels=labels,
        failed=Share.of(len(results) - len(scored), len(results)),
        repeated=Share.of(sum(changes), len(changes)),
        domain=domain,
        probabilities=_probabilities(scored, labels),
        **measured,
    )
    if exam == "split":
        # Facts are found or not, and claims hold one or not: there is no table of both.
        contained, single = _split_rates(scored)
        apart = contrast(passport.confusion, contained, single, of_two=True)
        passport = replace(passport, sensitivity=contained, specificity=single, contrast=apart, kappa=None)
    return passport


def join_passports(small: Passport, large: Passport, answers: Mapping[str, tuple[str, str]]) -> Passport:
    """Return the passport of a cascade of two judges, whose answers are these."""
    measured = _measure(answers, small.labels, of_two=small.exam in YES_NO)
    return replace(large, probabilities={}, **measured)


def _measure(answers: Mapping[str, tuple[str, str]], labels: Sequence[str], *, of_two: bool) -> dict[str, Any]:
    """Return what answers (truth, verdict) show of a judge, as fields of its passport."""
    pairs = [*answers.values()]
    confusion = tabulate(pairs, labels, labels)
    sensitivity, specificity = _rates(pairs, labels[0])
    return {
        "answers": answers,
        "confusion": confusion,
        "sensitivity": sensitivity,
        "specificity": specificity,
        "contrast": contrast(confusion, sensitivity, specificity, of_two=of_two),
        "kappa": kappa(confusion),
        "right": Share.of(sum(truth == verdict for truth, verdict in pairs), len(pairs)),
    }


def _probabilities(results: Iterable[ExamResult], labels: Collection[str]) -> dict[str, Mapping[str, float]]:
    """Return each answer's probabilities, by the keys of `_answers`; none of a judge that writes."""
    probabilities: dict[str, Mapping[str, float]] = {}
    for result in results:
        if result.probabilities:
            by_pair = pair_probabilities(result.details, result.probabilities)
            for number, shares in enumerate(by_pair):
                if set(shares) == set(labels):
                    probabilities[f"{result.item_id}.{number}"] = shares
    return probabilities


def _answers(results: Iterable[ExamResult], labels: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return truth and verdict of each claim, fact or response, by question."""
    answers: dict[str, tuple[str, str]] = {}
    for result in results:
        for number, (truth, verdict) in enumerate(result.details["pairs"]):
            if truth in labels and verdict in labels:
                answers[f"{result.item_id}.{number}"] = (truth, verdict)
    return answers


def _split_rates(results: Sequence[ExamResult]) -> tuple[Share, Share]:
    """Return the shares of facts that splits contain, and of claims that contain a fact."""
    marks: Counter[str] = Counter()
    for result in results:
        marks.update(result.details["marks"])
    n_kept, n_claims = marks["alone"] + marks["joined"], marks["claims"]
    return Share.of(n_kept, marks["facts"]), Share.of(n_claims - marks["extra"], n_claims)


def _rates(pairs: Sequence[tuple[str, str]], best: str) -> tuple[Share, Share]:
    """Return sensitivity and specificity of the best label."""
    positive = [verdict for truth, verdict in pairs if truth == best]
    negative = [verdict for truth, verdict in pairs if truth != best]
    sensitivity = Share.of(positive.count(best), len(positive))
    return sensitivity, Share.of(len(negative) - negative.count(best), len(negative))
