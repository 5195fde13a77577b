"""A run against a baseline: what differs is named or refused, values pair by question, nothing missing holds."""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from basic_control.data.errors import InputError
from basic_control.data.questions import identify_question
from basic_control.data.records import Item
from basic_control.data.suites import Suite
from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.baseline import (
    BaselineComparison,
    ComparedSide,
    compare_with_baseline,
)
from basic_control.metrics.analysis.observations import values_of
from basic_control.metrics.analysis.pairs import compare
from basic_control.metrics.analysis.provenance import (
    Provenance,
    SuiteRules,
    differences,
    has_same_rules,
    list_missing,
    one_line,
    refuse,
)


def items(n: int, suite: str = "s", answer: str = "yes", first: int = 0) -> pl.DataFrame:
    """Items whose ids are of this table alone, so that only their questions can pair them."""
    rows = []
    for number in range(first, n):
        item = Item("", answer, {"question": f"Question {number}?"})
        base = {"suite": suite, "family": "", "level": "", "language": "en", "template": "", "answer": answer}
        named = identify_question(item)._asdict()
        rows.append({**base, **named, "item_id": f"{answer}{number}", "prompt": f"Question {number}?"})
    return ITEMS.frame(rows)


def scores(
    values: Sequence[float | None],
    *,
    model: str = "a",
    metric: str = "m",
    cut: tuple[int, ...] = (),
    answer: str = "yes",
    first: int = 0,
) -> pl.DataFrame:
    return SCORES.frame(
        {
            "item_id": f"{answer}{first + i}",
            "model": model,
            "repeat": 0,
            "metric": metric,
            "version": 1,
            "value": value,
            "status": "truncated" if i in cut else "model_error" if value is None else "scored",
        }
        for i, value in enumerate(values)
    )


def provenance(*suites: str, score: Sequence[str] = ("m",), **rules: Any) -> Provenance:
    return Provenance({one: SuiteRules(tuple(score), rules) for one in suites or ("s",)})


def side(values: pl.DataFrame, asked: pl.DataFrame, known: Provenance) -> ComparedSide:
    """Every reply is the same."""
    replies = values.select("item_id", "model", "repeat", reply=pl.lit("r")).unique()
    return ComparedSide("main", asked, values, replies, known)


def against(
    run: pl.DataFrame,
    baseline: pl.DataFrame,
    *,
    asked: pl.DataFrame | None = None,
    pinned: pl.DataFrame | None = None,
    before: Provenance | None = None,
    after: Provenance | None = None,
    **more: Any,
) -> BaselineComparison:
    before, after = before or provenance(), after or provenance()
    return compare_with_baseline(
        side(baseline.with_columns(suite=pl.lit("s")), items(200) if pinned is None else pinned, before),
        side(run.with_columns(suite=pl.lit("s")), items(200) if asked is None else asked, after),
        max_drop=more.pop("max_drop", 0.0),
        **more,
    )


def test_only_questions_of_both_count_and_the_rest_is_counted() -> None:
    found = against(scores([0.0] * 6 + [1.0] * 91 + [None]), scores([1.0] * 100))
    (suite,) = found.headlines
    assert (suite.pair.n, suite.pair.n_left_out, suite.pair.only_b, suite.decision.outcome) == (
        97,
        1,
        6,
        "regressed",
    )
    moved = suite.moved
    assert (moved.n_before, moved.n_after, moved.n_common, moved.only_before.n) == (100, 98, 98, 2)
    first, *_ = found.changed
    assert (first.item_id, first.before, first.after, first.prompt) == ("yes0", 1, 0, "Question 0?")


@pytest.mark.parametrize(("asked", "outcome"), [(95, "held"), (94, "undecided"), (66, "undecided"), (0, None)])
def test_nothing_is_held_over_less_than_95_percent_of_the_questions(asked: int, outcome: str | None) -> None:
    """All that is asked is as it was, and half of the rest would not be."""
    run = pl.concat([scores([1.0] * asked), scores([1.0] * 40, answer="other", first=200)])
    moved = pl.concat([items(asked), items(240, answer="other", first=200)])
    (suite,) = against(run, scores([1.0] * 100), asked=moved).headlines
    assert suite.decision.outcome == (outcome or "undecided")
    assert suite.few == (outcome != "held")
    (allowed,) = against(run, scores([1.0] * 100), asked=moved, allow_different=True).headlines
    assert allowed.few == (outcome != "held"), "and it is named"
    assert allowed.decision.outcome == ("held" if asked else "undecided")


