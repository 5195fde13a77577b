"""Suites that ask the same questions: the question is the unit of their overall score and of its comparison."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest

from basic_control.data.suites import Suite
from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.headlines import Headline, ModelResult
from basic_control.metrics.analysis.observations import Observations
from basic_control.metrics.analysis.overlaps import list_overlaps
from basic_control.metrics.analysis.pairs import Comparison, compare
from basic_control.metrics.analysis.results import Participants, SuiteFindings, model_results
from basic_control.metrics.analysis.scores import Circumstances, suite_headlines
from basic_control.metrics.analysis.summary import summarise
from basic_control.metrics.stats.intervals import wilson

Values = Sequence[float]
RNG = np.random.default_rng(11)
HALF = [1.0] * 20 + [0.0] * 20


def suite(name: str, weight: float = 0.5) -> Suite:
    return Suite(name=name, items={"data": "x"}, metrics={"exact_match": {}}, weight=weight)


def tables(
    replies: Mapping[str, Mapping[str, Values]], questions: Mapping[str, Sequence[str]], n_templates: int = 0
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the scores and items of suites: a value for each question, by suite and model."""
    items, scores = [], []
    for name, texts in questions.items():
        for row, text in enumerate(texts):
            template = f"t{int(text[1:]) % n_templates}" if n_templates else ""
            columns = {"family": "f", "level": "easy", "language": "en", "template": template}
            items.append({"item_id": f"{name} {row}", "suite": name, "text_digest": text, **columns})
            for model, values in replies[name].items():
                entry = {"item_id": f"{name} {row}", "model": model, "repeat": 0, "metric": "exact_match"}
                scores.append({**entry, "version": 1, "value": values[row], "status": "scored"})
    return SCORES.frame(scores), ITEMS.frame(items)


def result(scores: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite]) -> ModelResult:
    """Return what a run makes of its only model."""
    once, summary, facts = Observations(scores, items), summarise(scores, items), Circumstances()
    findings = [
        SuiteFindings(suite_headlines(each_suite, ["m"], once, summary, facts), facts) for each_suite in suites
    ]
    members = {"m": [each_suite.name for each_suite in suites]}
    (model,) = model_results(findings, Participants(suites, members), list_overlaps(once, suites))
    return model


def numbers(n: int, start: int = 0) -> list[str]:
    return [f"q{number}" for number in range(start, start + n)]


def ends(headline: Headline) -> list[float | None]:
    interval = headline.measured.score.interval
    return [interval.low, interval.high]


@pytest.mark.parametrize("right", [0, 1, 20, 39, 40])
@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.3, 0.1)])
@pytest.mark.parametrize("n_suites", [2, 3])
def test_suites_of_the_same_replies_have_the_interval_of_one(
    right: int, weights: tuple[float, float], n_suites: int
) -> None:
    replies = {"m": [1.0] * right + [0.0] * (40 - right)}
    suites = [suite(name, weights[name == "a"]) for name in "abc"[:n_suites]]
    model = result(*tables(dict.fromkeys("abc", replies), dict.fromkeys("abc"[:n_suites], numbers(40))), suites)
    expected = wilson(right, 40)
    assert ends(model.overall) == pytest.approx([expected.low, expected.high], abs=1e-9)
    assert model.overall.measured.score.interval.units == 40


def test_suites_of_the_same_replies_in_templates_have_the_interval_of_one() -> None:
    replies = {"m": [float(number % 12 < 7) for number in range(60)]}
    table = tables(dict.fromkeys("ab", replies), dict.fromkeys("ab", numbers(60)), n_templates=12)
    model = result(*table, [suite("a"), suite("b")])
    assert ends(model.overall) == pytest.approx(ends(model.headlines[0]), abs=1e-9)
    assert model.overall.measured.score.interval.units == 12


def test_suites_without_a_common_question_stay_independent() -> None:
    replies = {"m": HALF}
    apart = result(
        *tables(dict.fromkeys("ab", replies), {"a": numbers(40), "b": numbers(40, 40)}),
        [suite("a"), suite("b")],
    )
    low, high = ends(apart.overall)
    assert apart.overlaps == ()
    assert (low, high) == pytest.approx((0.393, 0.607), abs=0.003)
    # One question in common changes next to nothing, twenty half of what forty do.
    widths = []
    for n_common in (1, 20, 40):
        # Odd questions are right, in whichever suite they are.
        questions = {"a": numbers(40), "b": [*reversed(numbers(n_common)), *numbers(40 - n_common, 40)]}
        mixed = {"a": {"m": [float(number % 2) for number in range(40)]}}
        mixed["b"] = {"m": [float(int(text[1:]) % 2) for text in questions["b"]]}
        model = result(*tables(mixed, questions), [suite("a"), suite("b")])
        first, last = ends(model.overall)
        widths.append(((last or 0) - (first or 0)) ** 2)
        assert model.overall.measured.score.interval.units == 80 - n_common
    assert widths[0] == pytest.approx(((high or 0) - (low or 0)) ** 2, rel=0.06)
    assert widths[0] < widths[1] < widths[2]


