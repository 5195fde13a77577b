"""Scores of each model: of every suite and of all together, with their intervals, before any threshold."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import polars as pl

from data.errors import InputError
from data.plugins import metric
from data.suites import GateOn, Suite
from data.tables import SUMMARY
from metrics.analysis.corrected import CorrectedMean
from metrics.analysis.failures import FailureCount, all_failed
from metrics.analysis.means import End
from metrics.analysis.policy import TOLERANCE
from metrics.analysis.stopping import ConfidenceSequence
from metrics.analysis.summary import OF_SUITES, SummaryRow, Total, cells, totals
from metrics.stats.intervals import Interval
from metrics.stats.labelled import Powered
from metrics.stats.strata import at_once, correlated, part_of, stratified

Labels = Mapping[tuple[str, str, str], Powered]
"""Means corrected by people's labels, by suite, model and metric."""

MIN_COVERAGE = 0.9
"""The share of a suite's applicable rows that must be scored."""
THRESHOLD = 0.8


@dataclass(frozen=True, slots=True)
class Withheld:
    """Why no score decides a suite of a model. `measured` is false where none of its judges is to be believed."""

    why: str
    measured: bool = True


@dataclass(frozen=True, slots=True)
class SuiteScore:
    """One model in one suite.

    `score` is unrounded, in [0, 1]; None where nothing can be said (then `problem` says why). `weight` is the
    suite's share of the overall score, renormalised over the suites that the model took part in. `parts` are the
    means that the score is made of (with strata: of each family), `beside` those of other headlines. `left_out`
    were not applicable. `n_asked` and `n_scored` count rows of all its metrics. `coverage` is the smallest share of
    applicable rows that a metric has scored, `answered` that of rows whose call brought a reply. `stopping`: the
    suite was asked until it was decided; its interval is that of the sequence, which alone decides. Of `n_failed`
    rows the call failed, of `n_unread` no judge's reply could be read: `lower` is the score were all of these wrong
    (None where there are none), and `failures` say why, the commonest cause first. Of `n_truncated` rows the reply
    was cut: `upper` is the score were all of these right, and those. `withheld` says why no score decides the suite
    ('' where it does); `measured` is false where that is because none of its judges counts: then there is no score.
    `waiting` requests are in batches at a server. Where people's labels decide, `score` is corrected by `n_labels`
    of them (the fewest of a metric), and `as_judged` is what it was. `corrected` is what the score would be if its
    judges err here as on their exam's texts, with its interval; None where that is not defined.

    With `gate_on` `pass_at_k` or `pass_all_k` the score is that of `k` answers to each question, its rows are
    questions, and `mean` is that of all answers, with its interval.
    """

    suite: str
    score: float | None
    interval: Interval = field(default_factory=Interval)
    weight: float = 0.0
    problem: str = ""
    n_asked: int = 0
    n_scored: int = 0
    coverage: float | None = None
    answered: float | None = None
    parts: Mapping[str, float | None] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    beside: Mapping[str, float | None] = field(default_factory=dict)
    stopping: ConfidenceSequence | None = None
    n_truncated: int = 0
    n_failed: int = 0
    n_unread: int = 0
    failures: tuple[FailureCount, ...] = ()
    lower: float | None = None
    lower_interval: Interval = field(default_factory=Interval)
    upper: float | None = None
    upper_interval: Interval = field(default_factory=Interval)
    gate_on: GateOn = "mean"
    k: int | None = None
    mean: float | None = None
    mean_interval: Interval = field(default_factory=Interval)
    withheld: str = ""
    measured: bool = True
    waiting: int = 0
    as_judged: float | None = None
    n_labels: int = 0
    corrected: float | None = None
    corrected_interval: Interval = field(default_factory=Interval)


