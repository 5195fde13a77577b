"""Scores of judged suites: which judges count, and outcomes from raw, corrected and human-labelled scores.

A corrected mean assumes that judges err as they did on their exam's texts; its interval covers both samples. There
is a row for each suite, model, metric (or part of one) and language, because each judge has its own errors, which
differ by language. Corrections apply to the joint verdict of the judges that count; the exam answers of several
judges are joined like their verdicts. The raw mean here covers the verdicts only, not what was settled by rule.

Source: SPEC 11, 16.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from basic_control.data.deciding import components
from basic_control.data.exits import GateOutcome
from basic_control.data.options import options_of
from basic_control.data.plugins import metric
from basic_control.data.records import Measured, Metric
from basic_control.data.suites import Suite
from basic_control.metrics.analysis.passports import Passport
from basic_control.metrics.analysis.policy import Gate, Must, outcome_at
from basic_control.metrics.analysis.summary import percent
from basic_control.metrics.analysis.values import placed, unit_codes
from basic_control.metrics.exam import exam_of
from basic_control.metrics.judging import Aggregate, aggregate
from basic_control.metrics.stats.calibration import Contrast, Corrected, ExamTable, corrected_mean, corrected_share
from basic_control.metrics.stats.intervals import (
    Floats,
    Interval,
    MeanEstimate,
    PooledSample,
    Share,
    estimate,
    grouped,
    observed,
    pool,
    summed,
)
from basic_control.metrics.stats.labelled import DECIDING, FEWEST, Powered
from basic_control.metrics.stats.reliability import Reliability

NO_PASSPORT = "the judge has no passport"
OTHER_SCALE = "the exam knows other ratings than these"
NOT_A_MEAN = "no plain mean of verdicts: only own labels can correct it"
APART = "several judges, who give a reply several verdicts each: there is no verdict of all"
UNHEARD = "several judges, who together say what they never said in their exam"

Finder = Callable[[Suite, str, str, str, str], Passport | None]
"""Return the passport of (suite, metric, judge, exam, language)."""

_PLACES = 9
_RARE = 0.05
"""Share of a panel's verdicts unheard in its exam that may be left out of the correction."""


@dataclass(frozen=True, slots=True)
class JudgeStatus:
    """Whether a judge counts at a step of a metric, in a language; `why` gives the exam's finding if not.

    `measured`: it has a passport, with these rates, this contrast and, if it decides, this reliability, of so many
    questions of each truth. A judge without one counts, unmeasured.
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
    reliability: Reliability | None = None
    n_of_each: int = 0


def exams_of(unit: Metric, options: Mapping[str, Any]) -> list[str]:
    """Return the exams of a metric's judged steps, and any others that measure its verdicts."""
    steps = () if unit.internal else unit.list_steps(options_of(unit, options))
    exams = [exam_of(unit.name, step.name) for step in steps]
    return list(dict.fromkeys([*filter(None, exams), *(measured.exam for measured in unit.measured)]))


def judge_statuses(
    suite: Suite, name: str, judges: Iterable[str], languages: Collection[str], find: Finder
) -> list[JudgeStatus]:
    """Return each judge's status at each step and language of a metric."""
    found = []
    for judge, exam, language in product(judges, exams_of(metric(name), suite.options(name)), sorted(languages)):
        one = JudgeStatus(suite.name, name, exam, judge, language)
        if passport := find(suite, name, judge, exam, language):
            rates = {"sensitivity": passport.sensitivity, "specificity": passport.specificity}
            shown = (f"{rate} {percent(k.share)} of {k.n}" for rate, k in rates.items() if k.share is not None)
            why = f"{passport.exclusion}: {', '.join((f'{exam} ({language})', *shown))}"
            one = replace(
                one,
                measured=True,
                counts=passport.counts,
                why="" if passport.counts else why,
                contrast=passport.contrast,
                reliability=passport.reliability,
                n_of_each=passport.n_of_each,
                **rates,
            )
        found.append(one)
    return found


