"""What twins say: scripted models told apart, pairs by hand, words that claim no more than they show."""

from collections import Counter
from typing import get_args

import polars as pl
import pytest

from basic_control.data.batches import TwinCount
from basic_control.data.suites import Suite
from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.twins import (
    TwinDifference,
    TwinOutcome,
    TwinResult,
    add_counts,
    count_twins,
    twin_results,
)
from basic_control.metrics.stats.intervals import Interval
from basic_control.tasks.report.language import use_language
from basic_control.tasks.report.twins import sentence
from tests.helpers.scripted_twins import MODELS, told

RUNS = 20
NUMBERS = {
    "remembers, also renamed": "falls",
    "remembers what renaming breaks": "",
    "honest": "",
    "bad at large numbers": "",
    "upset by renaming": "",
}


@pytest.mark.parametrize("model", MODELS)
def test_scripted_models_are_told_apart(model: str) -> None:
    """Modest here; 500 runs each are measured by tests/benchmarks/twins.py."""
    found = Counter[tuple[str, str]]()
    for seed in range(RUNS):
        found.update((kind, one.outcome) for kind, one in told(model, seed).items())
    falls = found["numbers", "falls"] / RUNS
    assert falls >= 0.8 if NUMBERS[model] else falls <= 0.1
    renaming = found["names", "falls"] / RUNS
    assert renaming >= 0.8 if "renam" in model and model != "remembers, also renamed" else renaming <= 0.1


SUITE = {"name": "s", "items": {"data": "x"}, "metrics": ["exact_match"]}
N = 40


def results(right: dict[str, list[int]]) -> TwinResult:
    """Return what one model's replies show, which are right (1) or not, by kind and original."""
    (found,) = twin_results(*tables(right), [suite_of(right)])
    return found


def suite_of(right: dict[str, list[int]]) -> Suite:
    return Suite.model_validate({**SUITE, "twins": [kind for kind in right if kind != "original"]})


def tables(right: dict[str, list[int]]) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the scores, the items and the twins' scores; -1 is a failed call, -2 a reply that was cut.

    Of a kind, those from N on are second twins.
    """
    base = {"model": "m", "repeat": 0, "metric": "exact_match"}

    def scored(item: str, one: int) -> dict[str, object]:
        status = {-1: "model_error", -2: "truncated"}.get(one, "scored")
        value = None if status == "model_error" else max(0.0, float(one))
        return {**base, "item_id": item, "value": value, "status": status}

    originals = [scored(str(n), one) for n, one in enumerate(right["original"])]
    twins = [(kind, n, one) for kind in right if kind != "original" for n, one in enumerate(right[kind])]
    renewed = SCORES.frame(scored(f"{kind}{n}", one) for kind, n, one in twins)
    kinds = pl.Series([kind for kind, _, _ in twins], dtype=pl.String)
    names = pl.Series([str(n % N) for _, n, _ in twins], dtype=pl.String)
    items = ITEMS.frame({"item_id": one["item_id"], "suite": "s"} for one in originals)
    return SCORES.frame(originals), items, renewed.with_columns(kind=kinds, original=names)


def test_the_robust_share_is_over_originals_whose_replies_are_all_scored() -> None:
    right = {"original": [1] * N, "numbers": [-1] * 2 + [0] * 2 + [1] * 36}
    assert (results(right).robust, results(right).n_robust) == (36 / 38, 38)
    second_twins = {"original": [1] * N, "names": [1] * N + [-1] * 4 + [0] * 6 + [1] * 30}
    assert (results(second_twins).robust, results(second_twins).n_robust) == (30 / 36, 36)
    cut = {"original": [1] * N, "numbers": [-2] * 2 + [1] * 38}
    assert (results(cut).robust, results(cut).n_robust) == (38 / 40, 40)


def test_a_kind_that_no_original_has_leaves_none_that_has_every_kind() -> None:
    found = results({"original": [1] * N, "names": [1] * N, "numbers": []})
    assert (found.robust, found.n_robust) == (None, 0)


def test_numbers_are_compared_with_names_and_names_with_originals() -> None:
    found = results({"original": [1] * N, "names": [1] * N, "numbers": [0] * 20 + [1] * 20})
    names, numbers = {one.kind: one for one in found.differences}.values()
    if names.kind == "numbers":
        names, numbers = numbers, names
    assert (names.against, names.difference, names.n) == ("original", 0.0, N)
    assert (numbers.against, numbers.difference, numbers.outcome) == ("names", -0.5, "falls")
    assert numbers.interval.high is not None
    assert numbers.interval.high < 0
    assert (found.robust, found.n_robust) == (0.5, N)


def test_without_a_placebo_numbers_are_compared_with_originals_and_the_sentence_says_so() -> None:
    (numbers,) = results({"original": [1] * N, "numbers": [0] * 20 + [1] * 20}).differences
    assert numbers.against == "original"
    said = sentence(numbers)
    assert "renaming alone may be the cause" in said
    assert "beyond" not in said


def test_only_originals_that_have_both_kinds_are_compared() -> None:
    found = results({"original": [1] * N, "names": [1] * 30, "numbers": [1] * N})
    assert {one.kind: one.n for one in found.differences} == {"names": 30, "numbers": 30}
    assert found.n_robust == 30


def test_few_pairs_cannot_tell_and_say_how_many_could() -> None:
    found = results({"original": [1, 0] * 20, "names": [1, 0] * 19 + [0, 1], "numbers": [0, 1] * 3 + [1, 0] * 17})
    numbers = next(one for one in found.differences if one.kind == "numbers")
    assert numbers.outcome == "unknown"
    assert numbers.needed is not None
    assert numbers.needed > N
    assert "cannot tell" in sentence(numbers)


def test_no_sentence_says_that_a_model_memorised() -> None:
    for language in ("en", "ru"):
        for kind in ("numbers", "names", "order", "format"):
            for outcome in get_args(TwinOutcome):
                difference = TwinDifference(
                    kind, "original", 10, None, None, -0.124, Interval(-0.167, -0.081), None, None, outcome, 100
                )
                with use_language(language):
                    said = sentence(difference).replace(",", ".")
                assert "memoris" not in said.lower()
                assert "memoriz" not in said.lower()
                assert ("12.4" in said and "8.1–16.7" in said) == (outcome in {"falls", "rises"})


def test_counts_of_batches_are_joined() -> None:
    listed = add_counts(
        [TwinCount("s", "names", "", 3), TwinCount("s", "names", "why", 1), TwinCount("s", "names", "", 4)]
    )
    assert listed == [TwinCount("s", "names", "", 7), TwinCount("s", "names", "why", 1)]
    assert count_twins(listed) == {("s", "names"): (7, 8)}
