"""Does a run pass: each model's scores against the thresholds, suite by suite and as a whole."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, NamedTuple

from data.exits import OUTCOMES, Exit, GateOutcome
from metrics.analysis.failures import lost
from metrics.analysis.judged import Estimated, outcome_as_judged, panel_status
from metrics.analysis.policy import Gate, Policy, Undecided, outcome_at
from metrics.analysis.results import Results
from metrics.analysis.scores import MIN_COVERAGE, THRESHOLD, ModelScore, SuiteScore, bound_scores, weighted
from metrics.analysis.stopping import ConfidenceSequence
from metrics.analysis.summary import percent
from metrics.analysis.twins import TwinResult
from metrics.stats.intervals import Interval, MeanEstimate
from metrics.stats.power import deciding_n
from metrics.stats.regression import Change
from metrics.stats.sequential import Side, side

SUBMITTED = "submitted"
"""How the reason begins of a suite whose requests wait in batches at a server."""
_AGAIN = {
    (True, False): "ask them again with --only-failed",
    (False, True): "ask them again with more tokens",
    (True, True): "ask the failed ones again with --only-failed, the cut ones with more tokens",
}
"""How to get what is missing, what was cut, and both."""
_SIDES: Mapping[Side, GateOutcome] = {"above": "pass", "below": "fail", "": "undecided"}


@dataclass(frozen=True, slots=True)
class SuiteResult(SuiteScore):
    """A model's score in a suite, and its outcome at the threshold; `reason` says why where that needs saying.

    Without a threshold the outcome is `none`: the score is measured, and nothing judges it.
    `n_deciding`: with so many scored rows the interval would exclude the threshold, if mean and spread stayed the
    same; None where no number would, or where no score decides the suite. Of judges `judges_left_out` do not count
    (why, by judge and metric), and `judges_unmeasured` count though their errors have not been measured.
    """

    threshold: float | None = None
    outcome: GateOutcome = "error"
    reason: str = ""
    n_deciding: int | None = None
    judges_left_out: Mapping[str, str] = field(default_factory=dict)
    judges_unmeasured: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelResult(ModelScore):
    """A model's weighted score over its suites, and its outcome at the overall threshold.

    Where only one suite weighs anything there is no overall score: the model's is that suite's, and so is its
    outcome; `threshold` is None.
    """

    suites: tuple[SuiteResult, ...]
    threshold: float | None = None
    outcome: GateOutcome = "error"
    reason: str = ""
    n_deciding: int | None = None

    @property
    def verdict(self) -> GateOutcome:
        """The worst outcome of the suites and the whole: what the exit code goes by."""
        return max((self.outcome, *(suite.outcome for suite in self.suites)), key=OUTCOMES.index)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON."""
        return {**asdict(self), "verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The verdict on a run. With gate `off` everything reads as with `point`, and only an error has an exit code.

    `undecided` says what an undecided gate counts as: itself, or a pass. `changes` are the suites' outcomes
    against a baseline, where the run fails on a regression; they count whatever the gate. `waiting` requests are in
    batches at servers: what they will bring decides nothing yet, whatever the gate.
    """

    gate: Gate
    models: tuple[ModelResult, ...]
    undecided: Undecided = "undecided"
    changes: tuple[Change, ...] = ()
    waiting: int = 0

    @property
    def exit_code(self) -> Exit:
        """The worst over models and changes, in the order error, fail or regressed, undecided, pass."""
        outcomes = {model.verdict for model in self.models}
        found: set[str] = {*(outcomes if self.gate != "off" else outcomes & {"error"}), *self.changes}
        if "error" in found:
            return Exit.ERROR
        if found & {"fail", "regressed"}:
            return Exit.FAILED
        if "undecided" in found and self.undecided == "undecided":
            return Exit.UNDECIDED
        return Exit.UNDECIDED if self.waiting else Exit.PASSED

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON."""
        said = {
            "gate": self.gate,
            "undecided": self.undecided,
            "changes": [*self.changes],
            "waiting": self.waiting,
            "exit_code": int(self.exit_code),
        }
        return {**said, "models": [model.as_dict() for model in self.models]}


def verdict_of(results: Results, policy: Policy) -> RunVerdict:
    """Return the verdict on a run's results; thresholds are compared with unrounded values.

    A suite's outcome comes from the first of these rules (`_RULES`) that applies:

    1. The model replied to most rows, and no judge of the replies counts: undecided (`none` without a threshold).
    2. Nothing is scored, or a component of its score is missing: error.
    3. Less than `MIN_COVERAGE` of its applicable rows is scored: error.
    4. Its score is withheld: undecided (`none` without a threshold).
    5. It has no threshold: none.
    6. The outcome would change were all that is missing wrong, or that and every cut reply right: undecided.
    7. It was asked until it was decided: its sequence decides, whatever the gate.
    8. Its score decides; with `gate: interval` its interval: undecided if the threshold lies in it. Undecided too
       if the score corrected by its judges' exam comes to another outcome.

    Two things go before these rules: a suite whose requests wait in batches is undecided while rows are not scored,
    and one gated on twins goes through the rules again with the share of originals that are right in all of them,
    unless it ended in an error or was withheld. The rules of a model's overall score are `_overall`'s.
    """
    models = tuple(_model(model, policy, results) for model in results.models)
    changes = results.baseline.outcomes if results.baseline and policy.regressions else ()
    return RunVerdict(policy.gate, models, policy.undecided, changes, sum(results.waiting.values()))


def _suite(score: SuiteScore, policy: Policy, results: Results, model: str) -> SuiteResult:
    known = {one.name: getattr(score, one.name) for one in fields(SuiteScore)}
    judges = panel_status(
        [one for one in results.judge_statuses if one.suite == score.suite and one.metric in score.parts]
    )
    result = SuiteResult(
        **known,
        threshold=policy.thresholds.get(score.suite),
        judges_left_out=judges.left_out,
        judges_unmeasured=judges.unmeasured if score.as_judged is None else (),
    )
    gated = _gated(result, policy.gate)
    if score.suite in policy.robust and gated.outcome != "error" and not gated.withheld:
        renewed = (one for one in results.twins if (one.suite, one.model) == (score.suite, model))
        gated = _on_robust(result, next(renewed, None), policy.gate)
    if not gated.waiting or gated.coverage == 1:
        return gated
    reason = f"{SUBMITTED}: {gated.waiting} requests wait in batches"
    return replace(gated, outcome="undecided", reason=reason, n_deciding=None)


class _Finding(NamedTuple):
    """What a rule says: the outcome, its reason, and how many scored rows would decide."""

    outcome: GateOutcome
    reason: str = ""
    n_deciding: int | None = None


def _no_judge_counts(suite: SuiteResult, gate: Gate) -> _Finding | None:
    return _withheld(suite, gate) if not suite.measured and (suite.answered or 0.0) >= MIN_COVERAGE else None


def _nothing_scored(suite: SuiteResult, _: Gate) -> _Finding | None:
    missing = suite.score is None and (suite.problem or not suite.withheld)
    return _Finding("error", suite.problem) if missing else None


def _too_few_scored(suite: SuiteResult, _: Gate) -> _Finding | None:
    if suite.coverage is None or suite.coverage >= MIN_COVERAGE:
        return None
    share, floor = percent(suite.coverage), percent(MIN_COVERAGE)
    reason = f"only {share} of the applicable rows are scored, expected at least {floor}: {_missing([suite])}"
    return _Finding("error", reason)


def _withheld(suite: SuiteResult, _: Gate) -> _Finding | None:
    outcome: GateOutcome = "none" if suite.threshold is None else "undecided"
    return _Finding(outcome, suite.withheld) if suite.withheld else None


def _no_threshold(suite: SuiteResult, _: Gate) -> _Finding | None:
    return _Finding("none") if suite.threshold is None else None


def _depends_on_missing(suite: SuiteResult, gate: Gate) -> _Finding | None:
    sequence = suite.stopping
    changes = _contradicted(_SIDES[sequence.side], suite) if sequence else _changes_at_bounds(suite, gate)
    return _Finding("undecided", _depends_on_replies(suite, [suite])) if changes else None


def _by_sequence(suite: SuiteResult, _: Gate) -> _Finding | None:
    if not suite.stopping:
        return None
    outcome = _SIDES[suite.stopping.side]
    return _Finding(outcome, _open(suite.stopping) if outcome == "undecided" else "")


def _by_score(suite: SuiteResult, gate: Gate) -> _Finding:
    return _compared(suite, gate, suite.n_scored)


_RULES: tuple[Callable[[SuiteResult, Gate], _Finding | None], ...] = (
    _no_judge_counts,
    _nothing_scored,
    _too_few_scored,
    _withheld,
    _no_threshold,
    _depends_on_missing,
    _by_sequence,
    _by_score,
)
"""What decides a suite: the first rule that finds something (`verdict_of` says each in words)."""


def _gated(suite: SuiteResult, gate: Gate) -> SuiteResult:
    found = next(found for rule in _RULES if (found := rule(suite, gate)))
    return replace(suite, **found._asdict())


def _on_robust(result: SuiteResult, twins: TwinResult | None, gate: Gate) -> SuiteResult:
    """Decide a suite as its score would, by the share of originals that are right in all twins; the score stays."""
    if twins is None or not (whole := twins.n_robust + twins.n_lost):
        return replace(result, outcome="error", reason="gated on twins, and no original has one of every kind")
    (lower, upper) = twins.robust_bounds or (MeanEstimate(None, Interval()),) * 2
    share = replace(
        result, score=twins.robust, interval=twins.robust_interval, corrected=None, coverage=twins.n_robust / whole,
        n_scored=twins.n_robust, n_failed=twins.n_lost, n_unread=0, n_truncated=twins.n_cut, failures=(),
        lower=lower.mean, lower_interval=lower.interval, upper=upper.mean, upper_interval=upper.interval,
    )  # fmt: skip
    found = _gated(share, gate)
    said = (
        f"gated on twins: {percent(twins.robust or 0.0)} of {twins.n_robust} originals are right in every one too"
    )
    reason = "; ".join(filter(None, (said, found.reason)))
    return replace(result, outcome=found.outcome, reason=reason, n_deciding=found.n_deciding)


def _open(stopping: ConfidenceSequence) -> str:
    said = f"undecided after {stopping.asked} of at most {stopping.most} questions"
    threshold = stopping.threshold
    if stopping.corrected is None or threshold is None or not any(side(look, threshold) for look in stopping.looks):
        return said
    low, high = map(percent, stopping.corrected)
    return f"{said}: with the errors that its exam showed of the judge, the mean lies between {low} and {high}"


def _compared(result: SuiteResult | ModelResult, gate: Gate, n: int) -> _Finding:
    """Compare a score, and what it would be if its judges err here as on their exam's texts, with its threshold."""
    if result.score is None or result.threshold is None:
        return _Finding("none")
    own, corrected = Estimated(result.score, result.interval), None
    if result.corrected is not None:
        corrected = Estimated(result.corrected, result.corrected_interval)
    outcome, why = outcome_as_judged(own, corrected, result.threshold, gate)
    return _Finding(outcome, why, None if why else deciding_n(result.score, result.interval, result.threshold, n))


def _changes_at_bounds(result: SuiteResult | ModelResult, gate: Gate) -> bool:
    """Say whether a score comes to another outcome at a bound of what is missing or cut."""
    return bool(_at_bounds(result, gate) - {outcome_at(result.score, result.interval, result.threshold, gate)})


def _contradicted(outcome: GateOutcome, result: SuiteResult | ModelResult) -> bool:
    """Say whether a sequence decided and a bound of what is missing or cut is on the threshold's other side."""
    return {"pass": "fail", "fail": "pass"}.get(outcome) in _at_bounds(result, "point")


def _at_bounds(result: SuiteResult | ModelResult, gate: Gate) -> set[GateOutcome]:
    both = (result.lower, result.lower_interval), (result.upper, result.upper_interval)
    return {outcome_at(*bound, result.threshold, gate) for bound in both if bound[0] is not None}


def _depends_on_replies(result: SuiteResult | ModelResult, suites: Sequence[SuiteScore]) -> str:
    """Say on which replies of its suites an outcome depends, and how to get them."""
    low = result.score if result.lower is None else result.lower
    high = result.score if result.upper is None else result.upper
    missing, cut = _missing(suites), sum(suite.n_truncated for suite in suites)
    what = " + ".join(filter(None, (missing, f"cut replies ({cut})" if cut else "")))
    how = _AGAIN[bool(missing), bool(cut)]
    ends = f"{percent(low or 0.0)} if they are wrong, {percent(high or 0.0)} if they are right"
    return f"it depends on {what}: {ends}; {how}"


def _missing(suites: Sequence[SuiteScore]) -> str:
    """Say what was asked and is not scored."""
    if told := lost(one for suite in suites for one in suite.failures):
        return told
    n = sum(suite.n_failed + suite.n_unread for suite in suites)
    return f"rows that are not scored ({n})" if n else ""


def _model(score: ModelScore, policy: Policy, results: Results) -> ModelResult:
    suites = tuple(_suite(suite, policy, results, score.model) for suite in score.suites)
    known: dict[str, Any] = {one.name: getattr(score, one.name) for one in fields(ModelScore)} | {"suites": suites}
    result = _whole(ModelResult(**known), policy)
    if score.missing:
        return replace(result, reason=f"the model could not be asked: {score.missing}")
    return replace(result, reason=score.failed) if score.failed else result


def _whole(model: ModelResult, policy: Policy) -> ModelResult:
    """Give a model's whole its outcome: that of the only suite that weighs anything, else by `_overall`."""
    weighing = [suite for suite in model.suites if suite.weight]
    if len(weighing) == 1:
        return replace(model, outcome=weighing[0].outcome)
    judged = all(suite.threshold is not None for suite in weighing)
    threshold = policy.threshold if policy.threshold is not None or not judged else THRESHOLD
    model = replace(model, threshold=threshold)
    return replace(model, **_overall(model, weighing, policy.gate)._asdict())


def _overall(model: ModelResult, weighing: Sequence[SuiteResult], gate: Gate) -> _Finding:
    """Decide a whole by, in this order: its suites' errors, waiting requests, suites withheld, its own score."""
    wrong = [suite.suite for suite in model.suites if suite.outcome == "error"]
    submitted = [suite.suite for suite in model.suites if suite.reason.startswith(f"{SUBMITTED}:")]
    withheld = [suite.suite for suite in model.suites if suite.withheld]
    if wrong:
        return _Finding("error", f"an error in {', '.join(wrong)}; look there")
    if submitted or model.threshold is None:
        return _Finding("undecided", _depends_on_suites(submitted)) if submitted else _Finding("none")
    if withheld:  # decided where it comes out the same whatever their scores were
        ends = _ends(model.suites, model.threshold, gate)
        return _Finding(ends.pop()) if len(ends) == 1 else _Finding("undecided", _depends_on_suites(withheld))
    sequence = model.interval.method == "sequence"
    found = _compared(model, "interval" if sequence else gate, sum(suite.n_scored for suite in weighing))
    own = outcome_at(model.score, model.interval, model.threshold, "interval")
    if _contradicted(own, model) if sequence else _changes_at_bounds(model, gate):
        return _Finding("undecided", _depends_on_replies(model, weighing))
    return found._replace(n_deciding=None) if sequence else found


def _depends_on_suites(suites: Sequence[str]) -> str:
    return f"it depends on {', '.join(suites)}, which is undecided"


def _ends(suites: Sequence[SuiteScore], threshold: float, gate: Gate) -> set[GateOutcome]:
    """Return what the whole would be if the scores of withheld suites were 0, and if they were 1."""
    found: set[GateOutcome] = set()
    for value, best in ((0.0, False), (1.0, True)):
        fixed = Interval(value, value, "combined")
        bound = bound_scores(suites, best=best)
        end, around = weighted([replace(s, score=value, interval=fixed) if s.withheld else s for s in bound])
        found.add(outcome_at(end or 0.0, around, threshold, gate))
    return found
