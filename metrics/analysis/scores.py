"""Scores of each model, for every suite and overall, with their intervals, before any threshold."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import polars as pl

from data.errors import InputError
from data.exits import OUTCOMES, GateOutcome
from data.plugins import metric
from data.suites import GateOn, Suite
from data.tables import SUMMARY
from metrics.analysis.failures import FailureCount, all_failed
from metrics.analysis.judged import CorrectedMean, JudgeStatus, Labels, Withheld, panel_status
from metrics.analysis.policy import TOLERANCE
from metrics.analysis.stopping import ConfidenceSequence
from metrics.analysis.summary import COLUMNS, OF_FAMILIES, OF_SUITES, SummaryRow, Total, cells, totals
from metrics.analysis.values import ENDS, End
from metrics.stats.intervals import Interval, at_once, correlated, part_of, stratified
from metrics.stats.labelled import Powered

MIN_COVERAGE = 0.9
"""Minimum share of a suite's applicable rows that must be scored."""
THRESHOLD = 0.8


_FIELDS: Mapping[str, tuple[str, str]] = {
    "value": ("score", "interval"),
    **{end: (end, f"{end}_interval") for end in ("lower", "upper", "corrected")},
}
"""The fields of a score and its interval: as measured, at its bounds, and corrected."""


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """One model's score in one suite, and the verdict on it.

    `score` is unrounded, in [0, 1]; None if undefined (`problem` says why). `weight` is the suite's share of the
    overall score, renormalised over the model's suites. `parts` are the means behind the score (with strata: of
    each family), `beside` those of other headlines. `left_out` were not applicable. `n_asked` and `n_scored` count
    rows of all metrics, `n_right` answers for which each metric is 1. `coverage` is the smallest share of
    applicable rows that a metric has scored, `answered` that of rows with a response. `stopping`: the suite was
    asked until it was decided; its interval is the sequence's, which alone decides. In `n_failed` rows the call
    failed, in `n_unread` no judge reply could be read: `lower` is the score with all of these wrong (None if there
    are none), and `failures` are the causes, most frequent first. `n_truncated` responses were truncated: `upper`
    is the score with these and the former right. `withheld` says why no score decides the suite ('' if one does);
    `measured` is false if that is because none of its judges counts: then there is no score. `waiting`
    requests are in batches at a server. If human labels decide, `score` is corrected by `n_labels` of them (the
    fewest of a metric), and `as_judged` is the score before. `corrected` is the score if its judges err as on their
    exam's texts, with its interval; None if undefined. `judges_left_out` do not count (with reasons, by judge and
    metric); `judges_unmeasured` count though their errors have not been measured.

    With `gate_on` `pass_at_k` or `pass_all_k` the score is that of `k` answers to each question, its rows are
    questions, and `mean` is the mean of all answers, with its interval.

    The fields from `threshold` on are those of `metrics.analysis.verdict`: without a threshold the outcome is
    `none`: the score is measured but not judged; `reason` explains it where needed. With `n_deciding` scored rows
    the interval would exclude the threshold, if mean and spread stayed the same; None if no number would, or if no
    score decides the suite.
    """

    suite: str
    score: float | None
    interval: Interval = field(default_factory=Interval)
    weight: float = 0.0
    problem: str = ""
    n_asked: int = 0
    n_scored: int = 0
    n_right: int = 0
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
    judges_left_out: Mapping[str, str] = field(default_factory=dict)
    judges_unmeasured: tuple[str, ...] = ()
    threshold: float | None = None
    outcome: GateOutcome = "none"
    reason: str = ""
    n_deciding: int | None = None


