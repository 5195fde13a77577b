"""The final verdict: suite scores, weighted and gated, for each model; and the explainability result."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

import polars as pl

from data.errors import InputError
from metrics.intervals import Interval, combine
from metrics.statistics import deciding_n
from metrics.summary import Cell, cells, rounded, totals

Gate = Literal["point", "interval", "off"]
Outcome = Literal["pass", "fail", "undecided", "error"]

SUITE_METRICS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "basic_control": ("correct",),
        "cot": ("cot",),
        "citation": ("citation",),
        "rag": ("factual_correctness", "response_groundedness"),
    }
)
"""The metrics whose means are a suite's score; of several, their mean."""
HEADLINE = tuple(dict.fromkeys(metric for metrics in SUITE_METRICS.values() for metric in metrics))
"""The metrics on which models, and runs, are compared in pairs; their parts stand in the cells."""
WEIGHTS: Mapping[str, float] = MappingProxyType({"basic_control": 0.4, "cot": 0.2, "citation": 0.2, "rag": 0.2})
THRESHOLD = 0.8
MIN_COVERAGE = 0.9
_TOLERANCE = 1e-9  # less than this is the arithmetic's rounding, not the score's
_RANK: tuple[Outcome, ...] = ("pass", "undecided", "fail", "error")


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """One model in one suite.

    `score` is unrounded, in [0, 1]; None where nothing can be said (then `outcome` is error and `reason` says
    why). `weight` is the suite's share of the overall score, renormalised over the suites that ran. `parts` are
    the means that the score is made of (basic_control: of each family). `left_out` were not applicable.
    `n_asked` and `n_scored` count rows of all its metrics. `coverage` is the smallest share of applicable rows
    that a metric has scored. `n_deciding`: with so many scored rows the interval would exclude the threshold,
    did mean and spread stay; None where no number would, or where the suite is undecided by its nature.
    """

    suite: str
    score: float | None
    interval: Interval
    threshold: float
    weight: float
    outcome: Outcome
    reason: str = ""
    n_asked: int = 0
    n_scored: int = 0
    coverage: float | None = None
    n_deciding: int | None = None
    parts: Mapping[str, float | None] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ModelResult:
    """One model over all suites: the weighted score, and the outcome against the overall threshold."""

    model: str
    score: float | None
    interval: Interval
    threshold: float
    outcome: Outcome
    suites: tuple[SuiteResult, ...]
    reason: str = ""
    n_deciding: int | None = None

    @property
    def verdict(self) -> Outcome:
        """The worst outcome of the suites and the whole: what the exit code goes by."""
        return max((self.outcome, *(suite.outcome for suite in self.suites)), key=_RANK.index)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON."""
        return {**asdict(self), "verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class Final:
    """The verdict on a run. With gate `off` everything reads as with `point`, and the exit code is 0."""

    gate: Gate
    models: tuple[ModelResult, ...]

    @property
    def exit_code(self) -> int:
        """0 passes (undecided included); 1: a model below a threshold; 2: an error, which goes before failing."""
        worst = {model.verdict for model in self.models}
        if self.gate == "off":
            return 0
        return 2 if "error" in worst else int("fail" in worst)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON."""
        models = [model.as_dict() for model in self.models]
        return {"gate": self.gate, "exit_code": self.exit_code, "models": models}


