"""The pass/fail verdict of a run: each model's scores against the thresholds, by suite and overall."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from data.errors import plural
from data.exits import Exit, GateOutcome
from metrics.analysis.failures import lost
from metrics.analysis.judged import outcome_as_judged
from metrics.analysis.policy import Gate, Policy, Undecided, outcome_at
from metrics.analysis.results import Results
from metrics.analysis.scores import MIN_COVERAGE, THRESHOLD, ModelResult, SuiteResult, overall
from metrics.analysis.stopping import ConfidenceSequence
from metrics.analysis.summary import percent
from metrics.stats.intervals import Interval, MeanEstimate
from metrics.stats.power import deciding_n
from metrics.stats.regression import Change
from metrics.stats.sequential import Side, side

_AGAIN = {
    (True, False): "ask them again with --only-failed",
    (False, True): "ask them again with more tokens",
    (True, True): "ask the failed ones again with --only-failed, the truncated ones with more tokens",
}
"""How to recover missing responses, truncated responses, and both."""
_SIDES: Mapping[Side, GateOutcome] = {"above": "pass", "below": "fail", "": "undecided"}


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The verdict on a run. With gate `off` everything reads as with `point`, but only an error has an exit code.

    `undecided` says how an undecided gate counts: as itself, or as a pass. `changes` are the suites' outcomes
    against a baseline, if the run fails on a regression; they count whatever the gate. `waiting` requests are in
    batches at servers: outcomes that depend on them stay undecided, whatever the gate.
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

    A suite's outcome comes from the first of these rules (`_rules`) that applies:

    1. The model replied to `MIN_COVERAGE` of its rows, and no judge of these counts: undecided (`none` without a
       threshold).
    2. Nothing is scored, or a component of its score is missing: error.
    3. Less than `MIN_COVERAGE` of its applicable rows is scored: error.
    4. Its score is withheld: undecided (`none` without a threshold).
    5. It has no threshold: none.
    6. The outcome would change if all missing responses were wrong, or these and every truncated one right:
       undecided.
    7. It was asked until decided: its sequence decides, whatever the gate.
    8. Its score decides; with `gate: interval` its interval: undecided if the threshold lies in it. Also undecided
       if the score corrected by its judges' exam has another outcome.

    Whatever these say, a suite whose requests wait in batches is undecided while rows are not scored. The rules of
    a model's overall score are in `_overall`.
    """
    models = tuple(_model(model, policy) for model in results.models)
    changes = results.baseline.outcomes if results.baseline and policy.regressions else ()
    return RunVerdict(policy.gate, models, policy.undecided, changes, sum(results.waiting.values()))


class _Finding(NamedTuple):
    """The result of a rule: the outcome, its reason, and how many scored rows would decide."""

    outcome: GateOutcome
    reason: str = ""
    n_deciding: int | None = None


def _suite(score: SuiteResult, policy: Policy) -> SuiteResult:
    suite = replace(score, threshold=policy.thresholds.get(score.suite))
    if _waits(suite):
        finding = _Finding("undecided", f"submitted: {plural(suite.waiting, 'request')} in batches")
    else:
        finding = next(_rules(suite, policy.gate))
    return replace(suite, **finding._asdict())


def _waits(suite: SuiteResult) -> bool:
    """Return whether a suite's requests wait in batches while rows are not scored."""
    return suite.waiting > 0 and suite.coverage != 1


def _rules(suite: SuiteResult, gate: Gate) -> Iterator[_Finding]:
    """Yield the finding of each rule of `verdict_of` that applies to a suite, in order: the first one decides."""
    withheld = _Finding("none" if suite.threshold is None else "undecided", suite.withheld)
    if suite.withheld and not suite.measured and (suite.answered or 0.0) >= MIN_COVERAGE:
        yield withheld
    if suite.score is None and (suite.problem or not suite.withheld):
        yield _Finding("error", suite.problem)
    if suite.coverage is not None and suite.coverage < MIN_COVERAGE:
        share, floor = percent(suite.coverage, MIN_COVERAGE), percent(MIN_COVERAGE)
        reason = f"only {share} of the applicable rows are scored, expected at least {floor}: {_missing([suite])}"
        yield _Finding("error", reason)
    if suite.withheld:
        yield withheld
    if suite.threshold is None:
        yield _Finding("none")
    by_sequence = _SIDES[suite.stopping.side] if suite.stopping else None
    if _contradicted(by_sequence, suite) if by_sequence else _changes_at_bounds(suite, gate):
        yield _Finding("undecided", _depends_on_replies(suite, [suite]))
    if suite.stopping and by_sequence:
        yield _Finding(by_sequence, _open(suite.stopping) if by_sequence == "undecided" else "")
    yield _compared(suite, gate, suite.n_scored)


def _open(stopping: ConfidenceSequence) -> str:
    said = f"undecided after {stopping.asked} of at most {stopping.most} questions"
    threshold = stopping.threshold
    if stopping.corrected is None or threshold is None or not any(side(look, threshold) for look in stopping.looks):
        return said
    low, high = map(percent, stopping.corrected)
    return f"{said}: with the errors that its exam showed of the judge, the mean lies between {low} and {high}"


