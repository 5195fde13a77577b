"""What twins say: scripted models told apart, pairs by hand, words that claim no more than they show."""

from collections import Counter
from dataclasses import asdict

import polars as pl
import pytest

from data.batches import TwinCount
from data.suites import Suite
from data.tables import ITEMS, SCORES
from metrics.analysis.policy import Gate, Policy
from metrics.analysis.results import build_interim
from metrics.analysis.scores import Circumstances, SuiteResult
from metrics.analysis.summary import summarise
from metrics.analysis.twins import RenewedScores, TwinResult, counted, shares, twin_results
from metrics.analysis.values import Observations
from metrics.analysis.verdict import verdict_of
from tasks.report.twins import sentence
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


def gated(right: dict[str, list[int]], threshold: float, gate: Gate = "point", waiting: int = 0) -> SuiteResult:
    """Return the verdict on a suite that is gated on what is right in all; `waiting` requests are in batches."""
    (scores, items, twins), suite = tables(right), suite_of(right)
    known = Circumstances([suite], {"m": [suite]}, waiting={"s": waiting})
    renewed = RenewedScores(twins, [TwinCount("s", "names", "", 1)])
    found = build_interim(Observations(scores, items), summarise(scores, items), known, renewed)
    policy = Policy(gate, thresholds={"s": threshold}, robust=frozenset({"s"}))
    (model,) = verdict_of(found, policy).models
    assert model.outcome == model.suites[0].outcome, "the only suite's outcome is the model's"
    return model.suites[0]


def test_a_gate_on_twins_takes_the_share_right_in_all_and_the_score_stays() -> None:
    right = {"original": [1] * N, "names": [1] * N, "numbers": [0] * 10 + [1] * 30}
    found = gated(right, 0.8)
    assert (found.outcome, found.score, found.n_scored) == ("fail", 1.0, N)
    assert found.reason == "gated on twins: 75% of 40 originals are right in every one too"
    assert gated(right, 0.7).outcome == "pass"
    by_interval = gated(right, 0.7, "interval")  # Wilson: 60 to 86 %
    assert (by_interval.outcome, by_interval.score) == ("undecided", 1.0)
    assert gated(right, 0.59, "interval").outcome == "pass"


def test_a_gate_on_twins_hangs_on_what_is_missing_there() -> None:
    right = {"original": [1] * N, "numbers": [-1] * 2 + [0] * 2 + [1] * 36}  # 36 to 38 of 40
    found = gated(right, 0.92)
    assert found.outcome == "undecided"
    assert found.reason == (
        "gated on twins: 94.7% of 38 originals are right in every one too; it depends on rows that are not scored "
        "(2): 90% if they are wrong, 95% if they are right; ask them again with --only-failed"
    )
    assert (gated(right, 0.9).outcome, gated(right, 0.96).outcome) == ("pass", "fail")
    cut = {"original": [1] * N, "numbers": [-2] * 2 + [1] * 38}  # 38 to 40 of 40
    assert [gated(cut, at).outcome for at in (0.95, 0.97)] == ["pass", "undecided"]
    assert gated({**right, "numbers": [-1] * 5 + [1] * 35}, 0.5).outcome == "error", "less than 90 % are scored"


def test_a_gate_on_twins_without_an_original_that_has_all_is_an_error() -> None:
    found = gated({"original": [1] * N, "names": []}, 0.5)
    assert (found.outcome, found.reason) == ("error", "gated on twins, and no original has one of every kind")


def test_a_kind_that_no_original_has_leaves_none_that_has_every_kind() -> None:
    right = {"original": [1] * N, "names": [1] * N, "numbers": []}
    assert gated(right, 0.5).reason == "gated on twins, and no original has one of every kind"
    assert (results(right).robust, results(right).n_robust) == (None, 0)


def test_a_gate_on_twins_hangs_on_a_second_twin_whose_call_failed() -> None:
    right = {"original": [1] * N, "names": [1] * N + [-1] * 4 + [1] * 36}  # 36 to 40 of 40
    found = gated(right, 0.95)
    assert found.outcome == "undecided"
    assert "rows that are not scored (4): 90% if they are wrong, 100% if they are right" in found.reason
    assert gated(right, 0.9).outcome == "pass"


def test_a_gate_on_twins_that_wait_in_a_batch_is_undecided() -> None:
    found = gated({"original": [1] * N, "names": [-1] * 30 + [1] * 10}, 0.5, waiting=30)
    assert (found.outcome, found.reason) == ("undecided", "submitted: 30 requests in batches")
    assert gated({"original": [1] * N, "names": [1] * N}, 0.5, waiting=30).outcome == "pass", "others' requests"


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
    said = sentence(asdict(numbers), "en")
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
    assert "cannot tell" in sentence(asdict(numbers), "en")


def test_no_sentence_says_that_a_model_memorised() -> None:
    for language in ("en", "ru"):
        for kind in ("numbers", "names", "order", "format"):
            for outcome in ("falls", "rises", "same", "unknown"):
                said = sentence(
                    {
                        "kind": kind,
                        "against": "original",
                        "outcome": outcome,
                        "difference": -0.124,
                        "interval": {"low": -0.167, "high": -0.081},
                        "n": 10,
                        "needed": 100,
                    },
                    language,
                )
                assert "memoris" not in said.lower()
                assert "memoriz" not in said.lower()
                assert ("12.4" in said and "8.1–16.7" in said) == (outcome in {"falls", "rises"})


def test_counts_of_batches_are_joined() -> None:
    listed = counted(
        [TwinCount("s", "names", "", 3), TwinCount("s", "names", "why", 1), TwinCount("s", "names", "", 4)]
    )
    assert listed == [TwinCount("s", "names", "", 7), TwinCount("s", "names", "why", 1)]
    assert shares(listed) == {("s", "names"): (7, 8)}
