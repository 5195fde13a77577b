"""A judge that favours its own model shows it; one that is lenient with everybody does not."""

import json

import polars as pl
import pytest

from metrics.self_preference import NO_JUDGE, NO_MODEL, SelfPreference, self_preferences
from tests.helpers.suites import shipped

RAG = shipped("rag")
METRIC = "response_groundedness"


def told(said: dict[str, dict[str, float]], n: int = 20) -> SelfPreference:
    """Return what comes of judges' scores of models' replies, each question alike but for a little."""
    rows = []
    for i in range(n):
        for model, judges in said.items():
            values = {j: {"value": v - 0.1 * (i % 2) * (j == "a")} for j, v in judges.items()}
            details = json.dumps({"judges": values})
            rows.append({"item_id": f"i{i}", "model": model, "repeat": 0, "metric": METRIC, "details": details})
    items = pl.DataFrame({"item_id": [f"i{i}" for i in range(n)], "suite": "rag"})
    (found,) = self_preferences(pl.DataFrame(rows), items, [RAG], {"a": {"a"}})
    return found


def test_a_judge_that_favours_its_own_model_shows_it_with_n_and_interval() -> None:
    """On its own replies it is 0.3 above the other judge, on the others' as much as the other: 0.3."""
    found = told({"a": {"a": 0.9, "b": 0.6}, "m": {"a": 0.5, "b": 0.5}})
    assert (found.judge, found.models, found.n_items, found.reason) == ("a", ("a",), 20, "")
    assert found.difference == pytest.approx(0.3)
    assert found.interval.low is not None
    assert found.interval.low > 0.2


def test_a_judge_that_is_lenient_with_everybody_shows_none() -> None:
    found = told({"a": {"a": 0.9, "b": 0.6}, "m": {"a": 0.8, "b": 0.5}})
    assert found.difference == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"a": {"a": 0.9}, "m": {"a": 0.5}}, NO_JUDGE),
        ({"a": {"a": 0.9, "b": 0.6}}, NO_MODEL),
    ],
)
def test_where_it_cannot_be_told_no_number_is_made_up(said: dict[str, dict[str, float]], reason: str) -> None:
    found = told(said)
    assert (found.difference, found.interval.low, found.reason) == (None, None, reason)