@dataclass(frozen=True, slots=True)
class ModelScore:
    """One model over all its suites: the weighted score, and what it would be at the suites' bounds.

    `missing` says why the model could not be asked, `failed` why each of its calls failed ('' where one did not).
    `measured` is false where the score rests on a suite that is not. `corrected` is the score with the suites'
    corrected ones in their place; None where there are none.
    """

    model: str
    score: float | None
    suites: tuple[SuiteScore, ...]
    interval: Interval = field(default_factory=Interval)
    lower: float | None = None
    lower_interval: Interval = field(default_factory=Interval)
    upper: float | None = None
    upper_interval: Interval = field(default_factory=Interval)
    missing: str = ""
    failed: str = ""
    measured: bool = True
    corrected: float | None = None
    corrected_interval: Interval = field(default_factory=Interval)


def scores_of(
    summary: pl.DataFrame,
    members: Mapping[str, Sequence[Suite]],
    *,
    withheld: Mapping[tuple[str, str], Withheld] | None = None,
    stopping: Sequence[ConfidenceSequence] = (),
    waiting: Mapping[str, int] | None = None,
    missing: Mapping[str, str] | None = None,
    repeated: pl.DataFrame | None = None,
    labels: Labels | None = None,
    failures: Mapping[tuple[str, str], tuple[FailureCount, ...]] | None = None,
    corrected: Sequence[CorrectedMean] = (),
    intervals: Mapping[tuple[str, str], Mapping[End, Interval]] | None = None,
) -> tuple[ModelScore, ...]:
    """Join the suites that each model took part in (`members`) into its score.

    `summary` is the run's summary table. The score of a suite with strata is TOTAL / 100; another's is the mean of
    its metrics' means, of those that occur in the summary and apply.

    `withheld` are the suites that no score decides, by model and suite. `stopping` are the sequences of suites that
    were asked until they were decided: their intervals stand, and the overall one is that of means whose intervals
    hold at once. `waiting`: of suites, how many requests wait in batches. `missing` says why models could not be
    asked, `failures` by model and suite why calls brought nothing that could be scored. `labels` are
    prediction-powered means by suite, model and metric: where there are enough of them they stand in the place of
    what judges said, and `as_judged` keeps that. `corrected` are judged means with their judges' errors. `repeated`
    are the cells (`metrics.analysis.repeated`) of suites that are gated on k answers to each question: these take
    the place of the means, which stand beside them.

    `intervals` are those of scores made of several means (`metrics.analysis.means`), by model and suite. Where one
    is not given, and where labels decide, such a score's interval is made of its parts' intervals: a TOTAL's as of
    strata, that of several metrics as wide as it can need to be. The overall one is of the suites' as strata.

    Raises:
        InputError: no model, a model without a suite, or only with suites of weight 0.
    """
    if not members or not all(members.values()):
        raise InputError("final score: expected at least one model and one suite; enable one in the configuration.")
    deciding = summary
    if repeated is not None:
        deciding = pl.concat([summary.join(repeated, on=SUMMARY.key, how="anti"), repeated])
    found = []
    for model, suites in members.items():
        share = math.fsum(suite.weight for suite in suites)
        if share <= 0:
            names = ", ".join(suite.name for suite in suites)
            raise InputError(
                f"final score: the suites that ran ({names}) have weight 0; give one of them a weight."
            )
        why = (missing or {}).get(model, "")
        parts = []
        for suite in suites:
            beside = [one for one in corrected if (one.suite, one.model) == (suite.name, model)]
            plain = _with_k_answers(_suite(deciding, suite, model, labels, beside), suite, summary, model)
            plain = _made(plain, (intervals or {}).get((model, suite.name), {}))
            held = (withheld or {}).get((model, suite.name), Withheld(""))
            stated = _explained(
                _stopped(plain, stopping, model),
                answered=_answered(summary, suite, model),
                causes=(failures or {}).get((model, suite.name), ()),
                why=why,
                held=held,
            )
            parts.append(replace(stated, weight=suite.weight / share, waiting=(waiting or {}).get(suite.name, 0)))
        found.append(_overall(model, tuple(parts), why))
    return tuple(found)


