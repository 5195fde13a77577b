"""Suites that ask until they are decided: which questions come first, and when the verdict is there."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
import pytest

from basic_control.data.errors import InputError
from basic_control.data.suites import Stop, Suite
from basic_control.data.tables import ITEMS, SCORES, SUMMARY
from basic_control.metrics.analysis.pairs import compare
from basic_control.metrics.analysis.stopping import (
    against,
    compute_sequences,
    cut_into_rounds,
    ends,
    list_undecided,
    sequences,
    with_sequence_intervals,
)
from basic_control.metrics.analysis.summary import summarise
from basic_control.metrics.stats.calibration import ExamTable
from basic_control.metrics.stats.sequential import follow
from tests.helpers.verdicts import entry, finalise

STRATA = (("a", "easy", "en"), ("a", "hard", "en"), ("b", "easy", "en"))


def suite_of(*, total: bool = False, **changes: Any) -> Suite:
    raw: dict[str, Any] = {"name": "s", "items": {"seed": 1}, "metrics": {"exact_match": {}}, "stop": {}}
    raw |= {"threshold": 0.8, **changes}
    return Suite.model_validate(raw | ({"strata": "family"} if total else {}))


def items_of(sizes: Mapping[tuple[str, str, str], int]) -> pl.DataFrame:
    rows = [
        {"item_id": f"{family}-{level}-{n}", "suite": "s", "family": family, "level": level, "language": language}
        for (family, level, language), size in sizes.items()
        for n in range(size)
    ]
    return ITEMS.frame({"version": 1, "template": "", "seed": 1, "index": 0, **row} for row in rows)


def scores_of(values: Mapping[str, Sequence[tuple[str, float | None, str]]]) -> pl.DataFrame:
    """Rows (item, value, status) of each model."""
    return SCORES.frame(
        {
            "item_id": item_id,
            "model": model,
            "repeat": 0,
            "metric": "exact_match",
            "version": 1,
            "value": value,
            "status": status,
        }
        for model, rows in values.items()
        for item_id, value, status in rows
    )


def right(rounds: Sequence[pl.DataFrame], share: int = 1, of: int = 1) -> list[tuple[str, float | None, str]]:
    """Answers of which `share` in every `of` are right, in the order in which they are put."""
    ids = [item_id for part in rounds for item_id in part["item_id"]]
    return [(item_id, float(n % of < share), "scored") for n, item_id in enumerate(ids)]


def test_looks_grow_by_a_sixth_in_whole_rounds_from_the_first_to_the_most() -> None:
    assert ends(Stop(first=30, most=60), 1, 1000) == [30, 35, 41, 48, 56, 60]
    assert ends(Stop(first=30, most=60), 7, 1000) == [35, 42, 49, 56]
    assert ends(Stop(first=30, most=1000), 1, 12) == [12]
    every = ends(Stop(first=10, most=1000), 6, 10**6)
    assert all(end % 6 == 0 for end in every)
    assert every[-1] == 996


def test_every_round_holds_as_many_of_each_stratum_and_none_twice() -> None:
    items = items_of(dict.fromkeys(STRATA, 40))
    rounds = cut_into_rounds(items, suite_of(), Stop(first=9, most=60))
    for part in rounds:
        assert len(set(Counter(part.select("family", "level", "language").iter_rows()).values())) == 1
    ids = pl.concat(rounds)["item_id"]
    assert ids.n_unique() == len(ids) == 60


def test_the_order_follows_from_seed_and_content_alone() -> None:
    items = items_of(dict.fromkeys(STRATA, 40))
    stop = Stop(first=9, most=60)
    first = [list(part["item_id"]) for part in cut_into_rounds(items, suite_of(), stop)]
    shuffled = items.sample(fraction=1, shuffle=True, seed=3)
    assert [list(part["item_id"]) for part in cut_into_rounds(shuffled, suite_of(), stop)] == first
    other = cut_into_rounds(items, suite_of(items={"seed": 2}), stop)
    assert [list(part["item_id"]) for part in other] != first
    longer = cut_into_rounds(items, suite_of(), Stop(first=9, most=90))
    assert [i for part in longer for i in part["item_id"]][:60] == [i for part in first for i in part]


def test_strata_of_unequal_size_keep_their_weight_where_the_score_is_over_items() -> None:
    items = items_of({STRATA[0]: 90, STRATA[1]: 10})
    plain = pl.concat(cut_into_rounds(items, suite_of(), Stop(first=30, most=100)))
    assert len(plain) == 100
    balanced = pl.concat(cut_into_rounds(items, suite_of(total=True), Stop(first=10, most=100)))
    assert Counter(balanced["level"]) == {"easy": 10, "hard": 10}


def test_fewer_questions_than_strata_are_refused() -> None:
    with pytest.raises(InputError, match=r"stop\.most is 2, expected at least 3"):
        cut_into_rounds(items_of(dict.fromkeys(STRATA, 4)), suite_of(), Stop(first=1, most=2))


def test_a_model_is_settled_once_its_sequence_excludes_the_threshold() -> None:
    suite = suite_of()
    rounds = cut_into_rounds(items_of({STRATA[0]: 400}), suite, Stop(first=30, most=400))
    answers = {"good": right(rounds), "near": right(rounds, 4, 5), "bad": right(rounds, 0)}
    found = compute_sequences(rounds, scores_of(answers), suite, list(answers), 0.01)
    by_name = {one.model: one for one in found}
    values = [1.0] * 400
    looks = follow(values, alpha=0.01, looks=ends(Stop(first=30, most=400), 1, 400))
    assert by_name["good"].looks == looks
    assert by_name["good"].decided == next(look.n for look in looks if look.low > 0.8)
    assert [by_name[name].side for name in answers] == ["above", "", "below"]
    assert by_name["bad"].decided == 30
    assert list_undecided(found, suite, list(answers)) == ["near"]
    assert sequences(suite, 3) == 3
    assert all(against(one, 0.8) == one for one in found)
    low, high = by_name["near"].looks[-1].low, by_name["near"].looks[-1].high
    asked = {low - 0.01: "above", low + 0.01: "", high - 0.01: "", high + 0.01: "below"}
    assert {other: against(by_name["near"], other).side for other in asked} == asked


def test_a_total_is_followed_by_rounds_in_which_families_weigh_equally() -> None:
    """Family a has two strata, b one: a round is worth (a easy + a hard) / 4 + b / 2."""
    suite = suite_of(total=True)
    rounds = cut_into_rounds(items_of(dict.fromkeys(STRATA, 50)), suite, Stop(first=30, most=150))
    asked = pl.concat(rounds)
    rows: list[tuple[str, float | None, str]] = [
        (item_id, 1.0 if (family, level) != ("b", "easy") else 0.5, "scored")
        for item_id, family, level in asked.select("item_id", "family", "level").iter_rows()
    ]
    (found,) = compute_sequences(rounds, scores_of({"m": rows}), suite, ["m"], 0.05)
    assert [look.mean for look in found.looks] == pytest.approx([0.75] * len(found.looks))
    assert found.looks[-1].n == 50
    assert found.questions[-1] == found.asked == 150
    assert found.looks[-1].low == follow([0.75] * 50, alpha=0.05, looks=[look.n for look in found.looks])[-1].low


def test_what_failed_is_bounded_and_what_does_not_apply_is_no_observation() -> None:
    """Of one stratum of two 1 of 30 failed: between 59/60 and 1."""
    suite = suite_of(total=True)
    rounds = cut_into_rounds(items_of(dict.fromkeys(STRATA, 30)), suite, Stop(first=90, most=90))
    ids = list(rounds[0].select("item_id", "family").iter_rows())
    lost = next(item_id for item_id, family in ids if family == "a")
    rows: list[tuple[str, float | None, str]] = [
        (item_id, None, "model_error") if item_id == lost
        else (item_id, None, "not_applicable") if family == "b"
        else (item_id, 1.0, "scored")
        for item_id, family in ids
    ]  # fmt: skip
    (found,) = compute_sequences(rounds, scores_of({"m": rows}), suite, ["m"], 0.05)
    (look,) = found.looks
    assert (look.n, look.mean) == pytest.approx((30, 59 / 60))
    below = [0.5] + [1.0] * 29
    (expected,) = follow(sorted(below), alpha=0.05, looks=[30], ceiling=[1.0] * 30)
    assert (look.low, look.high) == pytest.approx((expected.low, expected.high))


def test_a_model_without_any_value_is_not_asked_on() -> None:
    suite = suite_of()
    rounds = cut_into_rounds(items_of({STRATA[0]: 60}), suite, Stop(first=30, most=60))[:1]
    dead = [(item_id, None, "model_error") for item_id in rounds[0]["item_id"]]
    found = compute_sequences(rounds, scores_of({"dead": dead}), suite, ["dead", "missing"], 0.05)
    assert list_undecided(found, suite, ["dead", "missing"]) == []


def test_cut_replies_are_followed_between_their_bounds() -> None:
    suite = suite_of()
    rounds = cut_into_rounds(items_of({STRATA[0]: 100}), suite, Stop(first=100, most=100))
    ids = list(rounds[0]["item_id"])
    rows: list[tuple[str, float | None, str]] = [
        (item_id, 0.0, "truncated") if n < 30 else (item_id, 1.0, "scored") for n, item_id in enumerate(ids)
    ]
    (found,) = compute_sequences(rounds, scores_of({"m": rows}), suite, ["m"], 0.05)
    assert found.side == "", "0.7 if they are wrong, 1.0 if they are right"
    assert found.looks[0].mean == 0.7
    assert found.looks[0].high == 1.0


def test_a_look_follows_a_round_that_ends_with_a_question_asked_before() -> None:
    suite = suite_of()
    rounds = cut_into_rounds(items_of({STRATA[0]: 35}), suite, Stop(first=30, most=35))
    first, last = rounds[0]["item_id"][0], rounds[1]["item_id"][-1]
    equal = [part.with_columns(text_digest=pl.col("item_id").replace({last: first})) for part in rounds]
    (found,) = compute_sequences(equal, scores_of({"m": right(equal)}), suite, ["m"], 0.05)
    assert (found.asked, found.questions) == (35, (30, 35))
    assert [look.n for look in found.looks] == [30, 34]


def of_two(rounds: Sequence[pl.DataFrame], other: Callable[[int], Sequence[float | None]]) -> pl.DataFrame:
    """Scores of m in two repeats: always right by one metric; `other(n)` by the second, None: it does not apply."""
    ids = [item_id for part in rounds for item_id in part["item_id"]]
    return SCORES.frame(
        {
            "item_id": item_id,
            "model": "m",
            "repeat": repeat,
            "metric": metric,
            "version": 1,
            "value": value,
            "status": "not_applicable" if value is None else "scored",
        }
        for n, item_id in enumerate(ids)
        for metric, values in (("exact_match", (1.0, 1.0)), ("contains", other(n)))
        for repeat, value in enumerate(values)
    )


def test_a_question_is_worth_the_mean_of_its_metrics_means_over_repeats() -> None:
    """The second metric applies to one repeat of two, and is 0 there."""
    suite = suite_of(metrics={"exact_match": {}, "contains": {}}, score=("exact_match", "contains"))
    rounds = cut_into_rounds(items_of({STRATA[0]: 40}), suite, Stop(first=40, most=40))
    scores = of_two(rounds, lambda _: (None, 0.0))
    (found,) = compute_sequences(rounds, scores, suite, ["m"], 0.05)
    assert found.looks == follow([0.5] * 40, alpha=0.05, looks=[40])


def test_metrics_that_apply_to_unlike_questions_weigh_equally_as_in_the_score() -> None:
    """Right by the first metric everywhere, by the second on none of the 40 of 400 to which it applies: 50 %."""
    suite = suite_of(metrics={"exact_match": {}, "contains": {}}, score=("exact_match", "contains"))
    rounds = cut_into_rounds(items_of({STRATA[0]: 400}), suite, Stop(first=400, most=400))
    scores = of_two(rounds, lambda n: (None, None) if n % 10 else (0.0, 0.0))
    (found,) = compute_sequences(rounds, scores, suite, ["m"], 0.05)
    each = [follow([value] * n, alpha=0.025, looks=[n])[0] for value, n in ((1.0, 400), (0.0, 40))]
    assert (found.looks[0].n, found.looks[0].mean) == (400, 0.5)
    assert found.looks[0].low == sum(look.low for look in each) / 2
    assert found.looks[0].high == sum(look.high for look in each) / 2
    final = finalise(summarise(scores, rounds[0]), models=["m"], suites=[suite], stopping=[found])
    model = entry(final.models[0])
    assert (model.score, model.outcome) == (0.5, "fail")


def test_a_race_asks_on_the_models_that_are_not_told_apart() -> None:
    suite = suite_of(stop={"when": "ranked", "most": 200})
    rounds = cut_into_rounds(items_of({STRATA[0]: 200}), suite, Stop(first=30, most=200))[:4]
    answers = {"best": right(rounds), "twin": right(rounds), "worst": right(rounds, 0)}
    found = compute_sequences(rounds, scores_of(answers), suite, list(answers), 0.01)
    pairs = {(one.model, one.against): one for one in found if one.against}
    assert set(pairs) == {("best", "twin"), ("best", "worst"), ("twin", "worst")}
    assert pairs["best", "worst"].side == "above"
    assert pairs["best", "twin"].decided is None
    assert list_undecided(found, suite, list(answers)) == ["best", "twin"]
    assert sequences(suite, 3) == 6


def test_the_verdict_is_the_sequences_whatever_the_gate_says() -> None:
    suite = suite_of()
    rounds = cut_into_rounds(items_of({STRATA[0]: 60}), suite, Stop(first=30, most=60))
    scores = scores_of({"good": right(rounds), "near": right(rounds, 5, 6), "bad": right(rounds, 1, 2)})
    items = pl.concat(rounds)
    found = compute_sequences(rounds, scores, suite, ["good", "near", "bad"], 0.05)
    summary = with_sequence_intervals(summarise(scores, items), found, [suite])
    final = finalise(summary, models=["good", "near", "bad"], suites=[suite], gate="point", stopping=found)
    assert [model.verdict for model in final.models] == ["pass", "undecided", "fail"]
    near = entry(final.models[1]).suites[0]
    assert near.reason == "undecided after 60 of at most 1000 questions"
    assert near.interval.method == "sequence"
    assert (near.interval.low, near.interval.high) == (found[1].looks[-1].low, found[1].looks[-1].high)


def test_no_interval_that_holds_once_is_shown_where_looks_were_taken() -> None:
    suite = suite_of()
    rounds = cut_into_rounds(items_of({STRATA[0]: 20, STRATA[1]: 20}), suite, Stop(first=40, most=40))
    scores = scores_of({"m": right(rounds, 3, 4)})
    found = compute_sequences(rounds, scores, suite, ["m"], 0.05)
    plain = summarise(scores, pl.concat(rounds))
    shown = with_sequence_intervals(plain, found, [suite])
    SUMMARY.check(shown)
    whole = pl.col("family").eq("") & pl.col("level").eq("")
    assert shown.filter(~whole)["ci_low"].null_count() == shown.filter(~whole).height > 0
    assert shown.filter(whole & (pl.col("language") == ""))["ci_low"].to_list() == [found[0].looks[-1].low]
    assert with_sequence_intervals(plain, (), [suite.model_copy(update={"stop": None})]).equals(plain)
    total = suite_of(total=True)
    assert with_sequence_intervals(plain, found, [total])["ci_low"].null_count() == plain.height, (
        "not a TOTAL's row"
    )


def test_no_test_that_holds_once_is_made_where_looks_were_taken_nor_an_overall_one_without_them() -> None:
    """Of suites s, t and u, s is looked at in between: t and u are compared; their mean is no overall score."""
    rounds = items_of({STRATA[0]: 40})
    parts = [(name, rounds.with_columns(pl.format(f"{name}{{}}", "item_id").alias("item_id"), suite=pl.lit(name)))
             for name in "stu"]  # fmt: skip
    items = pl.concat([part for _, part in parts])
    scores = scores_of({"a": right([items]), "b": right([items], 1, 2)})
    stopping, plain = suite_of(), suite_of(stop=None)
    suites = [stopping, *(plain.model_copy(update={"name": name}) for name in "tu")]

    def compared(suites: Sequence[Suite]) -> list[tuple[str, str]]:
        rows = items.filter(pl.col("suite").is_in([suite.name for suite in suites]))
        own = scores.join(rows, on="item_id", how="semi")
        return [(pair.scope, pair.suite) for pair in compare(own, rows, suites)]

    assert compared(suites) == [("metric", "t"), ("metric", "u")]
    assert compared(suites[1:]) == [("metric", "t"), ("metric", "u"), ("overall", "")]
    assert compared(suites[:1]) == []


def test_a_judged_suite_stops_only_where_the_judges_errors_leave_the_verdict() -> None:
    """96 % said right, threshold 0.8: decided as said; of a judge that lets half of the wrong pass, not so soon."""
    suite = suite_of(stop={"first": 30, "most": 400}, threshold=0.8)
    assert suite.stop
    rounds = cut_into_rounds(items_of({("", "", "en"): 400}), suite, suite.stop)
    scores = scores_of({"m": right(rounds, 24, 25)})
    exams = {
        "none": None,
        "good": ExamTable((1.0, 0.0), (1.0, 0.0), ((500, 0), (0, 500))),
        "lenient": ExamTable((1.0, 0.0), (1.0, 0.0), ((500, 0), (430, 70))),
    }
    found = {
        name: compute_sequences(rounds, scores, suite, ["m"], 0.05, exams={suite.headline: exam} if exam else {})[0]
        for name, exam in exams.items()
    }
    assert found["none"].corrected is None
    assert found["none"].side == found["good"].side == "above"
    assert found["none"].decided is not None
    assert found["good"].decided is not None
    assert found["none"].decided <= found["good"].decided
    assert (found["lenient"].side, found["lenient"].decided) == ("", None)
    assert all(against(one, 0.8) == one for one in found.values())
    assert list_undecided([found["lenient"]], suite, ["m"]) == ["m"]
    final = finalise(
        summarise(scores, pl.concat(rounds)), models=["m"], suites=[suite], stopping=[found["lenient"]]
    )
    (result,) = entry(final.models[0]).suites
    assert result.outcome == "undecided"
    assert "with the errors that its exam showed of the judge, the mean lies between" in result.reason
