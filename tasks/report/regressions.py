"""A run against its baseline, in words, and what changed between the questions of two runs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from basic_control.metrics.analysis.baseline import BaselineComparison, HeadlineChange
from basic_control.metrics.analysis.pairs import Comparison
from basic_control.metrics.analysis.shared_questions import MovedQuestion, QuestionChanges
from basic_control.metrics.stats.regression import Change, Regression
from basic_control.tasks.report.language import say
from basic_control.tasks.report.text import add_interval, clip_text, localize_digits, percent, points, points_around
from basic_control.tasks.report.words import describe_missing, suite_title

NAMED = 3
"""Questions of a kind named in a line."""
_LONGEST = 60
_GATES: Mapping[Change, str] = {"regressed": "fail", "undecided": "undecided", "held": "pass"}
"""The gate's outcome for each baseline outcome, from the worst to the best."""
_ORDER = [*_GATES]


def size(pair: Comparison) -> str:
    """Return a difference in points, with its interval if it has one."""
    by, between = say("compare.by", points=points(pair.difference)), points_around(pair.test.interval)
    return add_interval(by, between)


def _format_bound(by: str, decision: Regression) -> str:
    """Return a difference with the one-sided bound that decides at the margin."""
    if decision.outcome == "undecided":
        return by
    side, bound, level = "drop_at_most", decision.lower, decision.lower_level
    if decision.outcome == "regressed":
        side, bound, level = "drop_at_least", decision.upper, decision.upper_level
    elif bound is not None and bound > 0:
        side = "gain_at_least"
    # The word says the direction, the figure its size.
    return say(f"regression.{side}", by=by, bound=points(bound).lstrip("+−"), level=percent(1 - level))


def regression(change: HeadlineChange) -> str:
    """Describe a headline's outcome against its baseline, and if undecided the detectable difference."""
    pair, decision = change.pair, change.decision
    conditions = [*_conditions(change)]
    if pair.difference is None:
        return "; ".join([say("regression.nothing"), *conditions])
    outcome = say(f"regression.{_outcome_of(decision)}")
    # Equal scores alone do not say that the test has excluded a drop beyond the margin.
    is_test_decided = decision.lower is not None and decision.lower > -decision.max_drop
    if decision.outcome == "held" and not pair.difference and not is_test_decided:
        sentence = say("regression.equal", outcome=outcome, n=pair.n)
    else:
        phrase = "regression.n_independent" if pair.n_units < pair.n else "regression.n_pairs"
        questions = say(phrase, n=pair.n, units=pair.n_units)
        by, tolerated = _format_bound(size(pair), decision), localize_digits(f"{100 * decision.max_drop:g}")
        sentence = say("regression.line", outcome=outcome, by=by, tolerated=tolerated, pairs=questions)
    return "; ".join([sentence, *conditions])


def outcome_with_conditions(change: HeadlineChange) -> str:
    """Return a headline's outcome alone, for a table that has the figures, and what it depends on."""
    if change.pair.difference is None:
        return regression(change)
    return "; ".join([say(f"regression.{_outcome_of(change.decision)}"), *_conditions(change)])


def _outcome_of(decision: Regression) -> str:
    if decision.improved:
        return "improved"
    return decision.outcome


def _conditions(change: HeadlineChange) -> Iterator[str]:
    """Yield what a headline's outcome depends on; where too few questions decide nothing, how many would."""
    pair, decision, moved = change.pair, change.decision, change.moved
    if change.few:
        yield say("regression.few", n=moved.n_common, total=moved.n_before)
        return
    if pair.difference is None:
        return
    missing = pair.missing
    if pair.test.interval.fixed_templates:
        yield say("compare.fixed_templates")
    if missing.n_alike:
        yield say("compare.alike", n=missing.n_alike)
    if decision.hangs:
        what = describe_missing(missing.n_lost, missing.n_cut)
        if missing.low is None:
            yield say("compare.hangs", what=what)
        else:
            yield say("regression.hangs", what=what, low=points(missing.low), high=points(missing.high))
    elif decision.outcome == "undecided" and decision.test != "sequence":
        yield _describe_outlook(pair, decision)


def _describe_outlook(pair: Comparison, decision: Regression) -> str:
    """Return what so many units can show, and how many would show more."""
    if decision.test == pair.test.method == "none":
        return say("compare.untested")
    phrase = "regression.blind" if decision.detectable is None else "regression.shown"
    unit = "regression.n_units" if pair.n_units < pair.n else "regression.n_pairs"
    drop = points(decision.detectable).lstrip("+")
    parts = [say(phrase, pairs=say(unit, n=pair.n_units), drop=drop)]
    if decision.n_needed is not None:
        tolerated = localize_digits(f"{100 * decision.max_drop:g}")
        parts.append(say("regression.needed", pairs=say(unit, n=decision.n_needed), tolerated=tolerated))
    return "; ".join(parts)


def lines(comparison: BaselineComparison | None) -> Iterator[str]:
    """Yield a run's outcome against its baseline, for the terminal."""
    if comparison:
        yield say("regression.head", name=comparison.name, run=comparison.run)
        yield from details(comparison)