def _explained(
    score: SuiteScore, *, answered: float | None, causes: tuple[FailureCount, ...], why: str, held: Withheld
) -> SuiteScore:
    """Return a suite's score with the reasons why it may decide nothing."""
    problem = all_failed(causes) if answered == 0 and causes else score.problem
    if why and not score.n_asked:
        problem = f"the model could not be asked: {why}"
    if not held.measured:
        score = replace(score, score=None, interval=Interval(), lower=None, upper=None)
    return replace(
        score,
        problem=problem,
        answered=answered,
        failures=causes,
        withheld=held.why,
        measured=held.measured,
    )


def _overall(model: str, suites: tuple[SuiteScore, ...], missing: str) -> ModelScore:
    score, interval = weighted(suites)
    lower, lower_interval = _weighted_anew(bound_scores(suites, best=False), suites)
    upper, upper_interval = _weighted_anew(bound_scores(suites, best=True), suites)
    corrected, corrected_interval = _weighted_anew(
        [
            s if s.corrected is None else replace(s, score=s.corrected, interval=s.corrected_interval)
            for s in suites
        ],
        suites,
    )
    asked = [suite for suite in suites if suite.answered is not None]
    causes = [one for suite in asked for one in suite.failures]
    return ModelScore(
        model=model, score=score, suites=suites, interval=interval,
        lower=lower, lower_interval=lower_interval, upper=upper, upper_interval=upper_interval,
        missing=missing, failed=all_failed(causes) if causes and not any(one.answered for one in asked) else "",
        measured=all(suite.measured for suite in suites if suite.weight),
        corrected=corrected, corrected_interval=corrected_interval,
    )  # fmt: skip


def _weighted_anew(put: Sequence[SuiteScore], suites: Sequence[SuiteScore]) -> tuple[float | None, Interval]:
    """Return the weighted score of suites with other scores put in; None where none is another."""
    return weighted(put) if [*put] != [*suites] else (None, Interval())


def bound_scores(suites: Sequence[SuiteScore], *, best: bool) -> list[SuiteScore]:
    """Return suites' scores were all that is missing wrong; or right, with all that was cut (`best`)."""
    ends = [(s.upper, s.upper_interval) if best else (s.lower, s.lower_interval) for s in suites]
    return [
        s if end is None else replace(s, score=end, interval=interval)
        for s, (end, interval) in zip(suites, ends, strict=True)
    ]


def headline_parts(suite: Suite) -> tuple[str, ...]:
    """Return the headlines that stand beside a suite's score: parts of its metrics that are declared so."""
    return tuple(f"{name}.{part}" for name in suite.used for part in metric(name).shown.headline)


def headline(suites: Sequence[Suite]) -> tuple[str, ...]:
    """Return the metrics on which models, and runs, are compared in pairs; their parts stand in the cells."""
    return tuple(dict.fromkeys(name for suite in suites for name in suite.scored_by))


def totals_of(suites: Sequence[Suite], summary: pl.DataFrame) -> dict[str, Total]:
    """Return each model's TOTAL in the first suite with strata; none where there is no such suite."""
    ranked = next((suite for suite in suites if suite.strata), None)
    return totals(summary, suite=ranked.name, metric=ranked.scored_by[0]) if ranked else {}


def _answered(summary: pl.DataFrame, suite: Suite, model: str) -> float | None:
    """Return the smallest share of a metric's applicable rows for which the model's call brought a reply."""
    rows = summary.filter(OF_SUITES, pl.col("metric").is_in(suite.scored_by), suite=suite.name, model=model)
    return min((_reached(cell) for cell in cells(rows) if cell.n_asked > cell.n_not_applicable), default=None)


