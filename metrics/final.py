"""The final verdict: suite scores, weighted and gated, for each model."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from data.errors import InputError
from data.exits import Outcome
from data.plugins import metric, metrics
from data.suites import Suite
from data.tables import SUMMARY
from metrics.stats.intervals import Interval
from metrics.stats.labelled import Powered
from metrics.stats.power import deciding_n
from metrics.stats.sequential import Side, side
from metrics.stats.strata import at_once, correlated, stratified
from metrics.stopping import Narrowing
from metrics.summary import OF_SUITES, Cell, Total, cells, percent, totals
from metrics.verdicts import THRESHOLD, Final, Gate, ModelResult, SuiteResult, reaches

Labels = Mapping[tuple[str, str, str], Powered]
"""Means put right by people's labels, by suite, model and metric."""

SUBMITTED = "submitted"
"""How the reason begins of a suite whose requests wait in batches at a server."""
MIN_COVERAGE = 0.9
_SIDES: Mapping[Side, Outcome] = {"above": "pass", "below": "fail", "": "undecided"}


def finalise(
    summary: pl.DataFrame,
    *,
    models: Sequence[str],
    suites: Sequence[Suite],
    threshold: float = THRESHOLD,
    gate: Gate = "point",
    undecided: Mapping[str, str] | None = None,
    unjudged: Mapping[str, str] | None = None,
    stopping: Sequence[Narrowing] = (),
    waiting: Mapping[str, int] | None = None,
    repeated: pl.DataFrame | None = None,
    labels: Labels | None = None,
) -> Final:
    """Join the suites that ran into one gated verdict for each model.

    `summary` is the run's summary table; `suites` and `models` are those that the configuration enables. The score
    of a suite with strata is TOTAL / 100; another's is the mean of its metrics' means, of those that occur in the
    summary and apply. Thresholds compare unrounded values. A suite is an error when nothing of it is
    scored, when a component of its score is missing, or when less than `MIN_COVERAGE` of its applicable rows
    are scored; the overall score is then an error too.

    Gate `point`: passes at or above the threshold. `interval`: fails when the interval lies wholly below, passes
    when no part of it does, else is undecided. What would come out otherwise had every cut reply been right is
    undecided with both. `undecided` names suites that cannot be decided by any n, with
    the reason; the whole is then decided only where it comes out the same whatever their scores were. So it is with
    `unjudged`, the suites whose judges are not to be believed: that such a judge failed is no error besides.

    `stopping` are the sequences of suites that were asked until they were decided: these decide, whatever the gate,
    and the overall interval is that of means whose intervals hold at once. `waiting`: of suites, how many requests
    wait in batches; a model that lacks scores there is undecided. `labels` are prediction-powered means by suite,
    model and metric: they stand in the place of what judges said, and `as_judged` keeps that.

    `repeated` are the cells (`metrics.repeated`) of suites that are gated on k answers to each question: these take
    the place of the means, which stand beside them.

    Intervals (`metrics.stats.strata`): TOTAL's from its families' and the overall one from the suites', as strata;
    a suite's of several metrics on the same items as of correlated parts.

    Raises:
        InputError: no model, no suite, or only suites of weight 0.
    """
    if not models or not suites:
        raise InputError("final score: expected at least one model and one suite; enable one in the configuration.")
    share = math.fsum(suite.weight for suite in suites)
    if share <= 0:
        names = ", ".join(suite.name for suite in suites)
        raise InputError(f"final score: the suites that ran ({names}) have weight 0; give one of them a weight.")
    in_vain = unjudged or {}
    flagged = {**(undecided or {}), **in_vain}
    deciding = summary
    if repeated is not None:
        deciding = pl.concat([summary.join(repeated, on=SUMMARY.key, how="anti"), repeated])
    results = []
    for model in models:
        found = {suite.name: _suite(deciding, suite, model, labels or {}) for suite in suites}
        gated = (
            _awaited(
                _gated(
                    _stopped(_told(found[suite.name], suite, summary, model), stopping, model),
                    gate=gate,
                    threshold=suite.threshold,
                    weight=suite.weight / share,
                    flag=flagged.get(suite.name, ""),
                    judged=suite.name not in in_vain or not _answered(summary, suite, model),
                ),
                (waiting or {}).get(suite.name, 0),
            )
            for suite in suites
        )
        parts = tuple(replace(part, measured=part.suite not in in_vain) for part in gated)
        whole = _overall(model, parts, gate=gate, threshold=threshold, flagged=set(flagged))
        results.append(replace(whole, measured=all(part.measured for part in parts if part.weight)))
    return Final(gate, tuple(results))