def finalise(
    summary: pl.DataFrame,
    *,
    models: Sequence[str],
    suites: Sequence[str],
    weights: Mapping[str, float] = WEIGHTS,
    thresholds: Mapping[str, float] | None = None,
    threshold: float = THRESHOLD,
    gate: Gate = "point",
    undecided: Mapping[str, str] | None = None,
    metrics: Mapping[str, tuple[str, ...]] = SUITE_METRICS,
) -> Final:
    """Join the suites that ran into one gated verdict for each model.

    `summary` is the run's summary table; `suites` and `models` are those that the configuration enables.
    basic_control's score is TOTAL / 100; another suite's is the mean of its metrics' means, of those that occur
    in the summary and apply. Thresholds compare unrounded values. A suite is an error when nothing of it is
    scored, when a component of its score is missing, or when less than `MIN_COVERAGE` of its applicable rows
    are scored; the overall score is then an error too.

    Gate `point`: passes at or above the threshold. `interval`: fails when the interval lies wholly below, passes
    when no part of it does, else is undecided. `undecided` names suites that cannot be decided by any n, with
    the reason; the whole is then decided only where it comes out the same whatever their scores were.

    Intervals: TOTAL's from its families' and the overall one from the suites', as of independent parts; a
    suite's of several metrics on the same items as of correlated parts (`metrics.intervals.combine`).

    Raises:
        InputError: no model, no suite, or only suites of weight 0.
    """
    if not models or not suites:
        raise InputError("final score: expected at least one model and one suite; enable one in the configuration.")
    share = math.fsum(weights.get(suite, 0.0) for suite in suites)
    if share <= 0:
        raise InputError(
            f"final score: the suites that ran ({', '.join(suites)}) have weight 0; give one of them a weight."
        )
    flagged = undecided or {}
    results = []
    for model in models:
        parts = tuple(
            _gated(
                _suite(summary, suite, model, metrics.get(suite, (suite,))),
                gate=gate,
                threshold=(thresholds or {}).get(suite, THRESHOLD),
                weight=weights.get(suite, 0.0) / share,
                flag=flagged.get(suite, ""),
            )
            for suite in suites
        )
        results.append(_overall(model, parts, gate=gate, threshold=threshold, flagged=set(flagged)))
    return Final(gate, tuple(results))


def explainability(
    cot: SuiteResult,
    citation: SuiteResult,
    *,
    model: str,
    judge_model: str,
    weight_cot: float = 0.5,
    weight_citation: float = 0.5,
    threshold: float = THRESHOLD,
) -> dict[str, Any]:
    """Make one model's explainability result in its published form, key by key and in that order.

    Overall to 3 decimals, averages to 4, halves upwards; passing compares unrounded values; `count` is the
    number of scored items. Where a suite has no score, its average and pass are null, and so are the overall ones.

    Source: seed 004.
    """
    overall = None
    if cot.score is not None and citation.score is not None:
        overall = math.fsum((weight_cot * cot.score, weight_citation * citation.score))
    return {
        "XAI_overall_score": None if overall is None else rounded(overall, 3),
        "overall_pass": None if overall is None else reaches(overall, threshold),
        "overall_threshold": threshold,
        "cot": {"model": model, **_explained(cot)},
        "citation": {"response_model": model, "judge_model": judge_model, **_explained(citation)},
        "weights": {"weight_cot": weight_cot, "weight_citation": weight_citation},
    }


def reaches(score: float, threshold: float) -> bool:
    """Say whether a score is at or above a threshold; what is off by rounding of the arithmetic is at it."""
    return score >= threshold - _TOLERANCE


def _explained(result: SuiteResult) -> dict[str, Any]:
    score = result.score
    return {
        "avg_score": None if score is None else rounded(score, 4),
        "count": result.n_scored,
        "pass": None if score is None else reaches(score, result.threshold),
        "threshold": result.threshold,
    }


def _suite(summary: pl.DataFrame, suite: str, model: str, metrics: Sequence[str]) -> SuiteResult:
    """Compute a suite's score, interval and coverage; threshold, weight and gate come later."""
    whole = (
        (pl.col("suite") == suite) & (pl.col("family") == "") & (pl.col("level") == "") & (pl.col("language") == "")
    )
    rows = summary.filter(whole & pl.col("metric").is_in(list(metrics)))
    ran = [metric for metric in metrics if metric in set(rows["metric"])]
    mine = {cell.metric: cell for cell in cells(rows.filter(pl.col("model") == model))}
    lost = [metric for metric in ran if metric not in mine]
    applicable = [cell for cell in mine.values() if cell.n_asked > cell.n_not_applicable]
    blank = SuiteResult(
        suite,
        None,
        Interval(),
        THRESHOLD,
        0.0,
        "error",
        n_asked=sum(cell.n_asked for cell in mine.values()),
        n_scored=sum(cell.n_scored for cell in mine.values()),
        coverage=min((cell.coverage or 0.0 for cell in applicable), default=None),
        parts={metric: mine[metric].mean if metric in mine else None for metric in ran},
        left_out=tuple(metric for metric, cell in mine.items() if cell not in applicable),
    )
    if lost or not blank.n_scored:
        counts = f"0 of {blank.n_asked} rows" if not lost else f"no row of {', '.join(lost)}"
        return replace(blank, reason=f"nothing scored: {counts}; look at the statuses of its rows")
    if suite == "basic_control":
        return _total(summary, blank, model, metrics[0])
    return _mean(blank, applicable)


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
    interval = combine([(1 / len(counted), cell.mean or 0.0, _interval(cell)) for cell in counted])
    return replace(known, score=found.percent / 100, interval=interval)