@dataclass(frozen=True, slots=True)
class ModelResult:
    """One model's weighted score over all its suites, and its values at the suites' bounds.

    `missing` says why the model could not be asked, `failed` why all of its calls failed ('' if any succeeded).
    `measured` is false if the score includes a suite that is not. `corrected` is the score with the suites'
    corrected scores; None if there are none.

    The fields from `threshold` on are the verdict's, as a suite's. If only one suite has weight there is no overall
    score: score and outcome are that suite's, and `threshold` is None.
    """

    model: str
    score: float | None
    suites: tuple[SuiteResult, ...]
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
    threshold: float | None = None
    outcome: GateOutcome = "none"
    reason: str = ""
    n_deciding: int | None = None

    @property
    def verdict(self) -> GateOutcome:
        """The worst outcome of the suites and the overall score, which decides the exit code."""
        return max((self.outcome, *(suite.outcome for suite in self.suites)), key=OUTCOMES.index)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON."""
        return {**asdict(self), "verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Facts about a run that its tables do not hold.

    `members` are each model's suites, each with its `repeats` and, if gated on k answers, its `k`. By model and
    suite, `withheld` says why no score decides it, `labels` are judged means corrected by human labels, `corrected`
    by the judges' passports, `judge_statuses` say which judges count. `stopping` are the sequences of suites asked
    until decided, `waiting` the number of a suite's requests waiting in batches, `missing` the models that could
    not be asked, and why. `crossed` are pairs that share neither model nor prompt, which are not compared.
    """

    suites: Sequence[Suite]
    members: Mapping[str, Sequence[Suite]]
    withheld: Mapping[tuple[str, str], Withheld] = field(default_factory=dict)
    labels: Labels = field(default_factory=dict)
    corrected: Sequence[CorrectedMean] = ()
    judge_statuses: Sequence[JudgeStatus] = ()
    stopping: Sequence[ConfidenceSequence] = ()
    waiting: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    crossed: Collection[frozenset[str]] = ()


class AnswerCounts(NamedTuple):
    """How many answers each metric of a suite's score gives 1, and how many some metric counts as truncated."""

    right: int
    truncated: int


def model_scores(
    summary: pl.DataFrame,
    known: Circumstances,
    *,
    repeated: pl.DataFrame | None = None,
    answers: Mapping[tuple[str, str], AnswerCounts] | None = None,
    failures: Mapping[tuple[str, str], tuple[FailureCount, ...]] | None = None,
    intervals: Mapping[tuple[str, str], Mapping[End, Interval]] | None = None,
) -> tuple[ModelResult, ...]:
    """Combine each model's suites into its score.

    `summary` is the run's summary table. The score of a suite with strata is TOTAL / 100; otherwise it is the mean
    of its metrics' means, over metrics that are in the summary and apply. A suite asked until decided has its
    sequence's interval, and the overall interval then combines intervals that hold simultaneously. Sufficient human
    labels replace the judges' verdicts. `repeated` are the cells of suites gated on k answers to each question:
    they replace the means, which are kept too. By model and suite, `answers` counts right and truncated ones, and
    `failures` are the causes of unscored responses.

    `intervals` are those of scores that combine several means (`metrics.analysis.means`), by model and suite. If
    one is not given, and if labels decide, the score's interval is made from its parts' intervals: as of strata for
    a TOTAL, at the widest possible for several metrics. The overall interval treats the suites as strata.

    Raises:
        InputError: no model, a model without a suite, or only with suites of weight 0.
    """
    if not known.members or not all(known.members.values()):
        raise InputError("final score: expected at least one model and one suite; enable one in the configuration.")
    deciding = summary
    if repeated is not None:
        deciding = pl.concat([summary.join(repeated, on=SUMMARY.key, how="anti"), repeated])
    found = []
    for model, suites in known.members.items():
        share = math.fsum(suite.weight for suite in suites)
        if share <= 0:
            names = ", ".join(suite.name for suite in suites)
            raise InputError(
                f"final score: the suites that ran ({names}) have weight 0; give one of them a weight."
            )
        parts = []
        for suite in suites:
            key = model, suite.name
            causes, told = (failures or {}).get(key, ()), (intervals or {}).get(key, {})
            score = _score(summary, deciding, suite, model, known, causes=causes, intervals=told)
            right, cut = (answers or {}).get(key, (0, score.n_truncated))
            parts.append(replace(score, weight=suite.weight / share, n_right=right, n_truncated=cut))
        found.append(overall(model, tuple(parts), known.missing.get(model, "")))
    return tuple(found)