def details(comparison: BaselineComparison) -> Iterator[str]:
    """Yield what differs from a baseline, and each headline's outcome with what changed in its questions."""
    yield from (f"  {line}" for line in list_differences(comparison))
    for change in _sort_by_outcome(comparison):
        yield f"  {name_headline(change.pair, comparison)}: {regression(change)}"
        yield from (f"    {line}" for line in describe_question_changes(change.moved))


def name_headline(pair: Comparison, comparison: BaselineComparison) -> str:
    """Return a headline's suite and model, with the metric if it is one of several."""
    return f"{pair_name(pair, comparison)}, {pair.model_a}"


def pair_name(pair: Comparison, comparison: BaselineComparison) -> str:
    """Return a headline's suite, with the metric if it is one of several."""
    metrics = {
        change.pair.metric
        for change in comparison.headlines
        if (change.pair.suite, change.pair.model_a) == (pair.suite, pair.model_a)
    }
    title = suite_title(pair.suite)
    if len(metrics) <= 1:
        return title
    return f"{title}, {pair.metric or say('compare.score')}"


def list_differences(comparison: BaselineComparison) -> Iterator[str]:
    """Yield what is missing from the baseline, and other changes."""
    phrase = "regression.missing_allowed" if comparison.allowed else "regression.missing"
    for what in comparison.missing:
        yield say(phrase, what=what)
    for difference in comparison.differences:
        how = {"decides": "differs_allowed", "rescored": "rescored"}.get(difference.kind, "differs")
        values = {"what": difference.what, "run": difference.run, "baseline": difference.baseline}
        yield say(f"regression.{how}", **values)


def headline(comparison: BaselineComparison | None) -> Iterator[str]:
    """Yield a line for a run's screen: the number of headlines by outcome against the baseline, and the worst."""
    if not comparison:
        return
    parts = [say("regression.head", name=comparison.name, run=comparison.run)]
    changes = _sort_by_outcome(comparison)
    if changes:
        worst = changes[0]
        parts = [f"{parts[0]}: {name_headline(worst.pair, comparison)}: {regression(worst)}"]
    # Only the worst headline is described, the others are counted.
    n_by_outcome = Counter(change.decision.outcome for change in changes[1:])
    counts = [
        f"{say(f'regression.{outcome}')} {n_by_outcome[outcome]}" for outcome in _ORDER if n_by_outcome[outcome]
    ]
    if counts:
        parts.append(say("regression.others", counts=", ".join(counts)))
    yield "; ".join(parts)


def explain_regression(comparison: BaselineComparison, changes: Sequence[Change]) -> tuple[str, str]:
    """Return the run's outcome against its baseline and the cause: the worst headline, or what is missing."""
    worst = min(changes, key=_ORDER.index)
    outcome = say(f"regression.{worst}")
    sentence = say("regression.verdict", outcome=outcome, name=comparison.name)
    if worst == "held":
        return _GATES[worst], sentence
    # What is missing comes before every headline.
    causes: list[str] = []
    if not comparison.allowed:
        causes += [say("regression.missing", what=what) for what in comparison.missing]
    pairs = [change.pair for change in _sort_by_outcome(comparison)]
    causes += [f"{name_headline(pair, comparison)}: {points(pair.difference)}" for pair in pairs]
    if causes:
        sentence += f" ({causes[0]})"
    return _GATES[worst], sentence


def _sort_by_outcome(comparison: BaselineComparison) -> list[HeadlineChange]:
    return sorted(comparison.headlines, key=lambda change: _ORDER.index(change.decision.outcome))


def describe_question_changes(moved: QuestionChanges) -> Iterator[str]:
    """Yield what changed in a suite's questions."""
    kinds = {
        "relabelled": (moved.relabelled, moved.n_common),
        "reworded": (moved.reworded, moved.n_before),
        "only_before": (moved.only_before, moved.n_before),
        "only_after": (moved.only_after, moved.n_after),
        "regrouped": (moved.regrouped, moved.n_common),
    }
    for kind, (questions, total) in kinds.items():
        if questions.n:
            names = [_name(question, kind) for question in questions.first[:NAMED]]
            if questions.n > len(names):
                names.append("…")
            which = "; ".join(names)
            yield say(f"questions.{kind}", suite=suite_title(moved.suite), n=questions.n, total=total, which=which)


def _name(question: MovedQuestion, kind: str) -> str:
    """Return a question on one line, a relabelled one with both expected answers."""
    name = _shorten(question.prompt) or question.question_id
    if kind != "relabelled":
        return name
    text = say(
        "questions.relabelled_one", question=name, before=_answer(question.before), after=_answer(question.after)
    )
    # Where the row stands that somebody may want to look at.
    return f"{text} [{question.name}]".removesuffix(" []")


def _answer(text: str | None) -> str:
    if text is None:
        return say("questions.unknown")
    return _shorten(text) or say("questions.nothing")


def _shorten(text: str) -> str:
    return clip_text(" ".join(text.split()), _LONGEST)
