"""Scores of judged suites: which judges count, and outcomes from raw, corrected and human-labelled scores.

A corrected mean assumes that judges err as they did on their exam's texts; its interval covers both samples. There
is a row for each suite, model, metric (or part of one) and language, because each judge has its own errors, which
differ by language. Corrections apply to the joint verdict of the judges that count; the exam answers of several
judges are joined like their verdicts. The raw mean here covers the verdicts only, not what was settled by rule.

Source: SPEC 11, 16.
"""

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from operator import attrgetter, itemgetter
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
from basic_control.metrics.analysis.observations import place_items, unit_codes
from basic_control.metrics.analysis.passports import FAIR, Passport
from basic_control.metrics.analysis.policy import Gate, Must, outcome_at
from basic_control.metrics.analysis.summary import percent
from basic_control.metrics.exam import exam_of
from basic_control.metrics.panels import Aggregate, aggregate
from basic_control.metrics.stats.calibration import (
    Contrast,
    Corrected,
    ExamTable,
    MeanRate,
    correct_mean,
    correct_share,
    tabulate,
)
from basic_control.metrics.stats.intervals import (
    Floats,
    Interval,
    MeanEstimate,
    PooledSample,
    Share,
    estimate,
    group_rows,
    infer_rate,
    sum_by_code,
)
from basic_control.metrics.stats.labelled import DECIDING, FEWEST, Powered
from basic_control.metrics.stats.reliability import Reliability

NO_PASSPORT = "the judge has no passport"
OTHER_SCALE = "the exam knows other ratings than these"
NOT_A_MEAN = "only your own labels can correct this score"
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
    questions of each truth; `right` is the share that it judged right, `kappa` that beyond chance. A judge
    without one counts, unmeasured.
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
    right: Share | None = None
    kappa: float | None = None

    @property
    def is_weak(self) -> bool:
        """Whether a judge that counts agrees with the truth little more than chance would."""
        return self.counts and self.kappa is not None and self.kappa < FAIR


def exams_of(unit: Metric, options: Mapping[str, Any]) -> list[str]:
    """Return the exams of a metric's judged steps, and any others that measure its verdicts."""
    steps = () if unit.internal else unit.list_steps(options_of(unit, options))
    exams = [exam_of(unit.name, step.name) for step in steps]
    return list(dict.fromkeys([*filter(None, exams), *(measured.exam for measured in unit.measured)]))


def judge_statuses(
    suite: Suite, name: str, judges: Iterable[str], languages: Collection[str], find: Finder
) -> list[JudgeStatus]:
    """Return each judge's status at each step and language of a metric."""
    statuses = []
    for judge, exam, language in product(judges, exams_of(metric(name), suite.options(name)), sorted(languages)):
        status = JudgeStatus(suite.name, name, exam, judge, language)
        passport = find(suite, name, judge, exam, language)
        statuses.append(_with_passport(status, passport))
    return statuses


def _with_passport(status: JudgeStatus, passport: Passport | None) -> JudgeStatus:
    """Return a judge's status by its passport; unchanged without one."""
    if not passport:
        return status
    # What an exam found of the judge stays beside the verdict, whether or not it counts.
    return replace(
        status,
        measured=True,
        counts=passport.counts,
        why=passport.explain_exclusion(),
        sensitivity=passport.sensitivity,
        specificity=passport.specificity,
        contrast=passport.contrast,
        reliability=passport.reliability,
        n_of_each=passport.n_of_each,
        right=passport.right,
        kappa=passport.kappa,
    )


