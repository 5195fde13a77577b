"""Judged means as they come out if judges err here as on their exam's texts; the interval holds both samples.

Rows are one for each suite, model, metric (or part of one) and language: a judge's errors are its own, and
differ by language. What is corrected is what the judges that count said together; of several, their exam's
answers are joined as their verdicts are. The raw mean here is that of the verdicts themselves, without what was
settled by rule.

Source: SPEC 11.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from data.options import options_of
from data.plugins import metric
from data.records import Measured
from data.suites import Suite
from metrics.analysis.passports import Passport
from metrics.judging import Aggregate, aggregate
from metrics.stats.calibration import Corrected, ExamTable, corrected_mean, corrected_share
from metrics.stats.intervals import Interval, estimate, grouped, pool
from metrics.stats.strata import observed

NO_PASSPORT = "the judge has no passport"
OTHER_SCALE = "the exam knows other ratings than these"
NOT_A_MEAN = "no plain mean of verdicts: only own labels can correct it"
APART = "several judges, who give a reply several verdicts each: there is no verdict of all"

Finder = Callable[[Suite, str, str, str, str], Passport | None]
"""Return the passport of (suite, metric, judge, exam, language)."""

_PLACES = 9


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """A judged mean as it was said (`raw`) and corrected; None with the `reason` where it does not come out.

    `judge` names the judges that count, with commas. `n_verdicts` were given on `n_samples` replies; `n_exam`
    is how many answers of the exam it was corrected by, `sensitivity` and `specificity` what they found on
    average, of the best label against the others. `whole`: it is the metric's own value, not a part of it.
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
    sensitivity: float | None = None
    specificity: float | None = None
    whole: bool = False


def exam_table(passports: Sequence[Passport], how: Aggregate, worth: Mapping[str, float]) -> ExamTable:
    """Join judges' answers to the questions that all of them answered, as their verdicts on a reply are joined."""
    common = set.intersection(*({*one.answers} for one in passports))
    heard: Counter[tuple[float, float]] = Counter()
    for key in common:
        said = [worth[one.answers[key][1]] for one in passports]
        heard[worth[passports[0].answers[key][0]], round(aggregate(said, how), _PLACES)] += 1
    truths = tuple(sorted({*worth.values()}, reverse=True))
    outcomes = tuple(sorted({*truths, *(said for _, said in heard)}, reverse=True))
    return ExamTable(truths, outcomes, tuple(tuple(heard[t, s] for s in outcomes) for t in truths))


@dataclass(frozen=True, slots=True)
class _Said:
    """What judges that count said of a metric in one language: each reply's scores, by judge their details."""

    suite: Suite
    model: str
    metric: str
    language: str
    how: Aggregate
    judges: tuple[str, ...]
    details: tuple[Mapping[str, Mapping[str, Any]], ...]
    values: tuple[float, ...]


def corrected_means(
    scores: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite], find: Finder
) -> list[CorrectedMean]:
    """Correct every judged mean of a run, from its scores and items tables."""
    return [row for said in _judge_labels(scores, items, suites) for row in _rows(said, find)]


def _judge_labels(scores: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite]) -> Iterator[_Said]:
    where = items.select("item_id", "suite", "language").unique("item_id")
    for suite in suites:
        placed = where.filter(pl.col("suite") == suite.name)
        for name in suite.used:
            if not metric(name).measured:
                continue
            rows = scores.filter(pl.col("metric") == name).join(placed, on="item_id")
            gathered: dict[tuple[str, str], list[dict[str, Any]]] = {}
            for model, language, details in rows.select("model", "language", "details").sort("model").iter_rows():
                gathered.setdefault((model, language), []).append(json.loads(details))
            for (model, language), listed in sorted(gathered.items()):
                told = [found for details in listed if (found := _counting(details))]
                if told:
                    judges = tuple(sorted({judge for one in told for judge in one}))
                    how = next(one["aggregate"] for one in listed if "aggregate" in one)
                    each = tuple({judge: found["details"] for judge, found in one.items()} for one in told)
                    values = tuple(aggregate([found["value"] for found in one.values()], how) for one in told)
                    yield _Said(suite, model, name, language, how, judges, each, values)