def beside(suite: Suite) -> tuple[str, ...]:
    """Return the headlines that stand beside a suite's score: parts of its metrics that are declared so."""
    return tuple(f"{name}.{part}" for name in suite.used for part in metric(name).shown.headline)


def headline(suites: Sequence[Suite]) -> tuple[str, ...]:
    """Return the metrics on which models, and runs, are compared in pairs; their parts stand in the cells."""
    return tuple(dict.fromkeys(name for suite in suites for name in suite.scored_by))


def totals_of(suites: Sequence[Suite], summary: pl.DataFrame) -> dict[str, Total]:
    """Return each model's TOTAL in the first suite with strata; none where there is no such suite."""
    ranked = next((suite for suite in suites if suite.strata), None)
    return totals(summary, suite=ranked.name, metric=ranked.scored_by[0]) if ranked else {}


def leads(name: str) -> bool:
    """Say whether a metric is a headline: no part of another, or one that its metric declares to be."""
    own, _, part = name.partition(".")
    return not part or (own in metrics() and part in metric(own).shown.headline)


def _answered(summary: pl.DataFrame, suite: Suite, model: str) -> bool:
    """Say whether the model's calls brought enough replies, whatever its judges made of them."""
    rows = summary.filter(OF_SUITES, pl.col("metric").is_in(suite.scored_by), suite=suite.name, model=model)
    applicable = [(cell, cell.n_asked - cell.n_not_applicable) for cell in cells(rows)]
    return bool(applicable) and all(n - cell.n_model_error >= MIN_COVERAGE * n for cell, n in applicable)


def _suite(summary: pl.DataFrame, suite: Suite, model: str, labels: Labels) -> SuiteResult:
    """Compute a suite's score, interval and coverage; threshold, weight and gate come later."""
    names = suite.scored_by
    whole = summary.filter(OF_SUITES, suite=suite.name)
    rows = whole.filter(pl.col("metric").is_in(names))
    ours = whole.filter(pl.col("metric").is_in(beside(suite)), model=model)
    ran = [name for name in names if name in set(rows["metric"])]
    mine = {cell.metric: cell for cell in cells(rows.filter(pl.col("model") == model))}
    lost = [name for name in ran if name not in mine]
    applicable = [cell for cell in mine.values() if cell.n_asked > cell.n_not_applicable]
    blank = SuiteResult(
        suite.name,
        None,
        Interval(),
        THRESHOLD,
        0.0,
        "error",
        n_asked=sum(cell.n_asked for cell in mine.values()),
        n_scored=sum(cell.n_scored for cell in mine.values()),
        coverage=min((cell.coverage or 0.0 for cell in applicable), default=None),
        parts={name: mine[name].mean if name in mine else None for name in ran},
        left_out=tuple(name for name, cell in mine.items() if cell not in applicable),
        beside={cell.metric: cell.mean for cell in cells(ours)},
        n_truncated=sum(cell.n_truncated for cell in mine.values()),
    )
    if lost or not blank.n_scored:
        counts = f"0 of {blank.n_asked} rows" if not lost else f"no row of {', '.join(lost)}"
        return replace(blank, reason=f"nothing scored: {counts}; look at the statuses of its rows")
    if suite.strata:
        return _total(summary, blank, model, names[0])
    found = _mean(blank, applicable)
    own = {cell.metric: one for cell in applicable if (one := labels.get((suite.name, model, cell.metric)))}
    if not own or found.score is None:
        return found
    known = [_by_labels(cell, own[cell.metric]) if cell.metric in own else cell for cell in applicable]
    put_right = _mean(blank, known)
    return replace(put_right, as_judged=found.score, n_labels=min(one.n_labels for one in own.values()))


def _by_labels(cell: Cell, found: Powered) -> Cell:
    """Put the prediction-powered mean in the place of the judges'; replies settled without one stay as they are."""
    n = max(cell.n_scored, found.n_samples)
    share = found.n_samples / n
    settled = (cell.mean or 0.0) - share * found.judged

    def joined(value: float | None) -> float | None:
        return None if value is None else min(max(share * value + settled, 0.0), 1.0)

    return replace(
        cell,
        mean=joined(found.value),
        ci_low=joined(found.interval.low),
        ci_high=joined(found.interval.high),
        n_truncated=0,
        upper=None,
    )


