"""A judge's passport: what an exam showed of it at one judged step, in one language.

Every statement is a number with its n and its interval; a leaning is named only where the interval excludes that
there is none.

Source: ours; Cohen 1960 (κ), Wilson 1927.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from data.labelled_sets import SETS
from metrics.exam import LABELS
from metrics.stats.calibration import Rate, corrected_mean, corrected_share, kappa, kappa_limits
from metrics.stats.intervals import Interval, wilson

SCHEMA = 1
_HALF = 0.5


YES_NO = frozenset({"entails"})
"""Steps of which only the best label counts, as 1, and all others as 0."""


def worth(n: int) -> list[float]:
    """Return what n labels are worth, the best first: 1 down to 0 in equal steps."""
    return [1 - place / (n - 1) for place in range(n)]


@dataclass(frozen=True, slots=True)
class Share:
    """K of n with Wilson's interval; `share` is None of nothing."""

    k: int
    n: int
    share: float | None
    interval: Interval

    @classmethod
    def of(cls, k: int, n: int) -> "Share":
        """Count k of n."""
        return cls(k, n, k / n if n else None, wilson(k, n))


@dataclass(frozen=True, slots=True)
class Probe:
    """A bias probe: of n pairs of one question in two clothes, how many verdicts flipped, and how many followed.

    `followed`: flipped to what the dressed question asks for (of an instruction), or to the best verdict (of all
    others).
    """

    probe: str
    flipped: Share
    followed: Share


@dataclass(frozen=True, slots=True)
class Passport:
    """A judge at one step and language.

    `confusion` has a row for each true label and a column for each said one, in the order of `labels`, the best
    first; sensitivity and specificity are of the best label against the others. `lenient` counts the errors that
    say better than the truth, of all errors. `first` is how many of the pairs that were decided by their place
    went to the first. `marks` are a split's own counts. `domain` is the set that people labelled of whose texts it
    tells; '' for the exam's own.
    """

    judge: str
    exam: str
    language: str
    labels: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    sensitivity: Share
    specificity: Share
    kappa: float | None
    right: Share
    failed: Share
    repaired: Share
    lenient: Share
    first: Share
    repeated: Share
    probes: tuple[Probe, ...] = ()
    kappa_interval: Interval = field(default_factory=Interval)
    marks: Mapping[str, int] = field(default_factory=dict)
    domain: str = ""

    @property
    def rates(self) -> tuple[Rate, Rate]:
        """Sensitivity and specificity as counts."""
        return Rate(self.sensitivity.k, self.sensitivity.n), Rate(self.specificity.k, self.specificity.n)

    @property
    def usable(self) -> str:
        """'' where means can be corrected by this passport, else the reason why not."""
        if self.exam == "split":
            return ""
        if self.exam in YES_NO:
            return corrected_share(0.5, 1.0, *self.rates).reason
        found = corrected_mean([1.0] * len(self.labels), self.confusion, worth(len(self.labels)))
        return found.reason

    @property
    def leanings(self) -> tuple[str, ...]:
        """The names of what the judge is found to lean to."""
        found = []
        for share, high, low in (
            (self.lenient, "lenient", "strict"),
            (self.first, "prefers the first", "prefers the second"),
        ):
            if share.interval.low is not None and share.interval.low > _HALF:
                found.append(high)
            elif share.interval.high is not None and share.interval.high < _HALF:
                found.append(low)
        # One verdict in twenty flips by the judge's own unsteadiness at most, where it is asked the same twice.
        steady = self.repeated.interval.high if self.repeated.n else 0.0
        found += [
            f"swayed by {one.probe}"
            for one in self.probes
            if one.followed.interval.low is not None
            and one.followed.k
            and one.followed.interval.low > (steady or 0.0) / 2
        ]
        return tuple(found)

    def as_dict(self) -> dict[str, Any]:
        """Return the passport as JSON."""
        return {"schema": SCHEMA, **asdict(self), "leanings": list(self.leanings)}


