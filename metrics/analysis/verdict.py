"""The pass/fail verdict of a run: each model's scores against the thresholds, by headline and overall."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from basic_control.data.errors import plural
from basic_control.data.exits import Exit, GateOutcome
from basic_control.metrics.analysis.failures import FailureCount, describe_lost, find_spent_budget
from basic_control.metrics.analysis.headlines import Decision, Headline, Measurement, ModelResult, Shortfall
from basic_control.metrics.analysis.judged import outcome_as_judged
from basic_control.metrics.analysis.policy import Gate, Policy, Undecided, outcome_at
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.analysis.scores import MIN_COVERAGE, THRESHOLD, join_headlines
from basic_control.metrics.analysis.stopping import ConfidenceSequence
from basic_control.metrics.analysis.summary import percent
from basic_control.metrics.stats.intervals import Interval, MeanEstimate
from basic_control.metrics.stats.power import count_deciding
from basic_control.metrics.stats.regression import Change
from basic_control.metrics.stats.sequential import Side, side

_AGAIN = {
    (True, False): "ask them again with --only-failed",
    (False, True): "ask them again with more tokens",
    (True, True): "ask the failed ones again with --only-failed, the truncated ones with more tokens",
    (False, False): "the sandbox has the standard library alone",
}
"""How to recover missing responses, truncated responses, and both; neither: programs lack a package."""
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
        return self._exit_code(is_gated=self.gate != "off")

    @property
    def exit_code_gated(self) -> Exit:
        """The exit code with a gate, where there is none."""
        return self._exit_code(is_gated=True)

    def _exit_code(self, *, is_gated: bool) -> Exit:
        outcomes: set[str] = {model.verdict for model in self.models}
        if not is_gated:
            outcomes &= {"error"}
        counting = {*outcomes, *self.changes}
        if "error" in counting:
            return Exit.ERROR
        if counting & {"fail", "regressed"}:
            return Exit.FAILED
        if "undecided" in counting and self.undecided == "undecided":
            return Exit.UNDECIDED
        # Nothing has passed while replies are still to come.
        return Exit.UNDECIDED if self.waiting else Exit.PASSED


def verdict_of(results: Results, policy: Policy) -> RunVerdict:
    """Return the verdict on a run's results; thresholds are compared with unrounded values.

    A headline's outcome comes from the first of these rules (`_rules`) that applies:

    1. The model replied to `MIN_COVERAGE` of its rows, and no judge of these counts: undecided (`none` without a
       threshold).
    2. It has no threshold: none, unless nothing of its whole suite is scored: error.
    3. Nothing is scored, or a component of its score is missing: error.
    4. Less than `MIN_COVERAGE` of its applicable rows is scored: error.
    5. Its score is withheld: undecided.
    6. The outcome would change if all missing responses were wrong, or these and every truncated one right:
       undecided.
    7. It was asked until decided: its sequence decides, whatever the gate.
    8. Its score decides; with `gate: interval` its interval: undecided if the threshold lies in it. Also undecided
       if the score corrected by its judges' exam has another outcome.

    Whatever these say, a headline whose requests wait in batches is undecided while rows are not scored. The rules
    of a model's overall score are in `_overall`.
    """
    models = tuple(_model(model, policy) for model in results.models)
    changes = results.baseline.outcomes if results.baseline and policy.regressions else ()
    return RunVerdict(policy.gate, models, policy.undecided, changes, sum(results.waiting.values()))


def decide_all(headlines: Sequence[Headline], policy: Policy) -> tuple[Headline, ...]:
    """Return headlines with their decisions; a suite of which nothing is scored is an error, whatever it has."""
    decisions = [decide(headline, policy) for headline in headlines]
    # Judges that do not count are no error: their replies are there.
    scored_suites = {
        headline.suite
        for headline in decisions
        if headline.measured.score.mean is not None or _lacks_judges(headline)
    }
    decided_headlines = []
    for headline in decisions:
        if headline.suite not in scored_suites and headline.decided.outcome == "none":
            error = Decision(outcome="error", reason=headline.missing.problem)
            decided_headlines.append(replace(headline, decided=error))
        else:
            decided_headlines.append(headline)
    return tuple(decided_headlines)


def _lacks_judges(headline: Headline) -> bool:
    """Return whether there are replies to a headline's rows, and no judge of these counts."""
    missing = headline.missing
    return bool(missing.withheld and not missing.is_measured and (missing.answered or 0.0) >= MIN_COVERAGE)


def decide(headline: Headline, policy: Policy) -> Headline:
    """Return a headline with its decision."""
    threshold = policy.thresholds.get((headline.suite, headline.metric))
    if _waits(headline):
        reason = describe_waiting(headline.missing.failures, headline.missing.waiting)
        decision = Decision(threshold, "undecided", reason)
    else:
        decision = next(_rules(headline, threshold, policy.gate))
    return replace(headline, decided=decision)