def test_what_is_worse_on_the_questions_in_common_stays_regressed() -> None:
    (suite,) = against(scores([0.0] * 50), scores([1.0] * 100)).headlines
    assert (suite.few, suite.decision.outcome) == (True, "regressed")


def test_a_corrected_answer_keeps_its_pair_and_is_named() -> None:
    found = against(scores([1.0] * 10, answer="no"), scores([1.0] * 10), asked=items(10, answer="no"))
    (suite,) = found.headlines
    assert (suite.pair.n, suite.decision.outcome, suite.moved.relabelled.n) == (10, "held", 10)
    assert (suite.moved.relabelled.first[0].before, suite.moved.relabelled.first[0].after) == ("yes", "no")


def test_rows_that_ask_the_same_are_one_unit() -> None:
    """Five questions in ten rows each: lost all, p is 1/32 and not 2 to the power of -50."""
    ids = [f"yes{n}" for n in range(50)]
    same = (
        pl.concat([items(5).select(pl.exclude("item_id"))] * 10)
        .with_columns(item_id=pl.Series(ids))
        .select([*ITEMS.columns])
    )
    (suite,) = against(scores([0.0] * 50), scores([1.0] * 50), asked=same, pinned=same).headlines
    assert (suite.pair.n, suite.decision.p_regressed) == (5, 1 / 32)
    assert suite.moved.n_common == 5


def test_a_suite_a_metric_and_a_model_that_are_missing_are_regressed_unless_allowed() -> None:
    two = pl.concat([scores([1.0] * 10), scores([1.0] * 10, model="b")])
    before = Provenance({"s": SuiteRules(("m", "k")), "rag": SuiteRules(("m",))})
    found = against(scores([1.0] * 10), two, before=before)
    assert found.missing == ("suite rag", "metric k of suite s", "model b")
    assert found.outcomes == ("regressed", "held")
    allowed = against(scores([1.0] * 10), two, before=before, allow_different=True)
    assert (allowed.missing, allowed.outcomes) == (found.missing, ("held",))


def test_a_suite_that_a_model_takes_no_part_in_any_more_is_missing() -> None:
    both = provenance("s", "t")
    pinned = pl.concat([items(10), items(10, "t", "t")])
    before = pl.concat(
        [
            scores([1.0] * 10).with_columns(suite=pl.lit("s")),
            scores([1.0] * 10, answer="t").with_columns(suite=pl.lit("t")),
        ]
    )
    found = compare_with_baseline(
        side(before, pinned, both),
        side(scores([1.0] * 10).with_columns(suite=pl.lit("s")), pinned, both),
        max_drop=0.0,
    )
    assert found.missing == ("suite t of model a",)
    assert "regressed" in found.outcomes


def test_a_metric_that_applies_to_no_row_any_more_is_missing() -> None:
    pinned = pl.concat([scores([1.0] * 10), scores([1.0] * 10, metric="k")])
    applied = pl.col("metric") == "m"
    status = pl.when(applied).then("status").otherwise(pl.lit("not_applicable"))
    run = pinned.with_columns(status=status, value=pl.when(applied).then("value"))
    apart = {name: {name: 1.0} for name in ("m", "k")}
    rules = Provenance({"s": SuiteRules(("m", "k"), headlines=apart)})
    found = against(run, pinned, before=rules, after=rules)
    assert found.missing == ("metric k of suite s of model a",)
    assert found.outcomes == ("regressed", "held")
    assert against(pinned, run, before=rules, after=rules).missing == ()


def test_models_are_matched_by_name_or_the_only_one_with_the_only_one() -> None:
    other = against(scores([1.0], model="b"), scores([1.0]))
    assert other.headlines[0].pair.model_b == "a"
    assert [str(one) for one in other.differences] == ["model: b, in the baseline a"]
    two = pl.concat([scores([1.0], model="b"), scores([1.0], model="c")])
    with pytest.raises(InputError, match="it has the models a, the run has b, c: none in common"):
        against(two, scores([1.0]))


def test_a_regression_that_hangs_on_cut_replies_is_undecided() -> None:
    run = scores([0.0] * 6 + [1.0] * 6, cut=(0, 1, 2))
    (suite,) = against(run, scores([1.0] * 12)).headlines
    assert (suite.decision.outcome, suite.decision.hangs) == ("undecided", True)
    assert (suite.pair.missing.low, suite.pair.difference, suite.pair.missing.high) == pytest.approx(
        (-0.5, -0.5, -0.25)
    )