Labels = Mapping[tuple[str, str, str], Powered]
"""Means corrected by people's labels, by suite, model and metric."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """Why a suite of a model has no deciding score. `measured` is false if none of its judges is reliable."""

    why: str
    measured: bool = True


LeftOut = Mapping[str, Mapping[str, str]]
"""Judges of a metric that do not count, and why, by language."""


def collect_left_out(statuses: Iterable[JudgeStatus]) -> dict[str, dict[str, str]]:
    """Return the judges that do not count at some step of a metric, by language."""
    out: dict[str, dict[str, str]] = {}
    for status in statuses:
        if not status.counts:
            out.setdefault(status.language, {}).setdefault(status.judge, status.why)
    return out


@dataclass(frozen=True, slots=True)
class PanelStatus:
    """The judges of a suite's score: `left_out` with reasons, and `unmeasured`.

    `none` says why a metric has no judge left in one of the languages; '' if each has one.
    """

    left_out: Mapping[str, str]
    unmeasured: tuple[str, ...]
    none: str


def panel_status(statuses: Sequence[JudgeStatus]) -> PanelStatus:
    """Summarise the status of the judges of the metrics that make a suite's score."""
    out = {f"{status.judge}, {status.metric}": status.why for status in statuses if not status.counts}
    unmeasured = tuple(dict.fromkeys(status.judge for status in statuses if not status.measured))
    panels: dict[tuple[str, str], list[JudgeStatus]] = {}
    for status in statuses:
        panels.setdefault((status.metric, status.language), []).append(status)
    for (_, language), panel in panels.items():
        excluded = collect_left_out(panel).get(language, {})
        # The first metric without a judge is reason enough.
        if {*excluded} == {status.judge for status in panel}:
            reasons = "; ".join(f"{judge}: {why}" for judge, why in excluded.items())
            return PanelStatus(out, unmeasured, reasons)
    return PanelStatus(out, unmeasured, "")


def withheld_by_judges(
    suite: Suite, model: str, statuses: Sequence[JudgeStatus], labels: Labels, must: Must
) -> Withheld | None:
    """Return why a judged suite of a model has no deciding score; None if it has one.

    `must` says what judges are required to have. Human labels that decide replace this, and judges that count.
    """
    unlabelled = []
    for name in components(suite):
        powered = labels.get((suite.name, model, name))
        if metric(name).steps and not (powered and powered.decides):
            unlabelled.append(name)
    panel = [status for status in statuses if status.suite == suite.name and status.metric in unlabelled]
    none = panel_status(panel).none
    if none:
        return Withheld(none, measured=False)
    requirement = _find_lacking(panel, must, unlabelled)
    return Withheld(requirement) if requirement else None


def _find_lacking(statuses: Sequence[JudgeStatus], must: Must, unlabelled: Sequence[str]) -> str:
    """Return which requirements the judges lack; '' if none."""
    unmeasured = [status for status in statuses if not status.measured]
    if must == "passport" and unmeasured:
        first = unmeasured[0]
        return f"judges_must_have: passport, and {first.judge} has none for {first.exam} ({first.language})"
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
    as_judged = outcome_at(raw.mean, raw.interval, threshold, gate)
    as_corrected = outcome_at(corrected.mean, corrected.interval, threshold, gate)
    if as_corrected == "none" or as_judged in {"undecided", as_corrected}:
        return as_judged, ""
    first, second = _format_estimate(raw, threshold), _format_estimate(corrected, threshold)
    return "undecided", (
        f"as judged {first}, {_IN_WORDS[as_judged]} the threshold of {percent(threshold)}, but {second}, "
        f"{_IN_WORDS[as_corrected]} it, once corrected by how often the judges erred in their exam"
    )


def _format_estimate(estimate: MeanEstimate, threshold: float) -> str:
    low, high = estimate.interval.low, estimate.interval.high
    mean = percent(estimate.mean or 0.0, threshold)
    if low is None or high is None:
        return mean
    ends = [percent(end, threshold).removesuffix("%") for end in (low, high)]
    return f"{mean} ({'–'.join(ends)})"


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
    common = set(passports[0].answers)
    for passport in passports[1:]:
        common.intersection_update(passport.answers)
    pairs: list[tuple[float, float]] = []
    for key in common:
        truth, _ = passports[0].answers[key]
        verdicts = [worth[passport.answers[key][1]] for passport in passports]
        pairs.append((worth[truth], round(aggregate(verdicts, how), _PLACES)))
    truths = tuple(sorted({*worth.values()}, reverse=True))
    # Several judges together may say what no truth is worth.
    outcomes = tuple(sorted({*truths, *map(itemgetter(1), pairs)}, reverse=True))
    return ExamTable(truths, outcomes, tabulate(pairs, truths, outcomes))


