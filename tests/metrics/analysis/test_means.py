"""A suite's mean of several metrics: what its interval counts."""

import polars as pl
import pytest

from basic_control.metrics.analysis.summary import suite_mean


def values(n_templates: int) -> pl.DataFrame:
    """Two metrics of 60 questions, which are right by template: template t where t is no multiple of three."""
    rows = []
    for number in range(60):
        template = number % 12
        for metric in ("exact_match", "contains"):
            worth = float(template % 3 > 0)
            rows.append({"item_id": f"q{number:02}", "family": "", "metric": metric, "value": worth})
            rows[-1] |= {"lower": worth, "upper": worth, "plain": True, "answers": 1, "asked": 1}
            rows[-1] |= {"cluster": template if n_templates else -1}
    return pl.DataFrame(rows)


def test_a_mean_of_metrics_counts_templates_as_a_metric_does() -> None:
    apart = suite_mean(values(0), strata=False)
    shared = suite_mean(values(12), strata=False)
    assert apart.mean == shared.mean == pytest.approx(2 / 3)
    assert (apart.interval.units, shared.interval.units) == (60, 12)
    widths = [(interval.high or 0) - (interval.low or 0) for interval in (shared.interval, apart.interval)]
    # Twelve templates of five alike questions say what twelve questions do.
    assert widths[0] / widths[1] == pytest.approx(5**0.5, rel=0.15)