def _counting(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return what judges that count said of a reply, of those that scored it."""
    left_out = details.get("left_out", {})
    return {
        judge: found
        for judge, found in details.get("judges", {}).items()
        if found["value"] is not None and judge not in left_out
    }


def _rows(said: _Said, find: Finder) -> Iterator[CorrectedMean]:
    unit = metric(said.metric)
    options = options_of(unit, said.suite.options(said.metric))
    whole = [one.whole(options) for one in unit.measured]
    for measured, own in zip(unit.measured, whole, strict=True):
        labels = [_labels(measured, one) for one in said.details]
        if any(labels):
            passports = [find(said.suite, said.metric, one, measured.exam, said.language) for one in said.judges]
            yield _row(said, measured, [one for one in labels if one], passports, whole=own)
    if not any(whole):
        raw = estimate(pool(np.array(said.values)), yes_no=False)
        yield CorrectedMean(
            said.suite.name, said.model, said.metric, ", ".join(said.judges), said.language, len(said.values), 0,
            raw.mean, raw.interval, None, Interval(), None, 0, NOT_A_MEAN, whole=True,
        )  # fmt: skip


def _labels(measured: Measured, details: Mapping[str, Mapping[str, Any]]) -> list[list[str]]:
    """Return each judge's labels of a reply; none of a judge that gave none."""
    return [labels for one in details.values() if (labels := list(measured.of(one)))]


def _row(
    said: _Said,
    measured: Measured,
    labels: Sequence[Sequence[Sequence[str]]],
    passports: Sequence[Passport | None],
    *,
    whole: bool,
) -> CorrectedMean:
    worth = measured.values
    known = all(label in worth for reply in labels for one in reply for label in one)
    n = sum(len(one) for reply in labels for one in reply)
    alone = len(said.judges) == 1
    means = [
        aggregate([fmean(worth.get(label, 0.0) for label in one) for one in reply], said.how) for reply in labels
    ]
    sizes = [len(reply[0]) for reply in labels] if alone and not whole else [1] * len(labels)
    sums = np.array(means) * np.array(sizes)
    yes_no = {*worth.values()} <= {0.0, 1.0} and ((alone and not whole) or {*means} <= {0.0, 1.0})
    raw = estimate(grouped(sums, np.array(sizes, float)), yes_no=yes_no)
    there = [one for one in passports if one]
    table = exam_table(there, said.how, worth) if len(there) == len(passports) and known else None
    found = Corrected(None, Interval(), None, NO_PASSPORT if known else OTHER_SCALE)
    if table and raw.mean is not None:
        found = _correct(table, labels, means, raw.mean, raw.interval, alone=alone, worth=worth)
    yes, no = table.rates() if table else (None, None)
    return CorrectedMean(
        said.suite.name, said.model, f"{said.metric}.{measured.part}" if measured.part else said.metric,
        ", ".join(said.judges), said.language, len(labels), n,
        raw.mean if known else None, raw.interval if known else Interval(), found.value, found.interval,
        found.informedness, table.n if table else 0, found.reason,
        yes.share if yes and yes.n else None, no.share if no and no.n else None, whole,
    )  # fmt: skip


def _correct(
    table: ExamTable,
    labels: Sequence[Sequence[Sequence[str]]],
    means: Sequence[float],
    mean: float,
    interval: Interval,
    *,
    alone: bool,
    worth: Mapping[str, float],
) -> Corrected:
    """Correct by sensitivity and specificity where truths are worth 0 or 1, else by the whole table."""
    if {*table.truths} <= {0.0, 1.0}:
        return corrected_share(min(max(mean, 0.0), 1.0), _effective(mean, interval, len(means)), *table.rates())
    if alone:
        said = Counter(worth[label] for reply in labels for one in reply for label in one)
    elif all(len(one) == 1 for reply in labels for one in reply):
        said = Counter(round(value, _PLACES) for value in means)
    else:
        return Corrected(None, Interval(), None, APART)
    outcomes = sorted({*table.said, *said}, reverse=True)
    counts = [[dict(zip(table.said, row, strict=True)).get(one, 0) for one in outcomes] for row in table.counts]
    return corrected_mean([said[one] for one in outcomes], counts, table.truths)


def _effective(mean: float, interval: Interval, n: int) -> float:
    """Return as how many independent verdicts their mean's interval tells: claims of a reply are alike."""
    if interval.low is None or interval.high is None or not 0 < mean < 1:
        return float(n)
    return max(1.0, 1 / float(observed(np.array([mean]), np.array([interval.high - interval.low]))[0]))