@dataclass(frozen=True, slots=True)
class _Verdicts:
    """What the judges that count for a metric said of the responses in one language."""

    suite: Suite
    model: str
    metric: str
    language: str
    how: Aggregate
    judges: tuple[str, ...]
    replies: tuple["_JudgedReply", ...]

    @property
    def weights(self) -> Floats:
        """The weight of each reply."""
        return np.array([*map(attrgetter("weight"), self.replies)])


@dataclass(frozen=True, slots=True)
class _JudgedReply:
    """What the judges that count said of a response, by judge, and the value of all.

    `question` has the number of its template (-1: none); `weight` says how much of its question's value a response
    is: less than all if rows of the data repeat the question.
    """

    details: Mapping[str, Mapping[str, Any]]
    value: float
    question: tuple[str, int]
    weight: float


def correct_means(
    scores: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite], find: Finder
) -> list[CorrectedMean]:
    """Correct every judged mean of a run, from its scores and items tables."""
    means: list[CorrectedMean] = []
    for verdicts in _read_verdicts(scores, items, suites):
        means += _correct_parts(verdicts, find)
    return means


def _read_verdicts(scores: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite]) -> Iterator[_Verdicts]:
    where = items.select("item_id", "language").unique("item_id").join(place_items(items), on="item_id")
    weight = 1 / pl.len().over("item_id", "model", "repeat")
    for suite in suites:
        in_suite = where.filter(suite=suite.name)
        for name in suite.metric_names:
            if not metric(name).measured:
                continue
            # Keep the order: summing in another order changes the last digit.
            rows = scores.filter(pl.col("metric") == name).join(in_suite, on="item_id", maintain_order="left")
            columns = rows.select("model", "language", "details", "item_id", "cluster", weight=weight)
            ordered = columns.sort("model", "language", maintain_order=True)
            for (model, language), judged_rows in ordered.group_by("model", "language", maintain_order=True):
                verdicts = _join_rows(suite, str(model), name, str(language), judged_rows)
                if verdicts:
                    yield verdicts


def _join_rows(suite: Suite, model: str, name: str, language: str, rows: pl.DataFrame) -> _Verdicts | None:
    """Return the verdicts on rows of the judges that count; None if no judge gave any."""
    # A reply settled without a question does not name the judges that are left out.
    documents = [*map(json.loads, rows["details"])]
    out: set[str] = set()
    for document in documents:
        out.update(document.get("left_out", ()))
    how: Aggregate = next((document["aggregate"] for document in documents if "aggregate" in document), "mean")
    judges: set[str] = set()
    replies: list[_JudgedReply] = []
    places = rows.select("item_id", "cluster", "weight").iter_rows()
    for document, (item_id, cluster, weight) in zip(documents, places, strict=True):
        verdicts = _select_verdicts(document, out)
        if verdicts:
            judges.update(verdicts)
            by_judge = {judge: verdict["details"] for judge, verdict in verdicts.items()}
            value = aggregate([verdict["value"] for verdict in verdicts.values()], how)
            replies.append(_JudgedReply(by_judge, value, (item_id, cluster), weight))
    if not judges:
        return None
    return _Verdicts(suite, model, name, language, how, tuple(sorted(judges)), tuple(replies))


def _select_verdicts(details: Mapping[str, Any], left_out: Collection[str]) -> dict[str, Any]:
    """Return the verdicts on a response of the judges that count and scored it."""
    judges = details.get("judges", {}).items()
    return {judge: verdict for judge, verdict in judges if verdict["value"] is not None and judge not in left_out}


Replies = Sequence[Sequence[Sequence[str]]]
"""Of each response each judge's labels, of judges that gave any."""


