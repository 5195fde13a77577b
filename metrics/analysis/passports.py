"""A judge's passport: its exam results at one judged step, in one language.

Every statement is a number with its n and interval. A bias is named only if it exceeds the judge's own noise: a
probe must flip more verdicts than repeating the question does, and more than a rewording without effect does.

Source: ours; Cohen 1960 (κ), Wilson 1927, McNemar 1947 (exact), Holm 1979 (over all that a judge is tested for).
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter

from data.exam import AGAIN, PLAIN, REWORDED, WANTED
from data.labelled_sets import SETS
from metrics.exam import LABELS
from metrics.stats.calibration import (
    NOT_SHOWN,
    TOO_WEAK,
    UNTESTED,
    UNUSABLE,
    Contrast,
    contrast,
    kappa,
    kappa_limits,
)
from metrics.stats.intervals import Interval, Share
from metrics.stats.power import ALPHA, holm

SCHEMA = 2

YES_NO = frozenset({"entails"})
"""Steps at which only the best label counts, as 1, and all others as 0."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A bias probe: how many verdicts it flipped, and the p-value under the judge's own noise.

    `p` is one-sided, before Holm, the larger of two: against repeating the question, and against rewording it.
    """

    probe: str
    flipped: Share
    p: float


@dataclass(frozen=True, slots=True)
class Passport:
    """A judge at one step and language.

    `confusion` has a row for each true label and a column for each judged one, in the order of `labels`, best
    first; sensitivity and specificity are of the best label against the others; for a split they are the shares of
    facts that it contains and of claims that contain one fact. `contrast` says whether the judge can measure the
    step. `lenient` counts the errors better than the truth, among all errors. `first` is how many position-decided
    pairs went to the first. `repeated` and `reworded` count the questions whose verdict changed when repeated, and
    when reworded. `leanings` are tested over all passports of one exam. `marks` are a split's own counts; `answers`
    (truth, said) by question, so that several judges' can be joined. `domain` is the human-labelled set of these
    texts; '' for the exam's own.
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
    repaired: Share
    lenient: Share
    first: Share
    repeated: Share
    reworded: Share
    probes: tuple[Probe, ...] = ()
    leanings: tuple[str, ...] = ()
    kappa_interval: Interval = field(default_factory=Interval)
    marks: Mapping[str, int] = field(default_factory=dict)
    answers: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    domain: str = ""

    @property
    def counts(self) -> bool:
        """Whether the judge counts at this step (SPEC 16)."""
        return self.contrast.shown

    @property
    def usable(self) -> str:
        """'' if the judge counts, else the reason why not."""
        if self.counts:
            return ""
        if self.contrast.value is None:
            return UNTESTED
        return TOO_WEAK if self.contrast.value < UNUSABLE - 1e-9 else NOT_SHOWN

    def as_dict(self) -> dict[str, Any]:
        """Return the passport as JSON."""
        return {"schema": SCHEMA, **asdict(self)}


_FORM = TypeAdapter(Passport)


def read_passport(found: Mapping[str, Any]) -> Passport | None:
    """Return a passport from its JSON; None for an incompatible earlier exam."""
    return _FORM.validate_python(found) if found.get("schema") == SCHEMA else None


@dataclass(frozen=True, slots=True)
class ExamResult:
    """One exam item as answered by one judge: its row in a score's details."""

    judge: str
    exam: str
    language: str
    item_id: str
    status: str
    details: Mapping[str, Any]
    n_repairs: int
    domain: str = ""


def passports(results: Iterable[ExamResult]) -> list[Passport]:
    """Summarise an exam: one passport for each judge, step and language, and for each human-labelled set."""
    gathered: dict[tuple[str, str, str, str], list[ExamResult]] = {}
    for one in results:
        gathered.setdefault((one.judge, one.domain, one.exam, one.language), []).append(one)
    made = [_passport(*key, listed) for key, listed in sorted(gathered.items())]
    return [one for judge in dict.fromkeys(one.judge for one in made) for one in _leaning(made, judge)]