def _score(
    summary: pl.DataFrame,
    deciding: pl.DataFrame,
    suite: Suite,
    model: str,
    known: Circumstances,
    *,
    causes: tuple[FailureCount, ...],
    intervals: Mapping[End, Interval],
) -> SuiteResult:
    """Compute a model's score in a suite and the reasons to withhold it; the weight is set later."""
    corrected = [one for one in known.corrected if (one.suite, one.model) == (suite.name, model)]
    found = _suite(deciding, suite, model, known.labels, corrected)
    if suite.of_k:  # keep the mean too
        plain = _suite(summary, suite, model)
        found = replace(found, k=suite.k, mean=plain.score, mean_interval=plain.interval)
    if found.score is not None and not found.n_labels:
        there = {end: fields for end, fields in _FIELDS.items() if getattr(found, fields[0]) is not None}
        told: dict[str, Any] = {there[end][1]: around for end, around in intervals.items() if end in there}
        found = _stopped(replace(found, **told), known.stopping, model)
    rows = summary.filter(OF_SUITES, pl.col("metric").is_in(suite.scored_by), suite=suite.name, model=model)
    answered = min((_reached(cell) for cell in cells(rows) if cell.n_asked > cell.n_not_applicable), default=None)
    problem = all_failed(causes) if answered == 0 and causes else found.problem
    if (why := known.missing.get(model)) and not found.n_asked:
        problem = f"the model could not be asked: {why}"
    scoring = [one for one in known.judge_statuses if one.suite == suite.name and one.metric in suite.scored_by]
    judges = panel_status(scoring)
    held = known.withheld.get((model, suite.name), Withheld(""))
    if not held.measured:
        found = replace(found, score=None, interval=Interval(), lower=None, upper=None)
    return replace(
        found,
        gate_on=suite.gate_on,
        problem=problem,
        answered=answered,
        failures=causes,
        withheld=held.why,
        measured=held.measured,
        waiting=known.waiting.get(suite.name, 0),
        judges_left_out=judges.left_out,
        judges_unmeasured=() if found.n_labels else judges.unmeasured,
    )


def overall(model: str, suites: tuple[SuiteResult, ...], missing: str) -> ModelResult:
    """Combine a model's suites into its score, with its bounds; `missing`: why it could not be asked."""
    score, interval = weighted(suites)
    others: dict[str, Any] = {}
    for end in ("lower", "upper", "corrected"):
        if (put := put_in(suites, end)) != [*suites]:
            others |= dict(zip(_FIELDS[end], weighted(put), strict=True))
    asked = [suite for suite in suites if suite.answered is not None]
    causes = [one for suite in asked for one in suite.failures]
    return ModelResult(
        model=model,
        score=score,
        suites=suites,
        interval=interval,
        missing=missing,
        failed=all_failed(causes) if causes and not any(one.answered for one in asked) else "",
        measured=all(suite.measured for suite in suites if suite.weight),
        **others,
    )


def count_answers(
    scores: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite]
) -> dict[tuple[str, str], AnswerCounts]:
    """Count answers, not the rows of their metrics, by model and suite."""
    found: dict[tuple[str, str], AnswerCounts] = {}
    for suite in suites:
        own = scores.filter(pl.col("metric").is_in(suite.scored_by), pl.col("status") != "not_applicable")
        own = own.join(items.filter(suite=suite.name), on="item_id", how="semi")
        answers = own.group_by("model", "item_id", "repeat").agg(
            right=(pl.col("value") == 1).fill_null(value=False).all(),
            truncated=(pl.col("status") == "truncated").any(),
        )
        counts = answers.group_by("model").agg(pl.col("right", "truncated").sum())
        found |= {(model, suite.name): AnswerCounts(*told) for model, *told in counts.iter_rows()}
    return found


def put_in(suites: Sequence[SuiteResult], end: str) -> list[SuiteResult]:
    """Return the suites' scores at their `lower` or `upper` bounds, or `corrected`, where available."""
    score, interval = _FIELDS[end]
    return [
        s if getattr(s, score) is None else replace(s, score=getattr(s, score), interval=getattr(s, interval))
        for s in suites
    ]


def headline_parts(suite: Suite) -> tuple[str, ...]:
    """Return the extra headlines of a suite: parts of its metrics that are declared as such."""
    return tuple(f"{name}.{part}" for name in suite.used for part in metric(name).shown.headline)


def totals_of(suites: Sequence[Suite], summary: pl.DataFrame) -> dict[str, Total]:
    """Return each model's TOTAL in the first suite with strata; empty if there is no such suite."""
    ranked = next((suite for suite in suites if suite.strata), None)
    return totals(summary, suite=ranked.name, metric=ranked.scored_by[0]) if ranked else {}