def describe_waiting(causes: Iterable[FailureCount], n_requests: int) -> str:
    """Say what a run's unanswered requests wait for."""
    budget = find_spent_budget(causes)
    if budget:
        return f"{budget}: {plural(n_requests, 'request')} not asked"
    return f"submitted: {plural(n_requests, 'request')} in batches"


def _waits(headline: Headline) -> bool:
    """Return whether a headline's requests wait in batches while rows are not scored."""
    return headline.missing.waiting > 0 and headline.missing.coverage != 1


def _rules(headline: Headline, threshold: float | None, gate: Gate) -> Iterator[Decision]:
    """Yield the decision of each rule of `verdict_of` that applies, in order: the first one decides."""
    missing, stopping = headline.missing, headline.measured.stopping
    if threshold is None:
        yield Decision(reason=missing.withheld)
        return
    withheld = Decision(threshold, "undecided", missing.withheld)
    if _lacks_judges(headline):
        yield withheld
    if headline.measured.score.mean is None and (missing.problem or not missing.withheld):
        yield Decision(threshold, "error", missing.problem)
    if missing.coverage is not None and missing.coverage < MIN_COVERAGE:
        share, floor = percent(missing.coverage, MIN_COVERAGE), percent(MIN_COVERAGE)
        reason = f"only {share} of its rows have a score, {floor} is needed: {_describe_missing([headline])}"
        yield Decision(threshold, "error", reason)
    if missing.withheld:
        yield withheld
    # A sequence decides whatever the gate, so it is held against the bounds by its own outcome.
    if stopping:
        by_sequence = _SIDES[stopping.side]
        depends_on_missing = _is_contradicted(by_sequence, headline, threshold)
    else:
        by_sequence = None
        depends_on_missing = _moves(headline, threshold, gate)
    if depends_on_missing:
        yield Decision(threshold, "undecided", _depends_on_replies(headline, threshold, [headline]))
    if stopping and by_sequence == "undecided":
        yield Decision(threshold, by_sequence, _describe_open(stopping))
    elif by_sequence:
        yield Decision(threshold, by_sequence)
    yield _compare_with_threshold(headline, threshold, gate, headline.measured.n_scored)


def _describe_open(stopping: ConfidenceSequence) -> str:
    """Describe how far a sequence got."""
    text = f"undecided after {stopping.asked} of at most {stopping.most} questions"
    threshold = stopping.threshold
    if stopping.corrected is None or threshold is None or not any(side(look, threshold) for look in stopping.looks):
        return text
    # It was decided before its judge's errors were taken into account.
    low, high = map(percent, stopping.corrected)
    return f"{text}: with the errors that its exam showed of the judge, the mean lies between {low} and {high}"


def _compare_with_threshold(headline: Headline, threshold: float, gate: Gate, n_scored: int) -> Decision:
    """Compare a score, raw and corrected for its judges' errors, with its threshold; `none` without a score."""
    score = headline.measured.score
    if score.mean is None:
        return Decision(threshold)
    outcome, reason = outcome_as_judged(score, headline.measured.corrected, threshold, gate)
    if reason:
        return Decision(threshold, outcome, reason)
    return Decision(threshold, outcome, reason, count_deciding(score.mean, score.interval, threshold, n_scored))


def _moves(headline: Headline, threshold: float, gate: Gate) -> bool:
    """Return whether a score has another outcome at a bound of missing or truncated responses."""
    score = headline.measured.score
    return bool(_at_bounds(headline, threshold, gate) - {outcome_at(score.mean, score.interval, threshold, gate)})


def _is_contradicted(outcome: GateOutcome, headline: Headline, threshold: float) -> bool:
    """Return whether a sequence decided but a bound of missing or truncated responses is on the other side."""
    return {"pass": "fail", "fail": "pass"}.get(outcome) in _at_bounds(headline, threshold, "point")


def _at_bounds(headline: Headline, threshold: float, gate: Gate) -> set[GateOutcome]:
    bounds = [bound for bound in (headline.missing.lower, headline.missing.upper) if bound.mean is not None]
    return {outcome_at(bound.mean, bound.interval, threshold, gate) for bound in bounds}


def _depends_on_replies(headline: Headline, threshold: float, parts: Sequence[Headline]) -> str:
    """Describe the responses on which an outcome depends, and how to recover them; `parts` make the score."""
    causes = _describe_missing(parts)
    n_truncated = sum(part.missing.n_truncated for part in parts)
    if n_truncated:
        causes = " + ".join(filter(None, (causes, f"truncated replies ({n_truncated})")))
    wrong = percent(headline.at("lower").mean or 0.0, threshold)
    right = percent(headline.at("upper").mean or 0.0, threshold)
    n_filtered = sum(part.missing.n_filtered for part in parts)
    n_failed = _count_lost(parts) - n_filtered
    remedy = _AGAIN[n_failed > 0, n_truncated > 0]
    if n_filtered and not n_failed and not n_truncated:
        remedy = "the filter would stop them again: change the prompts, or the filter"
    return f"it depends on {causes}: {wrong} if they are wrong, {right} if they are right; {remedy}"


