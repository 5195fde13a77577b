"""Judged means put right by their judges' passports: beside the raw mean, with an interval that holds both samples.

Rows are one for each suite, model, metric (or part of one), judge and language: a judge's errors are its own, and
differ by language. The raw mean here is that of the verdicts themselves, pooled, without what was settled by rule.

Source: SPEC 11.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from data.plugins import metric
from data.records import Measured
from data.suites import Suite
from metrics.passports import Passport, Share
from metrics.stats.calibration import Corrected, Rate, corrected_mean, corrected_share
from metrics.stats.intervals import Interval, estimate, grouped, pool
from metrics.stats.strata import observed

NO_PASSPORT = "the judge has no passport"
OTHER_SCALE = "the exam knows other ratings than these"
NOT_A_MEAN = "no plain mean of verdicts: only own labels can correct it"

Finder = Callable[[Suite, str, str, str, str], Passport | None]
"""Return the passport of (suite, metric, judge, exam, language)."""


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """A judged mean as it was said (`raw`) and as it comes out corrected; None with the `reason` where it does not.

    `n_verdicts` were given on `n_samples` replies; `n_exam` is how many verdicts the exam asked for at that step,
    `sensitivity` and `specificity` what it found there, of the best label against the others (None: no passport).
    """

    suite: str
    model: str
    metric: str
    judge: str
    language: str
    n_samples: int
    n_verdicts: int
    raw: float | None
    raw_interval: Interval
    value: float | None
    interval: Interval
    informedness: float | None
    n_exam: int
    reason: str = ""
    sensitivity: Share | None = None
    specificity: Share | None = None


@dataclass(frozen=True, slots=True)
class _Said:
    """A judge's scores of one metric and language: each sample's value and details."""

    suite: Suite
    model: str
    metric: str
    judge: str
    language: str
    values: tuple[float, ...]
    details: tuple[Mapping[str, Any], ...]


def corrected_means(
    scores: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite], find: Finder
) -> list[CorrectedMean]:
    """Correct every judged mean of a run, from its scores and items tables."""
    return [row for said in _said(scores, items, suites) for row in _rows(said, find)]


def _said(scores: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite]) -> Iterator[_Said]:
    where = items.select("item_id", "suite", "language").unique("item_id")
    for suite in suites:
        for name in suite.used:
            if not metric(name).measured:
                continue
            rows = scores.filter(pl.col("metric") == name).join(
                where.filter(pl.col("suite") == suite.name), on="item_id"
            )
            gathered: dict[tuple[str, str, str], list[tuple[float, Mapping[str, Any]]]] = {}
            for model, language, details in rows.select("model", "language", "details").sort("model").iter_rows():
                for judge, found in json.loads(details).get("judges", {}).items():
                    if found["value"] is not None:
                        kept = gathered.setdefault((model, judge, language), [])
                        kept.append((found["value"], found["details"]))
            for (model, judge, language), listed in sorted(gathered.items(), key=lambda pair: pair[0]):
                values, each = zip(*listed, strict=True)
                yield _Said(suite, model, name, judge, language, values, each)


def _rows(said: _Said, find: Finder) -> Iterator[CorrectedMean]:
    unit = metric(said.metric)
    for measured in unit.measured:
        labels = [list(measured.of(details)) for details in said.details]
        if any(labels):
            passport = find(said.suite, said.metric, said.judge, measured.exam, said.language)
            yield _row(said, measured, [one for one in labels if one], passport)
    if all(measured.part for measured in unit.measured):
        raw = estimate(pool(np.array(said.values)), yes_no=False)
        yield CorrectedMean(
            said.suite.name, said.model, said.metric, said.judge, said.language, len(said.values), 0,
            raw.mean, raw.interval, None, Interval(), None, 0, NOT_A_MEAN,
        )  # fmt: skip


def _row(
    said: _Said, measured: Measured, labels: Sequence[Sequence[str]], passport: Passport | None
) -> CorrectedMean:
    counts = Counter(label for one in labels for label in one)
    known = set(counts) <= set(measured.values)
    values = [[measured.values.get(label, 0.0) for label in one] for one in labels]
    sums, sizes = (np.array([float(f(one)) for one in values]) for f in (sum, len))
    yes_no = set(measured.values.values()) <= {0.0, 1.0}
    raw = estimate(grouped(sums, sizes), yes_no=yes_no)
    found = Corrected(None, Interval(), None, NO_PASSPORT if passport is None else OTHER_SCALE)
    if passport is not None and known and raw.mean is not None:
        found = _correct(measured, counts, passport, raw.mean, raw.interval)
    n = sum(counts.values())
    name = f"{said.metric}.{measured.part}" if measured.part else said.metric
    return CorrectedMean(
        said.suite.name, said.model, name, said.judge, said.language, len(labels), n,
        raw.mean if known else None, raw.interval if known else Interval(), found.value, found.interval,
        found.informedness, passport.right.n if passport else 0, found.reason,
        passport.sensitivity if passport else None, passport.specificity if passport else None,
    )  # fmt: skip


def _correct(
    measured: Measured, counts: Mapping[str, int], passport: Passport, mean: float, interval: Interval
) -> Corrected:
    """Correct by sensitivity and specificity where labels are worth 0 or 1, else by the whole table."""
    n = float(sum(counts.values()))
    if set(measured.values.values()) <= {0.0, 1.0}:
        # Claims of one reply resemble each other: as many as the interval of the raw share tells.
        if interval.low is not None and interval.high is not None and 0 < mean < 1:
            n = min(n, 1 / float(observed(np.array([mean]), np.array([interval.high - interval.low]))[0]))
        return corrected_share(min(max(mean, 0.0), 1.0), n, *_rates(measured, passport))
    order = [passport.labels.index(label) for label in measured.values]
    table = [[passport.confusion[truth][said] for said in order] for truth in order]
    return corrected_mean(
        [counts.get(label, 0) for label in measured.values], table, list(measured.values.values())
    )


def _rates(measured: Measured, passport: Passport) -> tuple[Rate, Rate]:
    worth = [measured.values[label] for label in passport.labels]
    cells = [
        (worth[truth], worth[said], count)
        for truth, row in enumerate(passport.confusion)
        for said, count in enumerate(row)
    ]

    def rate(of: float) -> Rate:
        return Rate(
            sum(count for truth, said, count in cells if truth == said == of),
            sum(count for truth, _, count in cells if truth == of),
        )

    return rate(1.0), rate(0.0)