def _told(result: SuiteResult, suite: Suite, summary: pl.DataFrame, model: str) -> SuiteResult:
    """Say what a suite's score is of; where it is of k answers, with the mean beside it."""
    if suite.gate_on == "mean":
        return result
    plain = _suite(summary, suite, model, {})
    return replace(result, gate_on=suite.gate_on, k=suite.k, mean=plain.score, mean_interval=plain.interval)


def _stopped(result: SuiteResult, stopping: Sequence[Narrowing], model: str) -> SuiteResult:
    """Put a sequence's interval in the place of the one that would not hold, had it been looked at in between."""
    wanted = result.suite, model, ""
    one = next((one for one in stopping if (one.suite, one.model, one.against) == wanted), None)
    if one is None or result.score is None or result.as_judged is not None:
        return result
    last = one.looks[-1] if one.looks else None
    interval = Interval(last.low, last.high, "sequence", last.n) if last else Interval()
    return replace(result, interval=interval, stopping=one)


def _total(summary: pl.DataFrame, blank: SuiteResult, model: str, metric: str) -> SuiteResult:
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
        return replace(known, reason=f"nothing scored in {missing}; look at the statuses of its rows")
    counted = [cell for cell in families if cell.family in found.included]
    interval = stratified([(1 / len(counted), cell.mean or 0.0, _interval(cell)) for cell in counted])
    known = replace(known, score=found.percent / 100, interval=interval)
    if found.upper is None:
        return known
    best = stratified([(1 / len(counted), *_at_best(cell)) for cell in counted])
    return replace(known, upper=found.upper / 100, upper_interval=best)


def _mean(blank: SuiteResult, applicable: Sequence[Cell]) -> SuiteResult:
    means = [cell.mean for cell in applicable]
    known = [mean for mean in means if mean is not None]
    if len(known) < len(means):
        missing = ", ".join(cell.metric for cell in applicable if cell.mean is None)
        return replace(blank, reason=f"nothing scored for {missing}; look at the statuses of its rows")
    interval = _interval(applicable[0])
    if len(known) > 1:
        parts = [(1 / len(known), cell.mean or 0.0, _interval(cell)) for cell in applicable]
        interval = correlated(parts)
    found = replace(blank, score=math.fsum(known) / len(known), interval=interval)
    if not any(cell.n_truncated for cell in applicable):
        return found
    best = [(1 / len(known), *_at_best(cell)) for cell in applicable]
    upper = math.fsum(mean for _, mean, _ in best) / len(best)
    return replace(found, upper=upper, upper_interval=correlated(best) if len(best) > 1 else best[0][2])


def _at_best(cell: Cell) -> tuple[float, Interval]:
    """Return a cell's mean and interval had every cut reply been right."""
    if cell.upper is None:
        return cell.mean or 0.0, _interval(cell)
    if cell.upper_low is None or cell.upper_high is None:
        return cell.upper, Interval()
    return cell.upper, Interval(cell.upper_low, cell.upper_high, "combined", cell.n_scored)


def _interval(cell: Cell) -> Interval:
    if cell.ci_low is None or cell.ci_high is None:
        return Interval()
    return Interval(cell.ci_low, cell.ci_high, "combined", cell.n_scored)


def _gated(  # noqa: PLR0911 - a return for each rule
    result: SuiteResult, *, gate: Gate, threshold: float, weight: float, flag: str, judged: bool
) -> SuiteResult:
    result = replace(result, threshold=threshold, weight=weight)
    if not judged:
        return replace(result, outcome="undecided", reason=flag)
    if result.score is None:
        return result
    if result.coverage is not None and result.coverage < MIN_COVERAGE:
        reason = (
            f"only {percent(result.coverage)} of the applicable rows are scored, expected at least "
            f"{percent(MIN_COVERAGE)}; look at its model errors and judge failures"
        )
        return replace(result, outcome="error", reason=reason)
    if flag:
        return replace(result, outcome="undecided", reason=flag)
    sequence = result.stopping
    outcome = _SIDES[sequence.side] if sequence else _decide(result.score, result.interval, threshold, gate)
    if result.upper is not None and outcome != _at_upper(
        outcome, result.upper, result.upper_interval, threshold, None if sequence else gate
    ):
        reason = _cut(f"cut replies ({result.n_truncated})", result.score, result.upper)
        return replace(result, outcome="undecided", reason=reason)
    if sequence:
        return replace(result, outcome=outcome, reason=_open(sequence) if outcome == "undecided" else "")
    n = deciding_n(result.score, result.interval, threshold, result.n_scored)
    return replace(result, outcome=outcome, n_deciding=n)