def _suite(
    summary: pl.DataFrame,
    suite: Suite,
    model: str,
    labels: Labels | None = None,
    corrected: Sequence[CorrectedMean] = (),
) -> SuiteScore:
    """Compute a suite's score, interval and coverage; threshold, weight and gate come later."""
    names = suite.scored_by
    whole = summary.filter(OF_SUITES, suite=suite.name)
    rows = whole.filter(pl.col("metric").is_in(names))
    ours = whole.filter(pl.col("metric").is_in(headline_parts(suite)), model=model)
    ran = [name for name in names if name in set(rows["metric"])]
    mine = {cell.metric: cell for cell in cells(rows.filter(pl.col("model") == model))}
    lost = [name for name in ran if name not in mine]
    applicable = [cell for cell in mine.values() if cell.n_asked > cell.n_not_applicable]
    blank = SuiteScore(
        suite.name,
        None,
        n_asked=sum(cell.n_asked for cell in mine.values()),
        n_scored=sum(cell.n_scored for cell in mine.values()),
        coverage=min((cell.coverage or 0.0 for cell in applicable), default=None),
        parts={name: mine[name].mean if name in mine else None for name in ran},
        left_out=tuple(name for name, cell in mine.items() if cell not in applicable),
        beside={cell.metric: cell.mean for cell in cells(ours)},
        n_truncated=sum(cell.n_truncated for cell in mine.values()),
        n_failed=sum(cell.n_model_error for cell in mine.values()),
        n_unread=sum(cell.n_judge_failed for cell in mine.values()),
    )
    own = {
        cell.metric: one
        for cell in applicable
        if labels and (one := labels.get((suite.name, model, cell.metric))) and one.decides
    }
    if lost or (not blank.n_scored and not own):
        counts = f"0 of {blank.n_asked} rows" if not lost else f"no row of {', '.join(lost)}"
        return replace(blank, problem=f"nothing scored: {counts}; look at the statuses of its rows")
    if suite.strata:
        return _total(summary, blank, model, names[0])
    return _of_metrics(blank, applicable, own, () if suite.of_k else corrected)


def _of_metrics(
    blank: SuiteScore,
    applicable: Sequence[SummaryRow],
    own: Mapping[str, Powered],
    corrected: Sequence[CorrectedMean],
) -> SuiteScore:
    """Join a suite's metrics: as people's labels have them (`own`), else as judged; corrected beside."""
    known = [_by_labels(cell, own[cell.metric]) if cell.metric in own else cell for cell in applicable]
    found = _mean(blank, known)
    if own:
        found = replace(
            found,
            coverage=min(_reached(cell) if cell.metric in own else cell.coverage or 0.0 for cell in applicable),
            as_judged=_mean(blank, applicable).score,
            n_labels=min(one.n_labels for one in own.values()),
        )
    rows = [[one for one in corrected if one.metric == cell.metric and one.whole] for cell in known]
    put = [cell if cell.metric in own else _corrected(cell, each) for cell, each in zip(known, rows, strict=True)]
    if put == known or found.score is None:
        return found
    right = _mean(blank, put)
    return replace(found, corrected=right.score, corrected_interval=right.interval)


class _Part(NamedTuple):
    """A share of a cell's rows: its weight, mean and interval."""

    weight: float
    mean: float
    interval: Interval


def _corrected(cell: SummaryRow, rows: Sequence[CorrectedMean]) -> SummaryRow:
    """Put the corrected means of languages in the place of those judged; what none corrects stays as it is.

    mean = sum of weight * (corrected, else judged) over languages + what was settled without a judge, in [0, 1].
    """
    if cell.mean is None or not any(one.value is not None for one in rows):
        return cell
    parts: list[_Part] = []
    settled, share = cell.mean, 1.0
    for one in rows:
        weight, raw = one.n_samples / cell.n_scored, one.raw or 0.0
        judged = _Part(weight, raw, one.raw_interval)
        parts.append(judged if one.value is None else _Part(weight, one.value, one.interval))
        settled, share = settled - weight * raw, share - weight
    if share > TOLERANCE:  # what was settled without a judge is known
        rest = min(max(settled / share, 0.0), 1.0)
        parts.append(_Part(share, rest, Interval(rest, rest, "combined")))
    interval = stratified([part_of(*part) for part in parts])
    mean = min(max(math.fsum(part.weight * part.mean for part in parts), 0.0), 1.0)
    return replace(cell, mean=mean, ci_low=interval.low, ci_high=interval.high, n_truncated=0, upper=None)