def _suite(
    summary: pl.DataFrame,
    suite: Suite,
    model: str,
    labels: Labels | None = None,
    corrected: Sequence[CorrectedMean] = (),
) -> SuiteResult:
    """Compute a suite's score, interval and coverage."""
    names = suite.scored_by
    whole = summary.filter(OF_SUITES, suite=suite.name)
    rows = whole.filter(pl.col("metric").is_in(names))
    ours = whole.filter(pl.col("metric").is_in(headline_parts(suite)), model=model)
    ran = [name for name in names if name in set(rows["metric"])]
    mine = {cell.metric: cell for cell in cells(rows.filter(pl.col("model") == model))}
    lost = [name for name in ran if name not in mine]
    applicable = [cell for cell in mine.values() if cell.n_asked > cell.n_not_applicable]
    blank = SuiteResult(
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
    blank: SuiteResult,
    applicable: Sequence[SummaryRow],
    own: Mapping[str, Powered],
    corrected: Sequence[CorrectedMean],
) -> SuiteResult:
    """Combine a suite's metrics: by human labels where available (`own`), else as judged; corrected separately."""
    known = [_by_labels(cell, own[cell.metric]) if cell.metric in own else cell for cell in applicable]
    found = _mean(blank, known)
    if own:
        found = replace(
            found,
            coverage=min(_reached(cell) if cell.metric in own else cell.coverage or 0.0 for cell in applicable),
            as_judged=_mean(blank, applicable).score,
            n_labels=min(one.n_labels for one in own.values()),
        )
    rows = [  # a part may be all of its metric's value
        [one for one in corrected if one.whole and f"{one.metric}.".startswith(f"{cell.metric}.")] for cell in known
    ]
    put = [cell if cell.metric in own else _corrected(cell, each) for cell, each in zip(known, rows, strict=True)]
    if put == known or found.score is None:
        return found
    right = _mean(blank, put)
    return replace(found, corrected=right.score, corrected_interval=right.interval)


def _corrected(cell: SummaryRow, rows: Sequence[CorrectedMean]) -> SummaryRow:
    """Replace the judged means of languages by the corrected ones; languages without a correction stay as they are.

    mean = sum of weight * (corrected, else judged) over languages + what was settled without a judge, in [0, 1].
    """
    if cell.mean is None or not any(one.value is not None for one in rows):
        return cell
    parts: list[tuple[float, float, Interval]] = []
    settled, share = cell.mean, 1.0
    for one in rows:
        weight, raw = one.n_samples / cell.n_scored, one.raw or 0.0
        judged = (raw, one.raw_interval) if one.value is None else (one.value, one.interval)
        parts.append((weight, *judged))
        settled, share = settled - weight * raw, share - weight
    if share > TOLERANCE:  # what was settled without a judge has no error
        rest = min(max(settled / share, 0.0), 1.0)
        parts.append((share, rest, Interval(rest, rest, "combined")))
    interval = _of_strata(parts)
    mean = min(max(math.fsum(weight * mean for weight, mean, _ in parts), 0.0), 1.0)
    return replace(cell, mean=mean, ci_low=interval.low, ci_high=interval.high, n_truncated=0, upper=None)


def _reached(cell: SummaryRow) -> float:
    """Return the share of a cell's applicable rows that have a response."""
    return 1 - cell.n_model_error / (cell.n_asked - cell.n_not_applicable)


def _by_labels(cell: SummaryRow, found: Powered) -> SummaryRow:
    """Replace the judged mean by the prediction-powered mean; responses settled without a judge are unchanged.

    With s the share of responses that were judged: mean = s * powered + (mean - s * judged), within [0, 1];
    likewise the ends of its interval. With k the share of rows that have a score or could be labelled, the mean is
    between k * mean and k * mean + (1 - k); no bounds if k is 1.
    """
    n = max(cell.n_scored, found.n_samples)
    share = found.n_samples / n
    settled = 0.0 if cell.n_scored <= found.n_samples else (cell.mean or 0.0) - share * found.judged
    powered = (found.value, found.interval.low, found.interval.high)
    known = [None if one is None else min(max(share * one + settled, 0.0), 1.0) for one in powered]
    kept = min(1.0, n / (cell.n_scored + cell.n_lost))  # labels replace verdicts of judges that do not count
    put: dict[str, Any] = dict(zip(COLUMNS["value"], known, strict=True))
    for end, missing in (("lower", 0.0), ("upper", 1.0)):
        bound = [None if one is None or kept == 1 else kept * one + missing * (1 - kept) for one in known]
        put |= dict(zip(COLUMNS[end], bound, strict=True))
    return replace(cell, n_truncated=0, **put)