def _passport(judge: str, domain: str, exam: str, language: str, results: Sequence[ExamResult]) -> Passport:
    labels = SETS[domain].labels if domain else LABELS[exam]
    read = [one for one in results if one.status == "scored"]
    answers = [
        (f"{one.item_id}.{place}", (truth, said))
        for one in read
        for place, (truth, said) in enumerate(one.details.get("pairs", ()))
        if {truth, said} <= {*labels}
    ]
    pairs = [pair for _, pair in answers]  # an item answered twice counts twice
    counts = Counter(pairs)
    table = tuple(tuple(counts[truth, said] for said in labels) for truth in labels)
    marks: Counter[str] = Counter()
    for one in read:
        marks.update(one.details.get("marks", {}))
    split = exam == "split"
    yes, no = _shares_of_split(marks) if split else _rates(pairs, labels[0])
    errors = [labels.index(said) < labels.index(truth) for truth, said in pairs if said != truth]
    winners = [found for one in read if (found := one.details.get("winners"))]
    placed = [found["ab"] for found in winners if found["ab"] == found["ba"] != "tie"]  # by both orders
    names = sorted({probe for one in read for probe in one.details.get(WANTED, {})})
    return Passport(
        judge,
        exam,
        language,
        labels,
        table,
        sensitivity=yes,
        specificity=no,
        contrast=contrast(table, yes, no, of_two=split or exam in YES_NO or bool(domain)),
        kappa=None if split else kappa(table),
        kappa_interval=Interval() if split else kappa_limits(table),
        right=Share.of(sum(truth == said for truth, said in pairs), len(pairs)),
        failed=Share.of(len(results) - len(read), len(results)),
        repaired=Share.of(sum(one.n_repairs > 0 for one in read), len(results)),
        lenient=Share.of(0, 0) if split else Share.of(sum(errors), len(errors)),
        first=Share.of(placed.count("first"), len(placed)),
        repeated=_flipped(read, AGAIN),
        reworded=_flipped(read, REWORDED),
        probes=tuple(Probe(name, _flipped(read, name), _more(read, name)) for name in names),
        marks=dict(marks),
        answers=dict(answers),
        domain=domain,
    )


def _shares_of_split(marks: Mapping[str, int]) -> tuple[Share, Share]:
    """Return the shares of facts that a split contains, and of claims that contain one fact."""
    found, claims = marks.get("alone", 0) + marks.get("joined", 0), marks.get("claims", 0)
    return Share.of(found, marks.get("facts", 0)), Share.of(claims - marks.get("extra", 0), claims)


def _rates(pairs: Sequence[tuple[str, str]], best: str) -> tuple[Share, Share]:
    """Return sensitivity and specificity of the best label."""
    yes = [said for truth, said in pairs if truth == best]
    no = [said for truth, said in pairs if truth != best]
    return Share.of(yes.count(best), len(yes)), Share.of(len(no) - no.count(best), len(no))


def _flips(read: Sequence[ExamResult], form: str) -> list[tuple[bool, ...]]:
    """Return for each question whether a variant flipped the verdict, and whether repeating and rewording did."""
    found = [one.details["forms"] for one in read if form in one.details.get("forms", {})]
    return [tuple(one[name] != one[PLAIN] for name in (form, AGAIN, REWORDED)) for one in found]


def _flipped(read: Sequence[ExamResult], form: str) -> Share:
    flips = _flips(read, form)
    return Share.of(sum(own for own, *_ in flips), len(flips))


def _more(read: Sequence[ExamResult], form: str) -> float:
    """Return the one-sided p-value of a probe's flips being no more than the judge's own; the worse of both."""
    found = []
    for noise in (1, 2):
        differing = [one[0] for one in _flips(read, form) if one[0] != one[noise]]
        found.append(_as_often(sum(differing), len(differing)))
    return max(found)


def _as_often(k: int, n: int) -> float:
    """Return how likely a fair coin shows heads k of n times, or more: McNemar's exact test, one-sided."""
    return sum(math.comb(n, heads) for heads in range(k, n + 1)) / (1 << n)


def _leaning(made: Sequence[Passport], judge: str) -> Iterator[Passport]:
    """Yield a judge's passports with its leanings: what is refused to be chance, of all that was tested, by Holm.

    Sets that people labelled have not as many of each truth: the direction of errors says nothing there.
    """
    own = [one for one in made if one.judge == judge]
    tests = [(place, name, p) for place, one in enumerate(own) if not one.domain for name, p in _tests(one)]
    named: dict[int, list[str]] = {}
    for (place, name, _), step in zip(tests, holm([p for *_, p in tests]), strict=True):
        if step.adjusted is not None and step.adjusted < ALPHA:
            named.setdefault(place, []).append(name)
    for place, one in enumerate(own):
        yield replace(one, leanings=tuple(named.get(place, ())))


def _tests(one: Passport) -> Iterator[tuple[str, float]]:
    for share, high, low in (
        (one.lenient, "lenient", "strict"),
        (one.first, "prefers the first", "prefers the second"),
    ):
        if share.n:
            more = max(share.k, share.n - share.k)
            yield (high if 2 * share.k > share.n else low), min(1.0, 2 * _as_often(more, share.n))
    for probe in one.probes:
        yield f"swayed by {probe.probe}", probe.p