def _reached(cell: SummaryRow) -> float:
    """Return the share of a cell's applicable rows for which the model's call brought a reply."""
    return 1 - cell.n_model_error / (cell.n_asked - cell.n_not_applicable)


class _Ends(NamedTuple):
    """A mean and the ends of its interval; None where it is not defined."""

    mean: float | None = None
    low: float | None = None
    high: float | None = None


def _by_labels(cell: SummaryRow, found: Powered) -> SummaryRow:
    """Put the prediction-powered mean in the place of the judges'; replies settled without one stay as they are.

    With s the share of replies that were judged: mean = s * powered + (mean - s * judged), within [0, 1]; so are
    the ends of its interval. With k the share of rows that have a score or could be labelled, the mean is between
    k * mean and k * mean + (1 - k); no bounds where k is 1.
    """
    n = max(cell.n_scored, found.n_samples)
    share = found.n_samples / n
    settled = 0.0 if cell.n_scored <= found.n_samples else (cell.mean or 0.0) - share * found.judged
    powered = (found.value, found.interval.low, found.interval.high)
    known = _Ends(*(None if one is None else min(max(share * one + settled, 0.0), 1.0) for one in powered))
    kept = min(1.0, n / (cell.n_scored + cell.n_lost))  # people's labels stand for what no judge that counts said
    lower, upper = (
        _Ends(*(None if one is None else kept * one + missing * (1 - kept) for one in known))
        if kept < 1
        else _Ends()
        for missing in (0.0, 1.0)
    )
    return replace(
        cell, mean=known.mean, ci_low=known.low, ci_high=known.high, n_truncated=0,
        lower=lower.mean, lower_low=lower.low, lower_high=lower.high,
        upper=upper.mean, upper_low=upper.low, upper_high=upper.high,
    )  # fmt: skip


def _with_k_answers(result: SuiteScore, suite: Suite, summary: pl.DataFrame, model: str) -> SuiteScore:
    """Say what a suite's score is of; where it is of k answers, with the mean beside it."""
    if not suite.of_k:
        return replace(result, gate_on=suite.gate_on)
    plain = _suite(summary, suite, model)
    return replace(result, gate_on=suite.gate_on, k=suite.k, mean=plain.score, mean_interval=plain.interval)


def _made(result: SuiteScore, intervals: Mapping[End, Interval]) -> SuiteScore:
    """Give a score that is made of several means the intervals that its questions tell."""
    if not intervals or result.score is None or result.as_judged is not None:
        return result
    return replace(
        result,
        interval=intervals["value"],
        lower_interval=intervals["lower"] if result.lower is not None else result.lower_interval,
        upper_interval=intervals["upper"] if result.upper is not None else result.upper_interval,
    )


def _stopped(result: SuiteScore, stopping: Sequence[ConfidenceSequence], model: str) -> SuiteScore:
    """Put a sequence's interval in the place of the one that would not hold, had it been looked at in between."""
    wanted = result.suite, model, ""
    one = next((one for one in stopping if (one.suite, one.model, one.against) == wanted), None)
    if one is None or result.score is None or result.as_judged is not None:
        return result
    last = one.looks[-1] if one.looks else None
    interval = Interval(last.low, last.high, "sequence", last.n) if last else Interval()
    found = replace(result, interval=interval, stopping=one, corrected=None, corrected_interval=Interval())
    if one.corrected is None or result.corrected is None:
        return found
    low, high = one.corrected
    around = Interval(low, high, "sequence", interval.units)
    return replace(found, corrected=min(max(result.corrected, low), high), corrected_interval=around)


