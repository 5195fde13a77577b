"""A run against its baseline, in words, and what changed between the questions of two runs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from metrics.analysis.baseline import BaselineComparison, HeadlineChange
from metrics.analysis.document import read_baseline
from metrics.analysis.pairs import Comparison
from metrics.analysis.questions import MovedQuestion, QuestionChanges
from metrics.stats.regression import Change, Regression
from prompts.phrases import phrase
from tasks.report.text import clipped, percent, points, written
from tasks.report.words import lacking

NAMED = 3
"""Questions of a kind named in a line."""
_LONGEST = 60
_GATES: Mapping[Change, str] = {"regressed": "fail", "undecided": "undecided", "held": "pass"}
"""The gate's outcome for each baseline outcome, from the worst to the best."""
_ORDER = [*_GATES]


def baseline_of(results: Mapping[str, Any]) -> BaselineComparison | None:
    """Return a run's comparison with its baseline from its document of results."""
    return read_baseline(results.get("baseline"))


def size(pair: Comparison, language: str) -> str:
    """Return a difference in points, with its interval and the interval's level."""
    low, high = pair.test.interval.low, pair.test.interval.high
    if low is None or high is None or pair.test.level is None:
        return phrase("compare.by", language, points=points(pair.difference))
    level = percent(1 - pair.test.level)
    ends = {"low": points(low), "high": points(high)}
    return phrase("compare.by_around", language, points=points(pair.difference), level=level, **ends)


def _bounded(by: str, decision: Regression, language: str) -> str:
    """Return a difference with the one-sided bound that decides at the margin."""
    if decision.outcome == "undecided":
        return by
    side, bound, level = "at_least", decision.lower, decision.lower_level
    if decision.outcome == "regressed":
        side, bound, level = "at_most", decision.upper, decision.upper_level
    return phrase(f"regression.{side}", language, by=by, bound=points(bound), level=percent(1 - level))


def regression(change: HeadlineChange, language: str = "en") -> str:
    """Describe a headline's outcome against its baseline, and if undecided the detectable difference."""

    def say(name: str, **values: object) -> str:
        return phrase(f"regression.{name}", language, **values)

    pair, decision, moved = change.pair, change.decision, change.moved
    few = f"; {say('few', n=moved.n_common, total=moved.n_before)}" if change.few else ""
    if pair.difference is None:
        return say("nothing") + few
    tolerated = written(f"{100 * decision.max_drop:g}")
    counts = {"n": pair.n, "outcome": say("improved" if decision.improved else decision.outcome)}
    is_test_decided = decision.lower is not None and decision.lower > -decision.max_drop
    if decision.outcome == "held" and not pair.difference and not is_test_decided:
        told = say("equal", **counts)
    else:
        by = _bounded(size(pair, language), decision, language)
        told = say("line", by=by, tolerated=tolerated, **counts)
    if few:
        return told + few
    missing = pair.missing
    if missing.n_alike:
        told += f"; {phrase('compare.alike', language, n=missing.n_alike)}"
    if decision.hangs:
        what = lacking(missing.n_lost, missing.n_cut, language)
        return f"{told}; {say('hangs', what=what, low=points(missing.low), high=points(missing.high))}"
    if decision.outcome != "undecided":
        return told
    drop, needed = decision.detectable, decision.n_needed
    told += f"; {say('blind' if drop is None else 'shown', n=pair.n, drop=points(drop).lstrip('+'))}"
    return told if needed is None else f"{told}; {say('needed', n=needed, tolerated=tolerated)}"


def lines(comparison: BaselineComparison | None, language: str) -> Iterator[str]:
    """Yield a run's outcome against its baseline, for the terminal."""
    if comparison:
        yield phrase("regression.head", language, name=comparison.name, run=comparison.run)
        yield from details(comparison, language)