def _awaited(result: SuiteResult, waiting: int) -> SuiteResult:
    """Return a suite's result; undecided where requests wait, and the model lacks scores."""
    if not waiting or result.coverage == 1:
        return result
    reason = f"{SUBMITTED}: {waiting} requests wait in batches"
    return replace(result, outcome="undecided", reason=reason, n_deciding=None)


def _open(stopping: Narrowing) -> str:
    said = f"undecided after {stopping.asked} of at most {stopping.most} questions"
    if stopping.corrected is None or not any(side(look, stopping.threshold) for look in stopping.looks):
        return said
    low, high = map(percent, stopping.corrected)
    return f"{said}: with the errors that its exam showed of the judge, the mean lies between {low} and {high}"


def _at_upper(outcome: Outcome, upper: float, interval: Interval, threshold: float, gate: Gate | None) -> Outcome:
    """Return what the outcome would be had every cut reply been right; no gate: a sequence decided."""
    if gate is not None:
        return _decide(upper, interval, threshold, gate)
    return "undecided" if outcome == "fail" and reaches(upper, threshold) else outcome


def _cut(what: str, score: float, upper: float) -> str:
    return (
        f"it hangs on {what}: {percent(score)} if they are wrong, {percent(upper)} if they are right; "
        "ask them again with more tokens"
    )


def _decide(score: float, interval: Interval, threshold: float, gate: Gate) -> Outcome:
    if gate != "interval":
        return "pass" if reaches(score, threshold) else "fail"
    if interval.low is None or interval.high is None:
        return "undecided"
    if reaches(interval.low, threshold):
        return "pass"
    return "undecided" if reaches(interval.high, threshold) else "fail"


def _overall(
    model: str, suites: tuple[SuiteResult, ...], *, gate: Gate, threshold: float, flagged: set[str]
) -> ModelResult:
    wrong = [suite.suite for suite in suites if suite.outcome == "error"]
    score, interval = _weighted(suites)
    best = [s if s.upper is None else replace(s, score=s.upper, interval=s.upper_interval) for s in suites]
    upper, upper_interval = _weighted(best) if best != [*suites] else (None, Interval())
    submitted = [suite.suite for suite in suites if suite.reason.startswith(f"{SUBMITTED}:")]
    hanging = flagged & {suite.suite for suite in suites}
    if wrong or submitted or (score is None and not hanging):
        outcome: Outcome = "undecided" if submitted and not wrong else "error"
        reason = f"an error in {', '.join(wrong)}; look there"
        reason = reason if outcome == "error" else f"it hangs on {', '.join(submitted)}, which is undecided"
        return ModelResult(model, score, interval, threshold, outcome, suites, reason, upper=upper)
    if not hanging and score is not None:
        sequence = interval.method == "sequence"
        n = deciding_n(score, interval, threshold, sum(suite.n_scored for suite in suites if suite.weight))
        outcome = _decide(score, interval, threshold, "interval" if sequence else gate)
        result = ModelResult(
            model, score, interval, threshold, outcome, suites, n_deciding=None if sequence else n, upper=upper
        )
        if upper is None or outcome == _at_upper(
            outcome, upper, upper_interval, threshold, None if sequence else gate
        ):
            return result
        cut = _cut("cut replies", score, upper)
        return replace(result, outcome="undecided", reason=cut, n_deciding=None)
    ends = set()
    for value in (0.0, 1.0):
        fixed = Interval(value, value, "combined")
        for bound in (suites, best):
            supposed = [replace(s, score=value, interval=fixed) if s.suite in flagged else s for s in bound]
            end, around = _weighted(supposed)
            ends.add(_decide(end or 0.0, around, threshold, gate))
    if len(ends) == 1:
        return ModelResult(model, score, interval, threshold, ends.pop(), suites, upper=upper)
    names = ", ".join(suite.suite for suite in suites if suite.suite in flagged)
    reason = f"it hangs on {names}, which is undecided"
    return ModelResult(model, score, interval, threshold, "undecided", suites, reason, upper=upper)


def _weighted(suites: Sequence[SuiteResult]) -> tuple[float | None, Interval]:
    """Compute the weighted score and its interval; a suite of weight 0 has no say."""
    parts = [(suite.weight, suite.score, suite.interval) for suite in suites if suite.weight]
    known = [(weight, score, interval) for weight, score, interval in parts if score is not None]
    if len(known) < len(parts):
        return None, Interval()
    joined = math.fsum(weight * score for weight, score, _ in known)
    if any(suite.stopping for suite in suites if suite.weight):
        return joined, at_once(known)
    return joined, stratified(known)