Labels = Mapping[tuple[str, str, str], Powered]
"""Means corrected by people's labels, by suite, model and metric."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """Why a suite of a model has no deciding score. `measured` is false if none of its judges is reliable."""

    why: str
    measured: bool = True


LeftOut = Mapping[str, Mapping[str, str]]
"""Judges of a metric that do not count, and why, by language."""


def left_out(found: Iterable[JudgeStatus]) -> dict[str, dict[str, str]]:
    """Return the judges that do not count at some step of a metric, by language."""
    out: dict[str, dict[str, str]] = {}
    for one in found:
        if not one.counts:
            out.setdefault(one.language, {}).setdefault(one.judge, one.why)
    return out


@dataclass(frozen=True, slots=True)
class PanelStatus:
    """The judges of a suite's score: `left_out` with reasons, and `unmeasured`.

    `none` says why a metric has no judge left in one of the languages; '' if each has one.
    """

    left_out: Mapping[str, str]
    unmeasured: tuple[str, ...]
    none: str


def panel_status(found: Sequence[JudgeStatus]) -> PanelStatus:
    """Summarise the status of the judges of the metrics that make a suite's score."""
    out = {f"{one.judge}, {one.metric}": one.why for one in found if not one.counts}
    blank = tuple(dict.fromkeys(one.judge for one in found if not one.measured))
    none = ""
    for name, language in dict.fromkeys((one.metric, one.language) for one in found):
        own = [one for one in found if (one.metric, one.language) == (name, language)]
        excluded = left_out(own).get(language, {})
        if {*excluded} == {one.judge for one in own}:
            none = none or "; ".join(f"{judge}: {why}" for judge, why in excluded.items())
    return PanelStatus(out, blank, none)


def withheld_by_judges(
    suite: Suite, model: str, found: Sequence[JudgeStatus], labels: Labels, must: Must
) -> Withheld | None:
    """Return why a judged suite of a model has no deciding score; None if it has one.

    `must` says what judges are required to have. Human labels that decide replace this, and judges that count.
    """
    judged = [name for name in components(suite) if metric(name).steps]
    known = {name: labels.get((suite.name, model, name)) for name in judged}
    unlabelled = [name for name, label in known.items() if not label or not label.decides]
    own = [one for one in found if one.suite == suite.name and one.metric in unlabelled]
    if none := panel_status(own).none:
        return Withheld(none, measured=False)
    lacking = _lacking(own, must, unlabelled)
    return Withheld(lacking) if lacking else None


def _lacking(found: Sequence[JudgeStatus], must: Must, unlabelled: Sequence[str]) -> str:
    """Return which requirements the judges lack; '' if none."""
    if must == "passport" and (blank := next((one for one in found if not one.measured), None)):
        return f"judges_must_have: passport, and {blank.judge} has none for {blank.exam} ({blank.language})"
    if must == "labels" and unlabelled:
        return (
            f"judges_must_have: labels, and fewer than {DECIDING} replies as they are were labelled for "
            f"{unlabelled[0]}, or fewer than {FEWEST} of one kind"
        )
    return ""


def outcome_as_judged(
    raw: MeanEstimate, corrected: MeanEstimate, threshold: float, gate: Gate
) -> tuple[GateOutcome, str]:
    """Return a judged score's outcome at a threshold, and the reason if the exam leaves it undecided.

    The exam can only withhold: if score and corrected score lie on different sides of the threshold, the outcome is
    undecided. `raw` is the score from human labels where these decide; then nothing is corrected.
    """
    own, other = (outcome_at(one.mean, one.interval, threshold, gate) for one in (raw, corrected))
    if other == "none" or own in {"undecided", other}:
        return own, ""
    return "undecided", (
        f"as judged {_shown(raw, threshold)}, {_IN_WORDS[own]} the threshold of {percent(threshold)}; if the "
        f"judges err here as on the exam's texts {_shown(corrected, threshold)}, {_IN_WORDS[other]} it"
    )


def _shown(estimate: MeanEstimate, threshold: float) -> str:
    low, high = estimate.interval.low, estimate.interval.high
    around = "" if low is None or high is None else f" [{percent(low, threshold)}, {percent(high, threshold)}]"
    return f"{percent(estimate.mean or 0.0, threshold)}{around}"


_IN_WORDS: Mapping[GateOutcome, str] = {"pass": "at or above", "fail": "below", "undecided": "on both sides of"}


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """A judged mean, `raw` and corrected; None with the `reason` if the correction is undefined.

    `judge` names the judges that count, comma-separated. The `n_verdicts` are on `n_samples` responses, rows of one
    question counted once; `n_exam` is the number of exam answers behind the correction, `sensitivity` and
    `specificity` their average rates, of the best label against the others. `whole`: it is the metric's own value,
    not a part of it.
    """

    suite: str
    model: str
    metric: str
    judge: str
    language: str
    n_samples: int
    n_verdicts: int
    raw: MeanEstimate
    value: MeanEstimate
    informedness: float | None
    n_exam: int
    reason: str = ""
    sensitivity: float | None = None
    specificity: float | None = None
    whole: bool = False


