"""Does a run pass: each model's scores against the thresholds, suite by suite and as a whole."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from data.exits import OUTCOMES, Exit, GateOutcome
from metrics.analysis.failures import lost
from metrics.analysis.judged import Estimated, at, panel_status
from metrics.analysis.judged import decide as decide_judged
from metrics.analysis.policy import Gate, Policy, Undecided
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


def decide(results: Results, policy: Policy) -> RunVerdict:
    """Return the verdict on a run's results.

    Thresholds compare unrounded values. A suite is an error when nothing of it is scored, when a component of its
    score is missing, or when less than `MIN_COVERAGE` of its applicable rows are scored; the overall score is then
    an error too. What would come out otherwise were all that is missing wrong, or that and every cut reply right,
    is undecided. A suite that is withheld is undecided; the whole is then decided only where it comes out the same
    whatever that suite's score was. That a judge failed that is not to be believed is no error besides. Of suites
    that were asked until they were decided the sequences decide, whatever the gate. A suite of which requests wait
    is undecided where scores are lacking. Where only one suite weighs anything, there is no overall score to
    decide.
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


def _gated(result: SuiteResult, gate: Gate) -> SuiteResult:  # noqa: PLR0911 - a return for each rule
    judged: GateOutcome = "none" if result.threshold is None else "undecided"
    if not result.measured and (result.answered or 0.0) >= MIN_COVERAGE:
        return replace(result, outcome=judged, reason=result.withheld)
    if result.score is None and (result.problem or result.measured):
        return replace(result, outcome="error", reason=result.problem)
    if result.coverage is not None and result.coverage < MIN_COVERAGE:
        share, floor = percent(result.coverage), percent(MIN_COVERAGE)
        reason = f"only {share} of the applicable rows are scored, expected at least {floor}: {_missing([result])}"
        return replace(result, outcome="error", reason=reason)
    if result.withheld:
        return replace(result, outcome=judged, reason=result.withheld)
    if result.score is None:  # in vain: what was not measured is withheld
        return replace(result, outcome="error", reason=result.problem)
    if result.threshold is None:
        return replace(result, outcome="none", reason="")
    sequence, threshold = result.stopping, result.threshold
    outcome = _SIDES[sequence.side] if sequence else at(result.score, result.interval, threshold, gate)
    if not _holds(outcome, result, None if sequence else gate):
        return replace(result, outcome="undecided", reason=_hanging(result, [result]))
    if sequence:
        return replace(result, outcome=outcome, reason=_open(sequence) if outcome == "undecided" else "")
    outcome, why = decide_judged(Estimated(result.score, result.interval), _corrected(result), threshold, gate)
    n = None if why else deciding_n(result.score, result.interval, threshold, result.n_scored)
    return replace(result, outcome=outcome, reason=why, n_deciding=n)


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


def _corrected(score: SuiteScore | ModelScore) -> Estimated | None:
    """Return what a score would be if its judges err here as on their exam's texts; None where nothing tells."""
    return None if score.corrected is None else Estimated(score.corrected, score.corrected_interval)


def _open(stopping: ConfidenceSequence) -> str:
    said = f"undecided after {stopping.asked} of at most {stopping.most} questions"
    threshold = stopping.threshold
    if stopping.corrected is None or threshold is None or not any(side(look, threshold) for look in stopping.looks):
        return said
    low, high = map(percent, stopping.corrected)
    return f"{said}: with the errors that its exam showed of the judge, the mean lies between {low} and {high}"


def _holds(outcome: GateOutcome, result: SuiteResult | ModelResult, gate: Gate | None) -> bool:
    """Say whether an outcome is the same at the bounds of what is missing or cut; no gate: a sequence decided."""
    for end, interval in ((result.lower, result.lower_interval), (result.upper, result.upper_interval)):
        if end is None or result.threshold is None:
            continue
        if gate is None:
            against = "fail" if outcome == "pass" else "pass"
            if outcome != "undecided" and at(end, interval, result.threshold, "point") == against:
                return False
        elif at(end, interval, result.threshold, gate) != outcome:
            return False
    return True


def _hanging(result: SuiteResult | ModelResult, suites: Sequence[SuiteScore]) -> str:
    """Say on which replies of its suites an outcome hangs, and how to get them."""
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
    known = {one.name: getattr(score, one.name) for one in fields(ModelScore)}
    result = _whole(ModelResult(**{**known, "suites": suites}), policy)
    if score.missing:
        return replace(result, reason=f"the model could not be asked: {score.missing}")
    return replace(result, reason=score.failed) if score.failed else result


def _whole(result: ModelResult, policy: Policy) -> ModelResult:  # noqa: PLR0911 - a return for each rule
    weighing = [suite for suite in result.suites if suite.weight]
    if len(weighing) == 1:
        return replace(result, outcome=weighing[0].outcome)
    judged = all(suite.threshold is not None for suite in weighing)
    threshold = policy.threshold if policy.threshold is not None or not judged else THRESHOLD
    result = replace(result, threshold=threshold)
    wrong = [suite.suite for suite in result.suites if suite.outcome == "error"]
    submitted = [suite.suite for suite in result.suites if suite.reason.startswith(f"{SUBMITTED}:")]
    withheld = [suite.suite for suite in result.suites if suite.withheld]
    if wrong or submitted or (result.score is None and not withheld):
        if submitted and not wrong:
            return replace(result, outcome="undecided", reason=_hangs(submitted))
        return replace(result, outcome="error", reason=f"an error in {', '.join(wrong)}; look there")
    if threshold is None:
        return replace(result, outcome="none")
    if withheld or result.score is None:
        ends = _ends(result.suites, threshold, policy.gate)
        if len(ends) == 1:
            return replace(result, outcome=ends.pop())
        return replace(result, outcome="undecided", reason=_hangs(withheld))
    gate, sequence = policy.gate, result.interval.method == "sequence"
    outcome = at(result.score, result.interval, threshold, "interval" if sequence else gate)
    if not _holds(outcome, result, None if sequence else gate):
        return replace(result, outcome="undecided", reason=_hanging(result, weighing))
    own, corrected = Estimated(result.score, result.interval), _corrected(result)
    outcome, why = decide_judged(own, corrected, threshold, "interval" if sequence else gate)
    if sequence or why:
        return replace(result, outcome=outcome, reason=why)
    n = sum(suite.n_scored for suite in weighing)
    return replace(result, outcome=outcome, n_deciding=deciding_n(result.score, result.interval, threshold, n))


def _hangs(suites: Sequence[str]) -> str:
    return f"it depends on {', '.join(suites)}, which is undecided"


def _ends(suites: Sequence[SuiteScore], threshold: float, gate: Gate) -> set[GateOutcome]:
    """Return what the whole would be if the scores of withheld suites were 0, and if they were 1."""
    found: set[GateOutcome] = set()
    for value, best in ((0.0, False), (1.0, True)):
        fixed = Interval(value, value, "combined")
        bound = bound_scores(suites, best=best)
        end, around = weighted([replace(s, score=value, interval=fixed) if s.withheld else s for s in bound])
        found.add(at(end or 0.0, around, threshold, gate))
    return found