def _correct_parts(verdicts: _Verdicts, find: Finder) -> Iterator[CorrectedMean]:
    """Yield the corrected means of a metric's judged parts, and its own where it is no such mean."""
    unit = metric(verdicts.metric)
    options = options_of(unit, verdicts.suite.options(verdicts.metric))
    is_any_whole = False
    # Each judge has errors of its own at each step, so each part is corrected by itself.
    for measured in unit.measured:
        is_whole = measured.is_whole(options)
        is_any_whole |= is_whole
        part, labels = _select_labelled(verdicts, measured)
        if labels:
            passports = [
                find(verdicts.suite, verdicts.metric, judge, measured.exam, verdicts.language)
                for judge in verdicts.judges
            ]
            is_fit = measured.fits(options)
            yield _correct_part(part, measured, labels, passports, whole=is_whole, fits=is_fit)
    if not is_any_whole:
        # A mean that is no plain mean of verdicts has no correction, but its raw value is shown.
        shares, values = verdicts.weights, np.array([*map(attrgetter("value"), verdicts.replies)])
        raw = estimate(_by_unit(values * shares, shares, verdicts.replies), yes_no=False)
        yield CorrectedMean(
            verdicts.suite.name,
            verdicts.model,
            verdicts.metric,
            ", ".join(verdicts.judges),
            verdicts.language,
            round(shares.sum()),
            0,
            raw,
            MeanEstimate(),
            None,
            0,
            NOT_A_MEAN,
            whole=True,
        )


def _select_labelled(verdicts: _Verdicts, measured: Measured) -> tuple[_Verdicts, Replies]:
    """Return the verdicts on responses to which a judge gave labels of a part, and these labels."""
    labels, replies = [], []
    for reply in verdicts.replies:
        by_judge = [[*measured.of(details)] for details in reply.details.values()]
        labelling = [judge_labels for judge_labels in by_judge if judge_labels]
        if labelling:
            labels.append(labelling)
            replies.append(reply)
    return replace(verdicts, replies=tuple(replies)), labels


def _correct_part(
    verdicts: _Verdicts,
    measured: Measured,
    labels: Replies,
    passports: Sequence[Passport | None],
    *,
    whole: bool,
    fits: bool,
) -> CorrectedMean:
    worth = measured.values
    is_scale_known = fits and _labels_in(labels) <= {*worth}
    is_alone = len(verdicts.judges) == 1
    raw, means = _estimate_raw(verdicts, labels, worth, is_pooled=is_alone and not whole)
    # Corrected only where each judge that counts has shown what its verdicts mean.
    examined = [passport for passport in passports if passport]
    table = None
    if is_scale_known and len(examined) == len(passports):
        table = exam_table(examined, verdicts.how, worth)
    corrected = Corrected(None, Interval(), None, NO_PASSPORT)
    if not is_scale_known:
        raw, corrected = MeanEstimate(), replace(corrected, reason=OTHER_SCALE)
    sensitivity = specificity = None
    if table:
        values = _list_values(verdicts.weights, labels, means, alone=is_alone, worth=worth)
        corrected = _correct(table, values, raw, alone=is_alone)
        sensitivity, specificity = map(_share_of, table.rates())
    return CorrectedMean(
        suite=verdicts.suite.name,
        model=verdicts.model,
        metric=f"{verdicts.metric}.{measured.part}" if measured.part else verdicts.metric,
        judge=", ".join(verdicts.judges),
        language=verdicts.language,
        n_samples=round(sum(verdicts.weights.tolist())),
        n_verdicts=round(float(verdicts.weights @ [*map(_count_labels, labels)])),
        raw=raw,
        value=MeanEstimate(corrected.value, corrected.interval),
        informedness=corrected.informedness,
        n_exam=table.n if table else 0,
        reason=corrected.reason,
        sensitivity=sensitivity,
        specificity=specificity,
        whole=whole,
    )


def _share_of(rate: MeanRate) -> float | None:
    return rate.share if rate.n else None


def _labels_in(labels: Replies) -> set[str]:
    distinct: set[str] = set()
    for reply in labels:
        distinct.update(*reply)
    return distinct


def _count_labels(reply: Sequence[Sequence[str]]) -> int:
    return sum(map(len, reply))