def _mean(blank: SuiteResult, applicable: Sequence[Cell]) -> SuiteResult:
    means = [cell.mean for cell in applicable]
    known = [mean for mean in means if mean is not None]
    if len(known) < len(means):
        missing = ", ".join(cell.metric for cell in applicable if cell.mean is None)
        return replace(blank, reason=f"nothing scored for {missing}; look at the statuses of its rows")
    interval = _interval(applicable[0])
    if len(known) > 1:
        parts = [(1 / len(known), cell.mean or 0.0, _interval(cell)) for cell in applicable]
        interval = combine(parts, correlated=True)
    return replace(blank, score=math.fsum(known) / len(known), interval=interval)


def _interval(cell: Cell) -> Interval:
    if cell.ci_low is None or cell.ci_high is None:
        return Interval()
    return Interval(cell.ci_low, cell.ci_high, "combined", cell.n_scored)


def _gated(result: SuiteResult, *, gate: Gate, threshold: float, weight: float, flag: str) -> SuiteResult:
    result = replace(result, threshold=threshold, weight=weight)
    if result.score is None:
        return result
    if result.coverage is not None and result.coverage < MIN_COVERAGE:
        reason = (
            f"only {100 * result.coverage:.1f} % of the applicable rows are scored, expected at least "
            f"{100 * MIN_COVERAGE:.0f} %; look at its model errors and judge failures"
        )
        return replace(result, outcome="error", reason=reason)
    if flag:
        return replace(result, outcome="undecided", reason=flag)
    outcome = _decide(result.score, result.interval, threshold, gate)
    n = deciding_n(result.score, result.interval, threshold, result.n_scored)
    return replace(result, outcome=outcome, n_deciding=n)


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
    if wrong or score is None:
        reason = f"an error in {', '.join(wrong)}; look there"
        return ModelResult(model, score, interval, threshold, "error", suites, reason)
    if not flagged & {suite.suite for suite in suites}:
        n = deciding_n(score, interval, threshold, sum(suite.n_scored for suite in suites if suite.weight))
        outcome = _decide(score, interval, threshold, gate)
        return ModelResult(model, score, interval, threshold, outcome, suites, n_deciding=n)
    ends = set()
    for value in (0.0, 1.0):
        fixed = Interval(value, value, "combined")
        supposed = [replace(s, score=value, interval=fixed) if s.suite in flagged else s for s in suites]
        end, around = _weighted(supposed)
        ends.add(_decide(end or 0.0, around, threshold, gate))
    if len(ends) == 1:
        return ModelResult(model, score, interval, threshold, ends.pop(), suites)
    names = ", ".join(suite.suite for suite in suites if suite.suite in flagged)
    return ModelResult(
        model, score, interval, threshold, "undecided", suites, f"it hangs on {names}, which is undecided"
    )


def _weighted(suites: Sequence[SuiteResult]) -> tuple[float | None, Interval]:
    """Compute the weighted score and its interval; a suite of weight 0 has no say."""
    parts = [(suite.weight, suite.score, suite.interval) for suite in suites if suite.weight]
    known = [(weight, score, interval) for weight, score, interval in parts if score is not None]
    if len(known) < len(parts):
        return None, Interval()
    return math.fsum(weight * score for weight, score, _ in known), combine(known)