def test_wrong_replies_that_turned_into_failed_calls_do_not_hold() -> None:
    """40 of 200 lost, but as failed calls: over what is scored all are equal, at worst it regressed."""
    found = against(scores([None] * 40 + [1.0] * 160), scores([1.0] * 200), max_drop=0.02)
    (suite,) = found.headlines
    assert (suite.pair.difference, suite.pair.n_left_out) == (0.0, 40)
    assert (suite.pair.missing.low, suite.pair.missing.high) == pytest.approx((-0.2, 0.0))
    assert (suite.decision.outcome, suite.decision.hangs) == ("undecided", True)


def test_what_a_provider_refuses_both_times_is_equal() -> None:
    def refused() -> pl.DataFrame:
        return scores([None] * 40 + [1.0] * 160).with_columns(reason=pl.lit("refused"))

    (suite,) = against(refused(), refused(), max_drop=0.02).headlines
    assert (suite.decision.outcome, suite.pair.missing.low, suite.pair.missing.high) == ("held", 0.0, 0.0)
    assert suite.pair.missing.n_alike == 40


@pytest.mark.parametrize("reason", ["server", "rate_limit", "HTTP 503 Service Unavailable", "Request timed out."])
def test_a_cause_that_passes_is_not_the_questions_and_not_equal(reason: str) -> None:
    """SPEC 10: equal where the question is the cause, as a prompt too long; a server's failure twice is not."""

    def failed() -> pl.DataFrame:
        return scores([None] * 40 + [1.0] * 160).with_columns(reason=pl.lit(reason))

    (suite,) = against(failed(), failed(), max_drop=0.02).headlines
    assert (suite.decision.outcome, suite.pair.missing.low, suite.pair.missing.high) == ("undecided", -0.2, 0.2)
    assert suite.pair.missing.n_alike == 0


def test_holm_covers_the_headlines_of_all_models() -> None:
    """6 of 300 lost, none won: p = 1/64 is below 0.05, and above 0.05 / 4 where four models are compared."""
    losing, equal = [0.0] * 6 + [1.0] * 294, [1.0] * 300

    def decide(n_models: int) -> str:
        models = [f"m{number}" for number in range(n_models)]
        before = pl.concat(scores(equal, model=model) for model in models)
        run = pl.concat(scores(losing if model == "m0" else equal, model=model) for model in models)
        found = against(run, before, asked=items(300), pinned=items(300))
        return found.headlines[0].decision.outcome

    assert [decide(n_models) for n_models in (1, 3, 4)] == ["regressed", "regressed", "undecided"]


def test_the_shown_interval_is_that_of_a_comparison_of_the_same_two() -> None:
    """23 points are lost and none won: `compare` and the gate give one interval at one level (SPEC 10)."""
    run, before = scores([0.0] * 23 + [1.0] * 177), scores([1.0] * 200)
    (suite,) = against(run, before, max_drop=0.02).headlines
    (pair,) = compare(pl.concat([run.with_columns(model=pl.lit("b")), before]), items(200), order=["a", "b"])
    assert (suite.pair.difference, suite.pair.test) == (pair.difference, pair.test)
    assert suite.pair.test.level == 0.05
    high, bound = suite.pair.test.interval.high, suite.decision.upper
    assert high is not None
    assert bound is not None
    assert bound < high, "the one-sided bound is the nearer one"


TWO = Suite(
    name="s", items={"data": "x.jsonl"}, prompt="{{ question }}", metrics={"m": {}, "k": {}}, score=("m", "k")
)


def asked_twice(first: Sequence[float | None], second: Sequence[float | None], metric: str = "m") -> pl.DataFrame:
    both = scores(first, metric=metric), scores(second, metric=metric)
    return pl.concat(frame.with_columns(repeat=pl.lit(n, frame["repeat"].dtype)) for n, frame in enumerate(both))


def test_repeats_of_an_item_are_one_unit() -> None:
    """6 items lost twice are 6 units, and p is 1/64."""
    (suite,) = against(asked_twice([0.0] * 6, [0.0] * 6), asked_twice([1.0] * 6, [1.0] * 6)).headlines
    assert (suite.decision.test, suite.pair.n, suite.decision.p_regressed, suite.decision.outcome) == (
        "binomial",
        6,
        1 / 64,
        "regressed",
    )