def _estimate_raw(
    verdicts: _Verdicts, labels: Replies, worth: Mapping[str, float], *, is_pooled: bool
) -> tuple[MeanEstimate, list[float]]:
    """Return the mean of what judges said, and each response's; pooled: over a single judge's labels."""
    means, sizes = [], []
    for reply in labels:
        by_judge = [_mean_worth(judge_labels, worth) for judge_labels in reply]
        means.append(aggregate(by_judge, verdicts.how))
        sizes.append(len(reply[0]) if is_pooled else 1)
    weights = np.array(sizes, float) * verdicts.weights
    is_yes_no = {*worth.values()} <= {0.0, 1.0} and (is_pooled or {*means} <= {0.0, 1.0})
    pooled = _by_unit(np.array(means) * weights, weights, verdicts.replies)
    return estimate(pooled, yes_no=is_yes_no), means


def _mean_worth(labels: Sequence[str], worth: Mapping[str, float]) -> float:
    return fmean(worth.get(label, 0.0) for label in labels)


def _correct(
    table: ExamTable, values: Sequence[tuple[float, float]] | None, raw: MeanEstimate, *, alone: bool
) -> Corrected:
    """Correct by sensitivity and specificity if truths are worth 0 or 1, else by the whole table.

    `values` are those of single verdicts with their weights, None if several judges gave no joint ones.
    """
    if {*table.truths} <= {0.0, 1.0}:
        return correct_share(min(max(raw.mean or 0.0, 0.0), 1.0), _effective(raw), *table.rates())
    if values is None:
        return Corrected(None, Interval(), None, APART)
    columns = zip(table.outcomes, *table.counts, strict=True)
    heard_values = {value for value, *by_truth in columns if any(by_truth)}
    weight_by_value: dict[float, float] = {}
    for value, weight in values:
        weight_by_value[value] = weight_by_value.get(value, 0.0) + weight
    total = math.fsum(weight_by_value.values())
    unheard = math.fsum(weight for value, weight in weight_by_value.items() if value not in heard_values)
    if not alone and unheard > _RARE * total:
        return Corrected(None, Interval(), None, UNHEARD)
    # Verdicts on one reply or question tell less than as many on questions of their own.
    verdicts, weights = map(np.array, zip(*values, strict=True))
    apart = estimate(group_rows(verdicts * weights, weights), yes_no=False)
    n_told = len(values) * min(1.0, _effective(raw) / _effective(apart))
    outcomes = sorted({*table.outcomes, *weight_by_value}, reverse=True)
    confusion = []
    for row in table.counts:
        by_value = dict(zip(table.outcomes, row, strict=True))
        confusion.append([by_value.get(value, 0) for value in outcomes])
    counts = [weight_by_value.get(value, 0.0) / total * n_told for value in outcomes]
    return correct_mean(counts, confusion, table.truths)


def _list_values(
    weights: Floats, labels: Replies, means: Sequence[float], *, alone: bool, worth: Mapping[str, float]
) -> list[tuple[float, float]] | None:
    """Return single verdicts, of several judges joint ones, with their weights; None where these are not joined.

    A verdict weighs as much of its question as its row does.
    """
    if alone:
        values = []
        for weight, reply in zip(weights.tolist(), labels, strict=True):
            for judge_labels in reply:
                values += [(worth[label], weight) for label in judge_labels]
        return values
    for reply in labels:
        if any(len(judge_labels) != 1 for judge_labels in reply):
            return None
    return [(round(value, _PLACES), weight) for value, weight in zip(means, weights.tolist(), strict=True)]


def _by_unit(totals: Floats, sizes: Floats, replies: Sequence[_JudgedReply]) -> PooledSample:
    """Join verdicts by their units: questions, or the templates that these share."""
    codes, units = unit_codes([*map(attrgetter("question"), replies)])
    return group_rows(sum_by_code(codes, totals), sum_by_code(codes, sizes))._replace(
        fixed_templates=units.fixed_templates
    )


def _effective(raw: MeanEstimate) -> float:
    """Return the effective number of independent verdicts, since those on one question are correlated."""
    mean, low, high = raw.mean or 0.0, raw.interval.low or 0.0, raw.interval.high or 0.0
    return max(1.0, 1 / float(infer_rate(np.array([mean]), np.array([high - low]))[0]))