def exam_table(passports: Sequence[Passport], how: Aggregate, worth: Mapping[str, float]) -> ExamTable:
    """Join judges' exam answers, as verdicts are joined, on the questions that all of them answered."""
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
    """Scores by response, and details by judge, of the judges that count for a metric in one language.

    `questions` are those of the responses, each with the number of its template (-1: none); `weights` say how much
    of its question's value a response is: less than all if rows of the data repeat the question.
    """

    suite: Suite
    model: str
    metric: str
    language: str
    how: Aggregate
    judges: tuple[str, ...]
    details: tuple[Mapping[str, Mapping[str, Any]], ...]
    values: tuple[float, ...]
    questions: tuple[tuple[str, int], ...]
    weights: tuple[float, ...]


def corrected_means(
    scores: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite], find: Finder
) -> list[CorrectedMean]:
    """Correct every judged mean of a run, from its scores and items tables."""
    return [row for said in _judge_labels(scores, items, suites) for row in _rows(said, find)]


def _judge_labels(scores: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite]) -> Iterator[_Said]:
    where = items.select("item_id", "language").unique("item_id").join(placed(items), on="item_id")
    for suite, name in [(one, name) for one in suites for name in one.metric_names if metric(name).measured]:
        own = where.filter(suite=suite.name)  # keep the order: summing in another order changes the last digit
        rows = scores.filter(pl.col("metric") == name).join(own, on="item_id", maintain_order="left")
        gathered: dict[tuple[str, str], list[tuple[dict[str, Any], tuple[str, int], float]]] = {}
        weight = 1 / pl.len().over("item_id", "model", "repeat")
        columns = rows.select("model", "language", "details", "item_id", "cluster", weight=weight)
        for model, language, details, item_id, cluster, weight_of_row in columns.iter_rows():
            row = (json.loads(details), (item_id, cluster), weight_of_row)
            gathered.setdefault((model, language), []).append(row)
        for (model, language), listed in sorted(gathered.items()):
            # A reply settled without a question does not name the judges that are left out.
            out = {judge for details, *_ in listed for judge in details.get("left_out", ())}
            if counted := [(found, *of) for details, *of in listed if (found := _counting(details, out))]:
                told, questions, weights = zip(*counted, strict=True)
                judges = tuple(sorted({judge for one in told for judge in one}))
                how = next(one["aggregate"] for one, *_ in listed if "aggregate" in one)
                each = tuple({judge: found["details"] for judge, found in one.items()} for one in told)
                values = tuple(aggregate([found["value"] for found in one.values()], how) for one in told)
                yield _Said(suite, model, name, language, how, judges, each, values, questions, weights)


def _counting(details: Mapping[str, Any], left_out: Collection[str]) -> dict[str, Any]:
    """Return the verdicts on a response of the judges that count and scored it."""
    judges = details.get("judges", {})
    return {judge: said for judge, said in judges.items() if said["value"] is not None and judge not in left_out}


def _rows(said: _Said, find: Finder) -> Iterator[CorrectedMean]:
    unit = metric(said.metric)
    options = options_of(unit, said.suite.options(said.metric))
    whole = [one.is_whole(options) for one in unit.measured]
    for measured, own in zip(unit.measured, whole, strict=True):
        # Each judge's labels of each response; empty for a judge that gave none.
        each = ([found for one in judges.values() if (found := [*measured.of(one)])] for judges in said.details)
        answered = [row for row in zip(each, said.questions, said.weights, strict=True) if row[0]]
        if answered:
            labels, questions, weights = zip(*answered, strict=True)
            passports = [find(said.suite, said.metric, one, measured.exam, said.language) for one in said.judges]
            fits = measured.fits(options)
            yield _row(
                replace(said, questions=questions, weights=weights),
                measured,
                labels,
                passports,
                whole=own,
                fits=fits,
            )
    if not any(whole):
        shares = np.array(said.weights)
        raw = estimate(_by_unit(np.array(said.values) * shares, shares, said.questions), yes_no=False)
        yield CorrectedMean(
            said.suite.name, said.model, said.metric, ", ".join(said.judges), said.language, round(shares.sum()), 0,
            raw, MeanEstimate(), None, 0, NOT_A_MEAN, whole=True,
        )  # fmt: skip