@pytest.mark.parametrize(("likeness", "n_right_twice"), [(0, 36), (1 / 4, 42), (2 / 3, 52), (1, 60)])
def test_the_overall_interval_is_that_of_as_many_replies_as_are_unlike(likeness: float, n_right_twice: int) -> None:
    """Two readings of 100 replies, 60 right in each, whose correlation is exactly that."""
    n_right_once = 60 - n_right_twice
    first = [1.0] * 60 + [0.0] * 40
    second = [1.0] * n_right_twice + [0.0] * n_right_once + [1.0] * n_right_once + [0.0] * (40 - n_right_once)
    values = {"a": {"m": first}, "b": {"m": second}}
    model = result(*tables(values, dict.fromkeys("ab", numbers(100))), [suite("a"), suite("b")])
    n_unlike = round(200 / (1 + likeness))
    expected = wilson(n_unlike * 3 // 5, n_unlike)
    assert ends(model.overall) == pytest.approx([expected.low, expected.high], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("likeness", [0.0, 0.5, 0.9, 1.0])
def test_the_overall_interval_covers_whatever_the_replies_have_in_common(likeness: float) -> None:
    """Two readings of 60 replies, alike in that share of them: 93 % or more of 400 intervals hold the mean."""
    covered = 0
    for _ in range(400):
        first = RNG.random(60) < 0.6
        second = np.where(RNG.random(60) < likeness, first, RNG.random(60) < 0.6)
        values = {"a": {"m": first.astype(float).tolist()}, "b": {"m": second.astype(float).tolist()}}
        model = result(*tables(values, dict.fromkeys("ab", numbers(60))), [suite("a"), suite("b")])
        low, high = ends(model.overall)
        covered += (low or 0) <= 0.6 <= (high or 0)
    assert 0.925 <= covered / 400 <= 0.985


def overall_of(scores: pl.DataFrame, items: pl.DataFrame, suites: Sequence[Suite]) -> Comparison:
    return next(pair for pair in compare(scores, items, suites) if pair.scope == "overall")


@pytest.mark.parametrize("n_templates", [0, 12])
def test_the_same_replies_twice_are_compared_as_once(n_templates: int) -> None:
    """Six questions lost and none won of 40: 2 / 64 as for one suite, and not 2 / 4096."""
    replies = {"m": HALF, "n": [*HALF[:14], *[0.0] * 26]}
    single = compare(*tables({"a": replies}, {"a": numbers(40)}, n_templates), [suite("a")])[0]
    table = tables(dict.fromkeys("ab", replies), dict.fromkeys("ab", numbers(40)), n_templates)
    joint = overall_of(*table, [suite("a", 0.3), suite("b", 0.2)])
    assert (joint.n, joint.only_a, joint.only_b) == (single.n, single.only_a, single.only_b)
    assert joint.difference == pytest.approx(single.difference)
    assert joint.test.p_value == pytest.approx(single.test.p_value)
    assert (joint.test.method, joint.n_units) == (single.test.method, single.n_units)


def test_items_that_do_not_say_what_they_ask_are_questions_each() -> None:
    replies = {"m": [1.0] * 10, "n": [0.0] * 10}
    scores, items = tables(dict.fromkeys("ab", replies), dict.fromkeys("ab", numbers(10)))
    for digest in ("", None):
        blank = items.with_columns(text_digest=pl.lit(digest, pl.String))
        assert overall_of(scores, blank, [suite("a"), suite("b")]).n == 20
        assert list_overlaps(Observations(scores, blank), [suite("a"), suite("b")]) == {}


def test_a_question_of_two_suites_counts_once_and_by_both_weights() -> None:
    """Of ten questions in a and ten in b five are common: fifteen, and the difference is that of the suites."""
    replies = {"a": {"m": [1.0] * 10, "n": [0.0] * 10}, "b": {"m": [0.0] * 10, "n": [0.0] * 5 + [1.0] * 5}}
    joint = overall_of(
        *tables(replies, {"a": numbers(10), "b": numbers(10, 5)}), [suite("a", 0.6), suite("b", 0.2)]
    )
    assert joint.n == 15
    assert joint.difference == pytest.approx(0.75 * 1.0 + 0.25 * -0.5)


def test_rows_that_say_nothing_of_their_question_are_questions_of_their_own() -> None:
    questions = {"a": [""] * 40, "b": [""] * 40}
    scores, items = tables({name: {"m": HALF} for name in questions}, questions)
    suites = [suite(name) for name in questions]
    assert not list_overlaps(Observations(scores, items), suites)
    assert ends(result(scores, items, suites).overall) == pytest.approx((0.393, 0.607), abs=0.003)