def _stopped(result: SuiteResult, stopping: Sequence[ConfidenceSequence], model: str) -> SuiteResult:
    """Replace the interval, invalid after interim looks, by the sequence's."""
    wanted = result.suite, model, ""
    one = next((one for one in stopping if (one.suite, one.model, one.against) == wanted), None)
    if one is None:
        return result
    last = one.looks[-1] if one.looks else None
    interval = Interval(last.low, last.high, "sequence", last.n) if last else Interval()
    found = replace(result, interval=interval, stopping=one, corrected=None, corrected_interval=Interval())
    if one.corrected is None or result.corrected is None:
        return found
    low, high = one.corrected
    around = Interval(low, high, "sequence", interval.units)
    return replace(found, corrected=min(max(result.corrected, low), high), corrected_interval=around)


def _total(summary: pl.DataFrame, blank: SuiteResult, model: str, metric: str) -> SuiteResult:
    found = totals(summary, suite=blank.suite, metric=metric)[model]
    families = cells(summary.filter(OF_FAMILIES, suite=blank.suite, metric=metric, model=model))
    parts = {cell.family: cell.mean for cell in families if cell.family not in found.left_out}
    known = replace(blank, parts=parts, left_out=found.left_out)
    if found.percent is None:
        missing = ", ".join(found.missing)
        return replace(known, problem=f"nothing scored in {missing}; look at the statuses of its rows")
    counted = [cell for cell in families if cell.family in found.included]
    scores = [None if one is None else one / 100 for one in (found.percent, found.lower, found.upper)]
    return _joined(known, counted, scores, _of_strata)


def _mean(blank: SuiteResult, applicable: Sequence[SummaryRow]) -> SuiteResult:
    if without := [cell.metric for cell in applicable if cell.mean is None]:
        problem = f"nothing scored for {', '.join(without)}; look at the statuses of its rows"
        return replace(blank, problem=problem)
    scores = [
        math.fsum(_at(cell, end)[0] for cell in applicable) / len(applicable)
        if any(getattr(cell, COLUMNS[end][0]) is not None for cell in applicable)
        else None
        for end in ENDS
    ]
    return _joined(blank, applicable, scores, correlated if len(applicable) > 1 else lambda parts: parts[0][2])


_Parts = Sequence[tuple[float, float, Interval]]
"""Weights, means and intervals."""


def _of_strata(parts: _Parts) -> Interval:
    return stratified([part_of(*part) for part in parts])


def _joined(
    blank: SuiteResult,
    counted: Sequence[SummaryRow],
    scores: Sequence[float | None],
    join: Callable[[_Parts], Interval],
) -> SuiteResult:
    """Set a suite's score, its bounds, and the intervals combined from its cells."""
    known: dict[str, Any] = {}
    for end, score in zip(ENDS, scores, strict=True):
        if score is not None:
            around = join([(1 / len(counted), *_at(cell, end)) for cell in counted])
            known |= dict(zip(_FIELDS[end], (score, around), strict=True))
    return replace(blank, **known)


def _at(cell: SummaryRow, end: End) -> tuple[float, Interval]:
    """Return a cell's mean and its interval, or those at one of its bounds."""
    mean, low, high = (getattr(cell, name) for name in COLUMNS[end])
    if mean is None and end != "value":
        return _at(cell, "value")
    units = cell.n_scored + (0 if end == "value" else cell.n_lost)
    return mean or 0.0, Interval() if low is None or high is None else Interval(low, high, "combined", units)


def weighted(suites: Sequence[SuiteResult]) -> tuple[float | None, Interval]:
    """Compute the weighted score and its interval; suites of weight 0 are ignored."""
    parts = [(suite.weight, suite.score, suite.interval) for suite in suites if suite.weight]
    known = [(weight, score, interval) for weight, score, interval in parts if score is not None]
    if len(known) < len(parts):
        return None, Interval()
    joined = math.fsum(weight * score for weight, score, _ in known)
    if any(suite.stopping for suite in suites if suite.weight):
        return joined, at_once([(weight, interval) for weight, _, interval in known])
    return joined, known[0][2] if len(known) == 1 else _of_strata(known)