def _row(
    said: _Said,
    measured: Measured,
    labels: Sequence[Sequence[Sequence[str]]],
    passports: Sequence[Passport | None],
    *,
    whole: bool,
    fits: bool,
) -> CorrectedMean:
    worth = measured.values
    known = fits and all(label in worth for reply in labels for one in reply for label in one)
    n = sum(len(one) for reply in labels for one in reply)
    alone = len(said.judges) == 1
    means = [
        aggregate([fmean(worth.get(label, 0.0) for label in one) for one in reply], said.how) for reply in labels
    ]
    sizes = [len(reply[0]) for reply in labels] if alone and not whole else [1] * len(labels)
    weights = np.array(sizes, float) * np.array(said.weights)
    yes_no = {*worth.values()} <= {0.0, 1.0} and ((alone and not whole) or {*means} <= {0.0, 1.0})
    raw = estimate(_by_unit(np.array(means) * weights, weights, said.questions), yes_no=yes_no)
    there = [one for one in passports if one]
    table = exam_table(there, said.how, worth) if len(there) == len(passports) and known else None
    found = Corrected(None, Interval(), None, NO_PASSPORT if known else OTHER_SCALE)
    if table:
        found = _correct(table, labels, means, raw, alone=alone, worth=worth)
    yes, no = table.rates() if table else (None, None)
    return CorrectedMean(
        suite=said.suite.name,
        model=said.model,
        metric=f"{said.metric}.{measured.part}" if measured.part else said.metric,
        judge=", ".join(said.judges),
        language=said.language,
        n_samples=round(sum(said.weights)),
        n_verdicts=n,
        raw=raw if known else MeanEstimate(),
        value=MeanEstimate(found.value, found.interval),
        informedness=found.informedness,
        n_exam=table.n if table else 0,
        reason=found.reason,
        sensitivity=yes.share if yes and yes.n else None,
        specificity=no.share if no and no.n else None,
        whole=whole,
    )


def _correct(
    table: ExamTable,
    labels: Sequence[Sequence[Sequence[str]]],
    means: Sequence[float],
    raw: MeanEstimate,
    *,
    alone: bool,
    worth: Mapping[str, float],
) -> Corrected:
    """Correct by sensitivity and specificity if truths are worth 0 or 1, else by the whole table."""
    if {*table.truths} <= {0.0, 1.0}:
        return corrected_share(min(max(raw.mean or 0.0, 0.0), 1.0), _effective(raw), *table.rates())
    if alone:
        values = [worth[label] for reply in labels for one in reply for label in one]
    elif all(len(one) == 1 for reply in labels for one in reply):
        values = [round(value, _PLACES) for value in means]
    else:
        return Corrected(None, Interval(), None, APART)
    said = Counter(values)
    heard = {one for one, *counts in zip(table.said, *table.counts, strict=True) if any(counts)}
    if not alone and sum(n for one, n in said.items() if one not in heard) > _RARE * said.total():
        return Corrected(None, Interval(), None, UNHEARD)
    # Verdicts on one reply or question tell less than as many on questions of their own.
    share = min(1.0, _effective(raw) / _effective(estimate(pool(np.array(values)), yes_no=False)))
    outcomes = sorted({*table.said, *said}, reverse=True)
    counts = [[dict(zip(table.said, row, strict=True)).get(one, 0) for one in outcomes] for row in table.counts]
    return corrected_mean([said[one] * share for one in outcomes], counts, table.truths)


def _by_unit(totals: Floats, sizes: Floats, questions: Sequence[tuple[str, int]]) -> PooledSample:
    """Join verdicts by their units: questions, or the templates that these share."""
    codes, units = unit_codes(questions)
    return grouped(summed(codes, totals), summed(codes, sizes))._replace(fixed_templates=units.fixed_templates)


def _effective(found: MeanEstimate) -> float:
    """Return the effective number of independent verdicts, since those on one question are correlated."""
    mean, low, high = found.mean or 0.0, found.interval.low or 0.0, found.interval.high or 0.0
    return max(1.0, 1 / float(observed(np.array([mean]), np.array([high - low]))[0]))