def _count_lost(parts: Sequence[Headline]) -> int:
    """Return how many rows were asked and are not scored."""
    return sum(part.missing.n_failed + part.missing.n_filtered + part.missing.n_unread for part in parts)


def _describe_missing(parts: Sequence[Headline]) -> str:
    """Describe what was asked and is not scored."""
    causes = describe_lost(chain.from_iterable(part.missing.failures for part in parts))
    n = _count_lost(parts)
    if n and not causes:
        return f"rows that are not scored ({n})"
    return causes


def _model(model: ModelResult, policy: Policy) -> ModelResult:
    """Decide a model's headlines, and overall: as the only headline with weight, else by `_overall`."""
    model = replace(model, headlines=decide_all(model.headlines, policy))
    if model.has_overall:
        threshold = policy.threshold
        # The overall score has the usual threshold where each of its parts has one.
        if threshold is None and all(part.decided.threshold is not None for part in model.headlines_with_weight):
            threshold = THRESHOLD
        decision = _overall(model, threshold, policy.gate)
    elif model.headlines_with_weight:
        decision = Decision(outcome=model.headlines_with_weight[0].decided.outcome)
    else:
        decision = Decision(outcome="none")
    reason = model.failed or decision.reason
    if model.missing:
        reason = f"the model could not be asked: {model.missing}"
    return replace(model, overall=replace(model.overall, decided=replace(decision, reason=reason)))


def _overall(model: ModelResult, threshold: float | None, gate: Gate) -> Decision:
    """Decide the overall score by, in order: suite errors, waiting requests, withheld suites, its own score."""
    parts = model.headlines_with_weight
    wrong = [headline.suite for headline in model.headlines if headline.decided.outcome == "error"]
    submitted = [part.suite for part in parts if _waits(part)]
    withheld = [part.suite for part in parts if part.missing.withheld]
    if wrong:
        return Decision(threshold, "error", f"an error in {', '.join(wrong)}; look there")
    if threshold is None and not submitted:
        return Decision()
    ends: set[GateOutcome] = set()
    if withheld:
        ends = {_overall(_assume_withheld(model, value), threshold, gate).outcome for value in (0.0, 1.0)}
    if submitted or len(ends) > 1 or "undecided" in ends:
        reason = f"it depends on {', '.join(submitted or withheld)}, which is undecided"
        return Decision(threshold, "undecided", reason)
    if ends:  # the outcome is the same whatever the withheld scores
        return Decision(threshold, ends.pop())
    if threshold is None:
        return Decision()
    return _by_score(model, threshold, gate)


def _by_score(model: ModelResult, threshold: float, gate: Gate) -> Decision:
    """Decide by the overall score, with its bounds."""
    parts = model.headlines_with_weight
    # Nothing reaches a threshold without a score.
    for part in parts:
        if part.measured.score.mean is None:
            return Decision(threshold, "error", f"no score in {part.suite}; look there")
    score = model.overall.measured.score
    is_sequence = score.interval.method == "sequence"
    if is_sequence:
        by_sequence = outcome_at(score.mean, score.interval, threshold, "interval")
        depends_on_missing = _is_contradicted(by_sequence, model.overall, threshold)
    else:
        depends_on_missing = _moves(model.overall, threshold, gate)
    if depends_on_missing:
        return Decision(threshold, "undecided", _depends_on_replies(model.overall, threshold, parts))
    n_scored = sum(part.measured.n_scored for part in parts)
    # A question that several suites ask is asked once.
    if model.overlaps:
        n_scored = min(n_scored, score.interval.units)
    if not is_sequence:
        return _compare_with_threshold(model.overall, threshold, gate, n_scored)
    # How many questions would decide says nothing of a sequence.
    decision = _compare_with_threshold(model.overall, threshold, "interval", n_scored)
    return replace(decision, n_deciding=None)


def _assume_withheld(model: ModelResult, value: float) -> ModelResult:
    """Return a model whose withheld suites have a score."""
    assumed = Measurement(MeanEstimate(value, Interval(value, value, "combined")))
    headlines = []
    for headline in model.headlines:
        if headline.missing.withheld:
            headlines.append(replace(headline, measured=assumed, missing=Shortfall(), decided=Decision()))
        else:
            headlines.append(headline)
    overall = join_headlines(model.model, headlines, model.overlaps)
    return replace(model, headlines=tuple(headlines), overall=overall)