def test_a_baseline_and_a_comparison_agree_where_a_repeat_lacks_a_metric() -> None:
    """A question's value is the mean of its metrics' means over their scored repeats, for both (SPEC 9, 10)."""
    run = pl.concat([asked_twice([1.0] * 4, [0.0] * 4), asked_twice([1.0] * 4, [None] * 4, "k")])
    before = pl.concat([asked_twice([1.0] * 4, [1.0] * 4), asked_twice([1.0] * 4, [1.0] * 4, "k")])
    rules = provenance(score=("m", "k"))
    (suite,) = against(run, before, before=rules, after=rules).headlines
    both = pl.concat([run.with_columns(model=pl.lit("b")), before])
    (pair,) = [one for one in compare(both, items(4), [TWO]) if one.scope == "suite"]
    assert suite.pair.difference == -0.25
    assert pair.difference == 0.25, "model a, the baseline here, minus b"


def test_a_metric_that_applies_to_few_questions_weighs_as_much_as_in_the_score() -> None:
    """The second metric applies to 6 of 800 questions, and is lost there: the score fell from 100 to 50 %."""
    run, before = (pl.concat([scores([1.0] * 800), scores([k] * 6, metric="k")]) for k in (0.0, 1.0))
    rules, asked = provenance(score=("m", "k")), items(800)
    found = against(run, before, before=rules, after=rules, asked=asked, pinned=asked, max_drop=0.02)
    (suite,) = found.headlines
    assert (suite.pair.mean_a, suite.pair.mean_b) == (pytest.approx(0.5), 1.0)
    assert (suite.pair.difference, suite.decision.p_regressed) == (
        pytest.approx(-0.5),
        pytest.approx(1 / 64, abs=0.005),
    )
    assert suite.decision.outcome == "regressed"
    both = pl.concat([run.with_columns(model=pl.lit("b")), before])
    (pair,) = [one for one in compare(both, asked, [TWO]) if one.scope == "suite"]
    assert (pair.mean_a, pair.mean_b) == (1.0, pytest.approx(0.5))


def test_a_value_of_several_metrics_is_their_mean_and_null_where_one_failed() -> None:
    both = pl.concat([scores([1.0, None, 0.5]), scores([0.5, 1.0, 1.0], metric="n")])
    found = values_of(both, ["m", "n"]).sort("item_id")
    assert found["value"].to_list() == [0.75, None, 0.75]
    gone = both.with_columns(
        status=pl.when(pl.col("value").is_null()).then(pl.lit("not_applicable")).otherwise("status")
    )
    assert values_of(gone, ["m", "n"]).sort("item_id")["value"].to_list() == [0.75, 1.0, 0.75]


BEFORE = {
    "threshold": 0.8,
    "metrics.contains.mode": "all",
    "judges.contains.gpt": {"model": "gpt", "temperature": 0.1},
    "judge_prompts.contains.rubric/rate in en": "1",
}


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("metrics.contains.mode", "any", "contains.mode of suite s: any, in the baseline all"),
        ("threshold", 0.6, "threshold of suite s: 0.6, in the baseline 0.8"),
        (
            "judges.contains.gpt",
            {"model": "gpt-2"},
            "judges.contains.gpt of suite s: model gpt-2, in the baseline model gpt",
        ),
        (
            "judges.contains.other",
            {"model": "o"},
            "judges.contains.other of suite s: model o, in the baseline none",
        ),
        ("judge_prompts.contains.rubric/rate in en", "2", "rubric/rate in en of suite s: 2, in the baseline 1"),
    ],
)
def test_other_rules_are_refused_unless_allowed(path: str, value: Any, message: str) -> None:
    before = provenance(score=("contains",), **BEFORE)
    found = differences(before, provenance(score=("contains",), **{**BEFORE, path: value}))
    with pytest.raises(InputError, match=r"--allow-different") as raised:
        refuse("main", found, allow_different=False)
    assert message in str(raised.value)
    refuse("main", found, allow_different=True)


def test_long_criteria_are_shown_from_where_they_part() -> None:
    text = "Polite, correct, and says what happens next, in no more than three sentences of plain English, "
    before, after = (
        provenance(**{"metrics.m.criteria": f"{text}{end}"}) for end in ("with a greeting.", "without one.")
    )
    (found,) = differences(before, after)
    assert "with a greeting" in found.baseline
    assert "without one" in found.run