def details(comparison: BaselineComparison, language: str) -> Iterator[str]:
    """Yield what differs from a baseline, and each headline's outcome with what changed in its questions."""
    yield from (f"  {line}" for line in apart(comparison, language))
    for change in comparison.headlines:
        yield f"  {named(change.pair)}: {regression(change, language)}"
        yield from (f"    {line}" for line in moved_lines(change.moved, language))


def named(pair: Comparison) -> str:
    """Return a headline's suite and model, with the metric if it is one of several."""
    return f"{pair.suite} {pair.model_a}"


def apart(comparison: BaselineComparison, language: str) -> Iterator[str]:
    """Yield what is missing from the baseline, and other changes."""
    for what in comparison.missing:
        yield phrase(f"regression.{'missing_allowed' if comparison.allowed else 'missing'}", language, what=what)
    for difference in comparison.differences:
        how = {"decides": "differs_allowed", "rescored": "rescored"}.get(difference.kind, "differs")
        values = {"what": difference.what, "run": difference.run, "baseline": difference.baseline}
        yield phrase(f"regression.{how}", language, **values)


def headline(comparison: BaselineComparison | None, language: str) -> Iterator[str]:
    """Yield a line for a run's screen: the number of headlines by outcome against the baseline, and the worst."""
    if not comparison:
        return
    told = phrase("regression.head", language, name=comparison.name, run=comparison.run)
    worst, *others = _worst_first(comparison) or [None]
    if worst:
        told += f": {named(worst.pair)}: {regression(worst, language)}"
    outcomes = [change.decision.outcome for change in others if change]
    counts = [f"{phrase(f'regression.{one}', language)} {outcomes.count(one)}" for one in _ORDER if one in outcomes]
    yield f"{told}; {phrase('regression.others', language, counts=', '.join(counts))}" if counts else told


def regressed(comparison: BaselineComparison, changes: Sequence[Change], language: str) -> tuple[str, str]:
    """Return the run's outcome against its baseline and the cause: the worst headline, or what is missing."""
    worst = min(changes, key=_ORDER.index)
    outcome = phrase(f"regression.{worst}", language)
    told = phrase("regression.verdict", language, outcome=outcome, name=comparison.name)
    gone = () if comparison.allowed else comparison.missing
    causes = [phrase("regression.missing", language, what=what) for what in gone]
    pairs = [change.pair for change in _worst_first(comparison)]
    causes += [f"{named(pair)} {points(pair.difference)}" for pair in pairs]
    return _GATES[worst], told if worst == "held" or not causes else f"{told} ({causes[0]})"


def _worst_first(comparison: BaselineComparison) -> list[HeadlineChange]:
    return sorted(comparison.headlines, key=lambda change: _ORDER.index(change.decision.outcome))


def moved_lines(moved: QuestionChanges, language: str) -> Iterator[str]:
    """Yield what changed in a suite's questions."""
    kinds = {
        "relabelled": (moved.relabelled, moved.n_common),
        "reworded": (moved.reworded, moved.n_before),
        "only_before": (moved.only_before, moved.n_before),
        "only_after": (moved.only_after, moved.n_after),
    }
    for kind, (questions, total) in kinds.items():
        if questions.n:
            names = [_name(question, kind, language) for question in questions.first[:NAMED]]
            which = "; ".join([*names, *(["…"] if questions.n > len(names) else [])])
            yield phrase(f"questions.{kind}", language, suite=moved.suite, n=questions.n, total=total, which=which)


def _name(question: MovedQuestion, kind: str, language: str) -> str:
    """Return a question on one line, a relabelled one with both expected answers."""
    name = _shorten(question.prompt) or question.question_id
    if kind != "relabelled":
        return name
    answers = {"before": question.before, "after": question.after}
    told = {side: _answer(text, language) for side, text in answers.items()}
    return phrase("questions.relabelled_one", language, question=name, **told)


def _answer(text: str | None, language: str) -> str:
    if text is None:
        return phrase("questions.unknown", language)
    return _shorten(text) or phrase("questions.nothing", language)


def _shorten(text: str) -> str:
    return clipped(" ".join(text.split()), _LONGEST)
