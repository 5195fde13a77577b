"""Comparisons with a baseline as reports get them."""

from typing import Any

from basic_control.metrics.analysis.baseline import BaselineComparison, HeadlineChange
from basic_control.metrics.analysis.pairs import Comparison, MissingPairs, PairedTest
from basic_control.metrics.analysis.provenance import RuleDifference
from basic_control.metrics.analysis.shared_questions import QuestionChanges
from basic_control.metrics.stats.intervals import Interval
from basic_control.metrics.stats.regression import Change, Regression


def change(
    outcome: Change = "held",
    *,
    suite: str = "rag",
    difference: float | None = 0.0,
    interval: tuple[float, float] | None = None,
    n: int = 100,
    means: tuple[float | None, float | None] = (None, None),
    missing: MissingPairs | None = None,
    max_drop: float = 0.02,
    **decision: Any,
) -> HeadlineChange:
    """Return a headline of model m compared with a baseline's."""
    test = PairedTest("tango", interval=Interval(*interval), level=0.05) if interval else PairedTest()
    pair = Comparison(
        suite, "accuracy", "metric", "m", "m", n, 0, *means, difference, 0, 2, yes_no=True, test=test,
        missing=missing or MissingPairs(),
    )  # fmt: skip
    moved = QuestionChanges(suite, n, n, n)
    return HeadlineChange(pair, Regression(outcome, max_drop, **decision), moved)


def against(*changes: HeadlineChange, differences: tuple[RuleDifference, ...] = ()) -> BaselineComparison:
    """Return a comparison with the baseline `main`."""
    return BaselineComparison("main", "r1", differences, changes)