def read_passport(found: Mapping[str, Any]) -> Passport:
    """Return a passport from its JSON."""

    def share(part: Mapping[str, Any]) -> Share:
        return Share.of(part["k"], part["n"])

    probes = (Probe(one["probe"], share(one["flipped"]), share(one["followed"])) for one in found["probes"])
    shares = ("sensitivity", "specificity", "right", "failed", "repaired", "lenient", "first", "repeated")
    return Passport(
        judge=found["judge"],
        exam=found["exam"],
        language=found["language"],
        labels=tuple(found["labels"]),
        confusion=tuple(map(tuple, found["confusion"])),
        kappa=found["kappa"],
        kappa_interval=kappa_limits(found["confusion"]) if found["kappa"] is not None else Interval(),
        probes=tuple(probes),
        marks=dict(found["marks"]),
        domain=found.get("domain", ""),
        **{name: share(found[name]) for name in shares},
    )


@dataclass(frozen=True, slots=True)
class Sitting:
    """One exam item as one judge answered it: the row of it in a score's details."""

    judge: str
    exam: str
    language: str
    status: str
    details: Mapping[str, Any]
    n_repairs: int
    domain: str = ""


def passports(sittings: Iterable[Sitting]) -> list[Passport]:
    """Sum sittings up, one passport for each judge, step and language, and for each set that people labelled."""
    gathered: dict[tuple[str, str, str, str], list[Sitting]] = {}
    for one in sittings:
        gathered.setdefault((one.judge, one.domain, one.exam, one.language), []).append(one)
    return [_passport(key, listed) for key, listed in sorted(gathered.items())]


def _passport(key: tuple[str, str, str, str], sittings: Sequence[Sitting]) -> Passport:
    judge, domain, exam, language = key
    labels = SETS[domain].labels if domain else LABELS[exam]
    read = [one for one in sittings if one.status == "scored"]
    pairs = [(truth, said) for one in read for truth, said in one.details["pairs"] if {truth, said} <= {*labels}]
    counts = Counter(pairs)
    table = tuple(tuple(counts[truth, said] for said in labels) for truth in labels)
    best = labels[0]
    yes = [said for truth, said in pairs if truth == best]
    no = [said for truth, said in pairs if truth != best]
    errors = [labels.index(said) < labels.index(truth) for truth, said in pairs if said != truth]
    marks: Counter[str] = Counter()
    for one in read:
        marks.update(one.details.get("marks", {}))
    return Passport(
        judge,
        exam,
        language,
        labels,
        table,
        sensitivity=Share.of(yes.count(best), len(yes)),
        specificity=Share.of(len(no) - no.count(best), len(no)),
        kappa=kappa(table) if exam != "split" else None,
        kappa_interval=kappa_limits(table) if exam != "split" else Interval(),
        right=Share.of(sum(truth == said for truth, said in pairs), len(pairs)),
        failed=Share.of(len(sittings) - len(read), len(sittings)),
        repaired=Share.of(sum(one.n_repairs > 0 for one in read), len(sittings)),
        lenient=Share.of(sum(errors), len(errors)) if exam != "split" else Share.of(0, 0),
        first=_first(read),
        repeated=_repeated(read),
        probes=_probes(read, best),
        marks=dict(marks),
        domain=domain,
    )


def _first(read: Sequence[Sitting]) -> Share:
    """Count the pairs that both orders gave to the same place, and those of them that went to the first."""
    placed = [
        winners["ab"]
        for one in read
        if (winners := one.details.get("winners")) and winners["ab"] == winners["ba"] != "tie"
    ]
    return Share.of(placed.count("first"), len(placed))


def _probed(read: Sequence[Sitting]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in read:
        if bias := one.details.get("bias"):
            found.setdefault(bias["probe"], []).append(bias)
    return found


def _repeated(read: Sequence[Sitting]) -> Share:
    """Count the same questions asked twice, and those whose verdicts differ."""
    twice = _probed(read).get("repeat", [])
    return Share.of(sum(one["plain"] != one["dressed"] for one in twice), len(twice))


def _probes(read: Sequence[Sitting], best: str) -> tuple[Probe, ...]:
    found = []
    for probe, listed in sorted(_probed(read).items()):
        if probe == "repeat":
            continue
        flipped = [one for one in listed if one["plain"] != one["dressed"]]
        wanted = [one for one in flipped if one["dressed"] == (one["wanted"] or best)]
        found.append(Probe(probe, Share.of(len(flipped), len(listed)), Share.of(len(wanted), len(listed))))
    return tuple(found)