def _compared(result: SuiteResult | ModelResult, gate: Gate, n: int) -> _Finding:
    """Compare a score, raw and corrected for its judges' errors, with its threshold."""
    if result.score is None or result.threshold is None:
        return _Finding("none")
    own = MeanEstimate(result.score, result.interval)
    corrected = MeanEstimate(result.corrected, result.corrected_interval)
    outcome, why = outcome_as_judged(own, corrected, result.threshold, gate)
    return _Finding(outcome, why, None if why else deciding_n(result.score, result.interval, result.threshold, n))


def _changes_at_bounds(result: SuiteResult | ModelResult, gate: Gate) -> bool:
    """Return whether a score has another outcome at a bound of missing or truncated responses."""
    return bool(_at_bounds(result, gate) - {outcome_at(result.score, result.interval, result.threshold, gate)})


def _contradicted(outcome: GateOutcome, result: SuiteResult | ModelResult) -> bool:
    """Return whether a sequence decided but a bound of missing or truncated responses is on the other side."""
    return {"pass": "fail", "fail": "pass"}.get(outcome) in _at_bounds(result, "point")


def _at_bounds(result: SuiteResult | ModelResult, gate: Gate) -> set[GateOutcome]:
    both = (result.lower, result.lower_interval), (result.upper, result.upper_interval)
    return {outcome_at(*bound, result.threshold, gate) for bound in both if bound[0] is not None}


def _depends_on_replies(result: SuiteResult | ModelResult, suites: Sequence[SuiteResult]) -> str:
    """Describe the responses on which a suite's outcome depends, and how to recover them."""
    low = result.score if result.lower is None else result.lower
    high = result.score if result.upper is None else result.upper
    missing, cut = _missing(suites), sum(suite.n_truncated for suite in suites)
    what = " + ".join(filter(None, (missing, f"truncated replies ({cut})" if cut else "")))
    wrong, right = (percent(end or 0.0, result.threshold) for end in (low, high))
    ends = f"{wrong} if they are wrong, {right} if they are right"
    return f"it depends on {what}: {ends}; {_AGAIN[bool(missing), bool(cut)]}"


def _missing(suites: Sequence[SuiteResult]) -> str:
    """Describe what was asked and is not scored."""
    n = sum(suite.n_failed + suite.n_unread for suite in suites)
    told = lost(one for suite in suites for one in suite.failures)
    return told or (f"rows that are not scored ({n})" if n else "")


def _model(score: ModelResult, policy: Policy) -> ModelResult:
    """Set a model's overall outcome: that of the only suite with weight, else by `_overall`."""
    suites = tuple(_suite(suite, policy) for suite in score.suites)
    model, weighing = replace(score, suites=suites, threshold=None), [suite for suite in suites if suite.weight]
    if len(weighing) == 1:
        found = _Finding(weighing[0].outcome)
    else:
        judged = all(suite.threshold is not None for suite in weighing)
        threshold = policy.threshold if policy.threshold is not None or not judged else THRESHOLD
        model = replace(model, threshold=threshold)
        found = _overall(model, weighing, policy.gate)
    unasked = f"the model could not be asked: {score.missing}" if score.missing else score.failed
    return replace(model, **found._replace(reason=unasked or found.reason)._asdict())


def _overall(model: ModelResult, weighing: Sequence[SuiteResult], gate: Gate) -> _Finding:
    """Decide the overall score by, in order: suite errors, waiting requests, withheld suites, its own score."""
    wrong = [suite.suite for suite in model.suites if suite.outcome == "error"]
    submitted = [suite.suite for suite in weighing if _waits(suite)]
    withheld = [suite.suite for suite in weighing if suite.withheld]
    if wrong:
        return _Finding("error", f"an error in {', '.join(wrong)}; look there")
    if model.threshold is None and not submitted:
        return _Finding("none")
    ends = {_overall(*end, gate).outcome for end in _ends(model)} if withheld else set[GateOutcome]()
    if submitted or len(ends) > 1 or "undecided" in ends:
        return _Finding("undecided", f"it depends on {', '.join(submitted or withheld)}, which is undecided")
    if ends:  # the outcome is the same whatever the withheld scores
        return _Finding(ends.pop())
    sequence = model.interval.method == "sequence"
    found = _compared(model, "interval" if sequence else gate, sum(suite.n_scored for suite in weighing))
    own = outcome_at(model.score, model.interval, model.threshold, "interval")
    if _contradicted(own, model) if sequence else _changes_at_bounds(model, gate):
        return _Finding("undecided", _depends_on_replies(model, weighing))
    return found._replace(n_deciding=None) if sequence else found


def _ends(model: ModelResult) -> Iterator[tuple[ModelResult, list[SuiteResult]]]:
    """Yield the model, and its suites that have weight, with the scores of withheld suites at 0, and at 1."""
    for value in (0.0, 1.0):
        known = SuiteResult("", value, Interval(value, value, "combined"))
        suites = tuple(replace(known, weight=one.weight) if one.withheld else one for one in model.suites)
        whole = replace(overall(model.model, suites, model.missing), threshold=model.threshold)
        yield whole, [one for one in suites if one.weight]