def _total(summary: pl.DataFrame, blank: SuiteScore, model: str, metric: str) -> SuiteScore:
    found = totals(summary, suite=blank.suite, metric=metric)[model]
    families = [
        cell
        for cell in cells(summary.filter(pl.col("suite") == blank.suite, pl.col("metric") == metric))
        if cell.model == model and cell.family and not cell.level and not cell.language
    ]
    parts = {cell.family: cell.mean for cell in families if cell.family not in found.left_out}
    known = replace(blank, parts=parts, left_out=found.left_out)
    if found.percent is None:
        missing = ", ".join(found.missing)
        return replace(known, problem=f"nothing scored in {missing}; look at the statuses of its rows")
    counted = [cell for cell in families if cell.family in found.included]
    interval = stratified([part_of(1 / len(counted), cell.mean or 0.0, _interval(cell)) for cell in counted])
    known = replace(known, score=found.percent / 100, interval=interval)
    if found.lower is not None:
        worst = stratified([part_of(1 / len(counted), *_at(cell, best=False)) for cell in counted])
        known = replace(known, lower=found.lower / 100, lower_interval=worst)
    if found.upper is not None:
        best = stratified([part_of(1 / len(counted), *_at(cell, best=True)) for cell in counted])
        known = replace(known, upper=found.upper / 100, upper_interval=best)
    return known


def _mean(blank: SuiteScore, applicable: Sequence[SummaryRow]) -> SuiteScore:
    means = [cell.mean for cell in applicable]
    known = [mean for mean in means if mean is not None]
    if len(known) < len(means):
        missing = ", ".join(cell.metric for cell in applicable if cell.mean is None)
        return replace(blank, problem=f"nothing scored for {missing}; look at the statuses of its rows")
    interval = _interval(applicable[0])
    if len(known) > 1:
        parts = [(1 / len(known), cell.mean or 0.0, _interval(cell)) for cell in applicable]
        interval = correlated(parts)
    found = replace(blank, score=math.fsum(known) / len(known), interval=interval)
    if any(cell.lower is not None for cell in applicable):
        lower, around = _joined(applicable, best=False)
        found = replace(found, lower=lower, lower_interval=around)
    if any(cell.upper is not None for cell in applicable):
        upper, around = _joined(applicable, best=True)
        found = replace(found, upper=upper, upper_interval=around)
    return found


def _joined(applicable: Sequence[SummaryRow], *, best: bool) -> tuple[float, Interval]:
    """Return the mean of metrics' means at one of their bounds, with its interval."""
    parts = [(1 / len(applicable), *_at(cell, best=best)) for cell in applicable]
    mean = math.fsum(mean for _, mean, _ in parts) / len(parts)
    return mean, correlated(parts) if len(parts) > 1 else parts[0][2]


def _at(cell: SummaryRow, *, best: bool) -> tuple[float, Interval]:
    """Return a cell's mean and interval at one of its bounds."""
    end, low, high = (
        (cell.upper, cell.upper_low, cell.upper_high) if best else (cell.lower, cell.lower_low, cell.lower_high)
    )
    if end is None:
        return cell.mean or 0.0, _interval(cell)
    units = cell.n_scored + cell.n_lost
    return end, Interval() if low is None or high is None else Interval(low, high, "combined", units)


def _interval(cell: SummaryRow) -> Interval:
    if cell.ci_low is None or cell.ci_high is None:
        return Interval()
    return Interval(cell.ci_low, cell.ci_high, "combined", cell.n_scored)


def weighted(suites: Sequence[SuiteScore]) -> tuple[float | None, Interval]:
    """Compute the weighted score and its interval; a suite of weight 0 has no say."""
    parts = [(suite.weight, suite.score, suite.interval) for suite in suites if suite.weight]
    known = [(weight, score, interval) for weight, score, interval in parts if score is not None]
    if len(known) < len(parts):
        return None, Interval()
    joined = math.fsum(weight * score for weight, score, _ in known)
    if any(suite.stopping for suite in suites if suite.weight):
        return joined, at_once([(weight, interval) for weight, _, interval in known])
    if len(known) == 1:
        return joined, known[0][2]
    return joined, stratified([part_of(*one) for one in known])
