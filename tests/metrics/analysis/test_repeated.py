"""Gates on k answers to each question: values, intervals, bounds and coverage, by hand."""

from typing import Any

import polars as pl
import pytest

from basic_control.data.suites import GateOn, Suite
from basic_control.data.tables import ITEMS, SCORES
from basic_control.metrics.analysis.policy import Gate
from basic_control.metrics.analysis.scores import count_answers
from basic_control.metrics.analysis.summary import summarise, summarise_repeated
from tests.helpers.suites import declared
from tests.helpers.verdicts import entry, finalise

KINDS = {"R": ("scored", 1.0), "W": ("scored", 0.0), "-": ("no_answer", None), "c": ("truncated", 0.0),
         "x": ("model_error", None), "n": ("not_applicable", None), "h": ("scored", 0.5)}  # fmt: skip
FOUR = ("RRR", "RWW", "WWW", "RRW")
"""Half of the twelve answers are right."""


def tables(
    answers: tuple[str, ...], *, suite: str = "cot", families: int = 1, templates: int = 0
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return items and scores of one model: a text a question, a character an answer (`KINDS`)."""
    metric = "correct" if suite == "basic_control" else suite
    items = [
        {"item_id": f"q{n}", "suite": suite, "family": f"f{n % families}", "level": "", "language": "en",
         "template": f"t{n % templates}" if templates else ""}
        for n in range(len(answers))
    ]  # fmt: skip
    scores = [
        {"item_id": f"q{n}", "model": "m", "repeat": repeat, "metric": metric, "version": 1,
         "value": KINDS[kind][1], "status": KINDS[kind][0]}
        for n, said in enumerate(answers)
        for repeat, kind in enumerate(said)
    ]  # fmt: skip
    return ITEMS.frame(items), SCORES.frame(scores)


def test_an_answer_is_right_where_every_metric_that_scores_it_says_so_and_is_cut_once() -> None:
    """`R` is right by the metric; `h`, `-`, `x`, `c` are not, and what is not applicable is no answer."""
    items, scores = tables(("RR", "Rh", "-x", "nc", "nR"))
    (suite,) = declared("cot")
    assert count_answers(scores, items, suite) == {"m": (10, 7, 4, 1, 1, 0, 0)}
    second = scores.with_columns(metric=pl.lit("second"), value=pl.when(pl.col("item_id") != "q0").then("value"))
    both = suite.model_copy(update={"metrics": {"cot": {}, "second": {}}, "score": ("cot", "second")})
    assert both.score_metrics == ("cot", "second")
    assert count_answers(pl.concat([scores, second]), items, both) == {"m": (10, 7, 2, 1, 1, 0, 0)}
    assert count_answers(scores, items.with_columns(suite=pl.lit("other")), suite) == {}


def suite_of(name: str, gate_on: GateOn, k: int, threshold: float) -> Suite:
    (suite,) = declared(name, thresholds={name: threshold})
    return suite.model_copy(update={"gate_on": gate_on, "k": k})


def gated(
    answers: tuple[str, ...],
    gate_on: GateOn,
    k: int,
    *,
    threshold: float = 0.7,
    gate: Gate = "point",
    name: str = "cot",
    families: int = 1,
    templates: int = 0,
) -> Any:
    items, scores = tables(answers, suite=name, families=families, templates=templates)
    suite, summary = suite_of(name, gate_on, k, threshold), summarise(scores, items)
    at_k = summarise_repeated(scores, items, suite, summary)
    (model,) = finalise(summary, models=["m"], suites=[suite], repeated=at_k, gate=gate).models
    return entry(model).suites[0]


@pytest.mark.parametrize(
    ("gate_on", "k", "score"),
    [
        ("pass_at_k", 3, 3 / 4),
        ("pass_all_k", 3, 1 / 4),
        ("pass_at_k", 2, (1 + 2 / 3 + 0 + 1) / 4),  # of RWW two of the three pairs hold the right one
        ("pass_all_k", 2, (1 + 0 + 0 + 1 / 3) / 4),
        ("pass_at_k", 1, 1 / 2),
        ("pass_all_k", 1, 1 / 2),
        ("mean", 3, 1 / 2),
    ],
)
def test_the_score_is_that_of_k_answers_and_the_mean_stands_beside_it(
    gate_on: GateOn, k: int, score: float
) -> None:
    found = gated(FOUR, gate_on, k)
    assert found.score == pytest.approx(score)
    assert found.outcome == ("pass" if score >= 0.7 else "fail")
    if gate_on == "mean":
        assert (found.gate_on, found.k, found.mean, found.n_asked) == ("mean", None, None, 12)
    else:
        assert (found.gate_on, found.k, found.n_asked, found.n_scored) == (gate_on, k, 4, 4)
        assert found.mean == pytest.approx(1 / 2)


def test_its_interval_is_wilsons_over_questions() -> None:
    """3 of 4 questions: (3 + z²/2) / (4 + z²) ± z / (4 + z²) sqrt(3/4 · 1/4 · 4 + z²/4) = 0.6275 ± 0.3269."""
    found = gated(FOUR, "pass_at_k", 3)
    assert (found.interval.low, found.interval.high) == pytest.approx((0.3006, 0.9544), abs=1e-4)


def test_the_gate_interval_goes_by_the_interval_over_questions() -> None:
    """Sixty answers are no sixty questions: 20 of 20 questions reach from 0.839 up, Wilson's n / (n + z²)."""
    answers = ("RWW",) * 20
    assert gated(answers, "pass_at_k", 3, threshold=0.83, gate="interval").outcome == "pass"
    assert gated(answers, "pass_at_k", 3, threshold=0.85, gate="interval").outcome == "undecided"
    assert gated(answers, "pass_all_k", 3, threshold=0.5, gate="interval").outcome == "fail"


def test_questions_of_one_template_are_one_unit() -> None:
    """Twenty questions in ten templates whose two ends are alike tell as much as ten, and less than twenty."""
    answers = ("RRR", "WWW", "RWW", "RRR", "WWW", "RRR", "WWW", "RRR", "WWW", "RWW") * 2
    apart = gated(answers, "pass_at_k", 3)
    together = gated(answers, "pass_at_k", 3, templates=10)
    assert apart.score == together.score == pytest.approx(0.6)
    widths = [(one.interval.high or 0) - (one.interval.low or 0) for one in (apart, together)]
    assert widths[1] > 1.3 * widths[0]


def test_a_total_is_the_mean_over_families_of_their_shares() -> None:
    """Family 0 has questions 0 and 2, family 1 the others: (1/2 + 2/2) / 2 at least once, (1/2 + 0) / 2 always."""
    assert gated(FOUR, "pass_at_k", 3, name="basic_control", families=2).score == pytest.approx(3 / 4)
    assert gated(FOUR, "pass_all_k", 3, name="basic_control", families=2).score == pytest.approx(1 / 4)
    uneven = gated(("RRR", "WWW", "RRR"), "pass_all_k", 3, name="basic_control", families=2)
    assert uneven.score == pytest.approx(0.5)
    assert dict(uneven.parts) == {"f0": 1.0, "f1": 0.0}


def test_cut_answers_bound_the_share_and_a_threshold_between_is_undecided() -> None:
    """Ten questions: cut answers decide one at `cWW`, none at `RcW` (pass@3) or at `cWR` (pass^3)."""
    answers = ("RRR",) * 7 + ("cWW", "RcW", "WWW")
    at_least = gated(answers, "pass_at_k", 3, threshold=0.85)
    assert (at_least.score, at_least.upper, at_least.n_truncated) == (0.8, 0.9, 2)
    assert (at_least.outcome, at_least.n_asked) == ("undecided", 10)
    assert "truncated replies (2): 80% if they are wrong, 90% if they are right" in at_least.reason
    assert gated(answers, "pass_at_k", 3, threshold=0.95).outcome == "fail"
    every = gated((*answers[:-1], "RRc"), "pass_all_k", 3, threshold=0.75)
    assert (every.score, every.upper, every.outcome) == (0.7, 0.8, "undecided")


def test_a_question_without_k_scored_answers_is_not_scored() -> None:
    """A failed call leaves two answers: enough for k = 2, too few for k = 3; 3 of 4 questions are no gate's."""
    answers = ("RRx", "RRR", "RR-", "WWW")
    short = gated(answers, "pass_at_k", 3)
    assert (short.n_asked, short.n_scored, short.coverage, short.outcome) == (4, 3, 0.75, "error")
    assert gated(answers, "pass_at_k", 2).score == pytest.approx(3 / 4)
    left_out = gated(("nnn", "RWW", "RRR"), "pass_all_k", 3)
    assert (left_out.n_scored, left_out.coverage, left_out.score) == (2, 1.0, 0.5)


def test_partial_credit_is_not_right() -> None:
    assert gated(("hhh", "Rhh"), "pass_at_k", 3).score == 0.5


def test_other_suites_and_the_suites_other_metrics_stay_as_they_are() -> None:
    items, scores = tables(FOUR)
    more_items, more = tables(("R", "W"), suite="rag")
    more_items = more_items.with_columns(item_id="r" + pl.col("item_id"))
    more = more.with_columns(item_id="r" + pl.col("item_id"), metric=pl.lit("factual_correctness"))
    aside = scores.with_columns(metric=pl.lit("cot.sound"))
    every, drawn = pl.concat([scores, more, aside]), pl.concat([items, more_items])
    assert summarise_repeated(every, drawn, declared("rag")[0], summarise(every, drawn)) is None
