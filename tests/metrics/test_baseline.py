"""A run against a baseline: what differs is named, values are matched by item, cut replies leave it open."""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from data.errors import InputError
from data.tables import ITEMS, SCORES
from metrics.baseline import Against, hold, unlike, values_of


def items(n: int) -> pl.DataFrame:
    base = {"suite": "s", "family": "", "level": "", "language": "en", "template": ""}
    return ITEMS.frame([{**base, "item_id": str(i), "prompt": f"Question {i}?"} for i in range(n)])


def scores(
    values: Sequence[float | None], *, model: str = "a", metric: str = "m", cut: tuple[int, ...] = ()
) -> pl.DataFrame:
    return SCORES.frame(
        {
            "item_id": str(i),
            "model": model,
            "repeat": 0,
            "metric": metric,
            "version": 1,
            "value": value,
            "status": "truncated" if i in cut else "model_error" if value is None else "scored",
        }
        for i, value in enumerate(values)
    )


def against(run: pl.DataFrame, baseline: pl.DataFrame, n: int, **more: Any) -> Against:
    given = {"suites": {"s": ["m"]}, "max_drop": {"s": 0.0}, **more}
    pinned = baseline.with_columns(suite=pl.lit("s"))
    return hold("main", "r1", scores=run, items=items(n), baseline=pinned, **given)


def test_only_items_of_both_count_and_the_rest_is_said() -> None:
    found = against(scores([0.0] * 6 + [1.0, None]), scores([1.0] * 10), 8)
    (suite,) = found.models[0].suites
    assert (suite.n, suite.n_left_out, suite.lost, suite.outcome) == (7, 1, 6, "regressed")
    assert [str(one) for one in found.differences] == [
        "questions of s (a): 8, 8 of them in common, in the baseline 10"
    ]
    assert [(one.item_id, one.before, one.after) for one in found.models[0].changed][:2] == [
        ("0", 1, 0),
        ("1", 1, 0),
    ]
    assert found.models[0].changed[0].prompt == "Question 0?"


def test_mostly_other_questions_are_refused_unless_allowed() -> None:
    with pytest.raises(InputError, match=r"3, 3 of them in common, in the baseline 10.*--allow-different"):
        against(scores([1.0] * 3), scores([1.0] * 10), 3)
    assert against(scores([1.0] * 3), scores([1.0] * 10), 3, allow_different=True).differences


def test_models_are_matched_by_name_or_the_only_one_with_the_only_one() -> None:
    assert against(scores([1.0], model="b"), scores([1.0]), 1).models[0].against == "a"
    two = pl.concat([scores([1.0], model="b"), scores([1.0], model="c")])
    with pytest.raises(InputError, match="it has the models a, the run has b, c: none in common"):
        against(two, scores([1.0]), 1)


def test_a_regression_that_hangs_on_cut_replies_is_undecided() -> None:
    run = scores([0.0] * 6 + [1.0] * 6, cut=(0, 1, 2))
    (suite,) = against(run, scores([1.0] * 12), 12).models[0].suites
    assert (suite.outcome, suite.cut) == ("undecided", True)
    assert (suite.low, suite.difference, suite.high) == (-0.5, -0.5, -0.25)


def test_a_value_of_several_metrics_is_their_mean_and_null_where_one_failed() -> None:
    both = pl.concat([scores([1.0, None, 0.5]), scores([0.5, 1.0, 1.0], metric="n")])
    found = values_of(both, ["m", "n"]).sort("item_id")
    assert found["value"].to_list() == [0.75, None, 0.75]
    gone = both.with_columns(
        status=pl.when(pl.col("value").is_null()).then(pl.lit("not_applicable")).otherwise("status")
    )
    assert values_of(gone, ["m", "n"]).sort("item_id")["value"].to_list() == [0.75, 1.0, 0.75]


def test_other_rules_and_judges_take_the_meaning_and_other_models_do_not() -> None:
    before = {
        "verifiers": {"m": 1, "old": 1},
        "judges": {"j": {"model": "j", "digest": "1"}},
        "identities": {"a": {"digest": "1"}},
        "sampling": {"a": {"temperature": 0.0}},
    }
    after = {
        "verifiers": {"m": 2, "new": 1},
        "judges": {"j": {"model": "j", "digest": "1", "fresh": "now"}, "k": {"model": "k"}},
        "identities": {"a": {"digest": "2"}},
        "sampling": {"a": {"temperature": 0.3}},
    }
    found = {one.what: one.kind for one in unlike(before, after)}
    assert found == {
        "version of the verifier m": "meaning",
        "judge k": "meaning",
        "model a": "note",
        "sampling of a": "note",
    }
    assert unlike(before, before) == []
