"""A panel's mean is that of the judges who earn it."""

import json

import polars as pl
import pytest

from metrics.paneled import panel_means
from tests.helpers.suites import shipped

TRUTH = [n % 3 for n in range(60)]


def tables(*judges: list[int]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return scores of several judges' ratings of groundedness."""
    details = [
        json.dumps(
            {
                "judges": {
                    f"j{place}": {"value": raw / 2, "status": "scored", "details": {"shortcut": "", "raw": raw}}
                    for place, raw in enumerate(said)
                }
            }
        )
        for said in zip(*judges, strict=True)
    ]
    names = [f"i{n:03}" for n in range(len(details))]
    scores = pl.DataFrame(
        {"item_id": names, "model": "m", "repeat": 0, "metric": "response_groundedness", "details": details}
    )
    return scores, pl.DataFrame({"item_id": names, "suite": "rag", "language": "en"})


def test_judges_that_agree_outweigh_one_that_says_the_same_to_all() -> None:
    """Three judges of the truth, and two that rate everything 2: the plain mean is 0.5 + 2/5 · 0.5."""
    scores, items = tables(TRUTH, TRUTH, TRUTH, [2] * 60, [2] * 60)
    (found,) = panel_means(scores, items, [shipped("rag")], lambda *_: None)
    assert found.plain == pytest.approx(0.7)
    assert found.weighed == pytest.approx(0.5, abs=0.02)
    assert found.weights["j0"].value > 0.9
    assert found.weights["j3"].value < 0.5
    assert found.measured == ()


def test_what_a_judge_is_worth_stands_with_its_n_and_interval() -> None:
    scores, items = tables(TRUTH, TRUTH, [2] * 60)
    (found,) = panel_means(scores, items, [shipped("rag")], lambda *_: None)
    for one in found.weights.values():
        assert one.interval.low is not None
        assert one.interval.high is not None
        assert 0 <= one.interval.low <= one.value <= one.interval.high <= 1
        assert (one.n, one.n_exam) == (60, 0)
    assert (found.weights["j2"].interval.high or 1) < (found.weights["j0"].interval.low or 0)


def test_a_single_judge_is_no_panel() -> None:
    scores, items = tables(TRUTH)
    assert panel_means(scores, items, [shipped("rag")], lambda *_: None) == []