def under_test(**changes: Any) -> Provenance:
    known: dict[str, Any] = {
        "model a": {"digest": "1"},
        "parameters of a": {"temperature": 0},
        "prompt of suite s": {"text": "1"},
    }
    return Provenance(
        {"s": SuiteRules(("m",))}, units={"m": {"version": 1, "source": "x"}}, tested={**known, **changes}
    )


def test_another_model_prompt_or_parameter_is_named_and_refused_by_nobody() -> None:
    after = under_test(
        **{"model a": {"digest": "2"}, "parameters of a": {"temperature": 1}, "prompt of suite s": {"text": "2"}}
    )
    found = differences(under_test(), after)
    assert {one.what for one in found} == {"model a", "temperature of a", "prompt of suite s"}
    refuse("main", found, allow_different=False)


def test_each_parameter_that_differs_is_named_also_of_a_model_with_another_name() -> None:
    before, after = (
        Provenance({"s": SuiteRules(("m",))}, tested={f"parameters of {name}": parameters})
        for name, parameters in (
            ("a", {"temperature": 0.7, "max_tokens": 50, "seed": 0, "system": "You are the help desk."}),
            ("b", {"temperature": 0, "max_tokens": 512, "seed": 0}),
        )
    )
    assert [str(difference) for difference in differences(before, after, models=[("b", "a")])] == [
        "temperature of b: 0, in the baseline 0.7",
        "max_tokens of b: 512, in the baseline 50",
        "system of b: none, in the baseline You are the help desk.",
    ]
    assert not differences(before, after)


def test_an_upgrade_refuses_nothing_and_is_named() -> None:
    for unit, what in (
        ({"version": 2, "source": "y"}, "version of m"),
        ({"version": 1, "source": "y"}, "source of m"),
    ):
        found = differences(
            under_test(), Provenance(under_test().suites, units={"m": unit}, tested=under_test().tested)
        )
        assert [one.what for one in found] == [what]
        refuse("main", found, allow_different=False)
    assert (
        differences(
            under_test(), Provenance(under_test().suites, units={"m": {"version": 1}}, tested=under_test().tested)
        )
        == []
    )


def test_an_option_that_is_newer_or_gone_refuses_nothing_unless_it_is_set() -> None:
    """The baseline knows `old` and not `case`, whose default is false."""
    rules: dict[str, Any] = {"metrics.m.old": 1, "metrics.m.mode": "all", "strata": ""}
    before = Provenance({"s": SuiteRules(("m",), rules)})
    now = {"metrics.m.case": False, "metrics.m.mode": "all", "strata": "", "newer": 1}
    for case, refused in ((False, []), (True, ["m.case of suite s: True, in the baseline False"])):
        own = SuiteRules(("m",), {**now, "metrics.m.case": case}, {"metrics.m.case": False})
        after = Provenance({"s": own})
        assert [str(one) for one in differences(before, after)] == refused
        assert has_same_rules(before, after, "s", "m") == (not refused)


def test_what_the_run_has_in_addition_is_named() -> None:
    after = Provenance({"s": SuiteRules(("m", "k")), "t": SuiteRules(("m",))})
    found = differences(provenance(), after)
    assert [str(one) for one in found] == [
        "metric k of suite s: in its score, in the baseline none",
        "suite t: evaluated, in the baseline none",
    ]
    assert list_missing(provenance(), after) == []


def test_weights_and_the_whole_threshold_count_where_there_are_several_suites() -> None:
    def weighing(weight: float, threshold: float, *suites: str) -> Provenance:
        return Provenance({one: SuiteRules(("m",), {"weight": weight}) for one in suites}, {"threshold": threshold})

    assert differences(weighing(0.2, 0.8, "s"), weighing(1.0, 0.5, "s")) == []
    found = differences(weighing(0.2, 0.8, "s", "t"), weighing(1.0, 0.5, "s", "t"))
    assert {one.what for one in found} == {"threshold", "weight of suite s", "weight of suite t"}


def test_a_digest_is_told_by_its_first_digits() -> None:
    assert one_line({"source": "0a" * 32, "version": 2}) == "source 0a0a0a0a0a0a, version 2"
    assert one_line("a plain text") == "a plain text"
