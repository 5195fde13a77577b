"""What needed no judge, such as an empty reply, is sampled like all else, so intervals hold with it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from basic_control.data.suites import Suite
from basic_control.metrics.analysis.headlines import Measurement
from basic_control.metrics.analysis.judged import Labels, correct_means
from basic_control.metrics.analysis.observations import observations
from basic_control.metrics.analysis.passports import Passport
from basic_control.metrics.analysis.scores import Circumstances
from basic_control.metrics.stats.intervals import Share, limit_mixture
from basic_control.metrics.stats.labelled import prediction_powered
from basic_control.tasks.judges.labels import join_judged, load_corrections, sheet
from tests.helpers.passports import passport
from tests.helpers.verdicts import verdict_on

METRIC = "response_groundedness"
SUITE = Suite(name="rag", items={}, metrics={METRIC: {}}, threshold=0.5)
GOOD = passport("groundedness", [[98, 1, 1], [1, 98, 1], [1, 1, 98]])
KEY = ("rag", "m", METRIC)


def build_tables(judged: int, settled: int, *, copies: int = 1, is_asked: bool = True) -> tuple[Any, Any]:
    """Return scores and items: replies that a judge rated best, and empty ones, each in so many rows.

    Without `is_asked` its verdicts are none that count.
    """
    items, scores = [], []
    for n in range(judged + settled):
        is_judged = n < judged
        details: dict[str, Any] = {"shortcut": ""}
        if is_judged:
            details["raw"] = 2
        verdict = {"value": float(is_judged), "status": "scored", "n_calls": int(is_judged), "details": details}
        report = {"aggregate": "mean", "judges": {"judge": verdict}}
        row = {"model": "m", "repeat": 0, "metric": METRIC, "reason": "", "details": json.dumps(report)}
        row |= {"value": float(is_judged), "status": "scored"}
        # The judge's verdict stays in the details where it does not count.
        if is_judged and not is_asked:
            row |= {"value": None, "status": "judge_failed"}
        suite = {"suite": "rag", "family": "", "level": "", "language": "en", "template": ""}
        for copy in range(copies):
            item_id = f"i{n:03}.{copy}"
            scores.append({"item_id": item_id, **row})
            facts = {"item_id": item_id, "text_digest": f"q{n}", "prompt": f"Q{n}", "facts": "{}"}
            items.append({**facts, **suite})
    kinds = {"value": pl.Float64, "status": pl.String}
    return pl.DataFrame(scores, schema_overrides=kinds), pl.DataFrame(items)


def measure(scores: pl.DataFrame, items: pl.DataFrame, labels: Labels | None = None) -> Measurement:
    """Return what a run measures, by the judge's passport and by labels."""

    def find(*about: Any) -> Passport | None:
        return GOOD if about[3] == GOOD.exam else None

    once = observations(scores, items)
    facts = Circumstances(corrected=correct_means(once.replies, once.items, [SUITE], find), labels=labels or {})
    (model,) = verdict_on(once.scores, once.items, [SUITE], facts=facts).models
    return model.headlines[0].measured


@pytest.mark.parametrize("copies", [1, 2])
def test_a_corrected_interval_is_no_narrower_for_replies_that_nobody_judged(copies: int) -> None:
    """Of sixty replies half are empty: by Wilson 37.7 to 62.3 %, whatever the judge's errors are."""
    measured = measure(*build_tables(30, 30, copies=copies))
    raw, corrected = measured.score.interval, measured.corrected.interval
    assert (raw.low, raw.high) == (pytest.approx(0.377, abs=1e-3), pytest.approx(0.623, abs=1e-3))
    assert measured.corrected.mean == pytest.approx(0.5, abs=0.02)
    assert corrected.low == pytest.approx(0.37, abs=0.02)
    assert corrected.high == pytest.approx(0.63, abs=0.02)


def test_without_such_replies_a_correction_is_as_it_was() -> None:
    scores, items = build_tables(60, 0)
    (row,) = correct_means(scores, items, [SUITE], lambda *_: GOOD)
    corrected = measure(scores, items).corrected
    assert (corrected.mean, corrected.interval.low) == (row.value.mean, pytest.approx(row.value.interval.low))


def test_labels_are_of_judged_replies_and_the_mean_of_all(tmp_path: Path) -> None:
    """Of forty judged replies people call half right; forty more are empty, and on no sheet: a quarter of all."""
    # Also where the judge does not count, and the empty ones alone are scored.
    for is_asked in (True, False):
        scores, items = build_tables(40, 40, is_asked=is_asked)
        texts = scores.select("item_id", "model", "repeat", response="item_id")
        assert sheet(join_judged(scores, items, texts), n=80).height == 40
        assert load_corrections(tmp_path, [SUITE], scores, items, lambda texts=texts: texts) == {}
        truth = [float(n % 2) for n in range(40)]
        powered = prediction_powered([1.0] * 40, [*range(40)], truth)
        measured = measure(scores, items, {KEY: replace(powered, n_settled=40, settled=0.0)})
        assert measured.score.mean == pytest.approx(0.25)
        assert measured.score.interval.low == pytest.approx(0.156, abs=0.01)
        assert measured.score.interval.high == pytest.approx(0.36, abs=0.02)


@pytest.mark.parametrize(("share", "right", "settled"), [(0.5, 0.9, 0.0), (0.8, 0.4, 1.0), (0.3, 0.7, 0.5)])
def test_limits_of_judged_and_settled_replies_together_cover(share: float, right: float, settled: float) -> None:
    """About 95 of 100 runs of 60 replies, with a judge that never errs."""
    rng = np.random.default_rng(7)
    truth = share * right + (1 - share) * settled
    n_covered = 0
    for _ in range(1000):
        n_judged = int(np.clip(rng.binomial(60, share), 1, 59))
        verdicts = Share.of(int(rng.binomial(n_judged, right)), n_judged)
        rule = rng.binomial(60 - n_judged, settled) / (60 - n_judged)
        low, high = limit_mixture(verdicts.share or 0.0, verdicts.interval, rule, n_judged / 60, 60)
        assert low is not None
        assert high is not None
        n_covered += low <= truth <= high
    assert 930 <= n_covered <= 985
