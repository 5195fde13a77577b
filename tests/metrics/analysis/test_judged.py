"""What a judged suite says: which judges count, and what their scores, the exam and people's labels decide."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from basic_control.data.deciding import columns
from basic_control.data.exits import GateOutcome
from basic_control.data.options import options_of
from basic_control.data.plugins import metric
from basic_control.data.suites import Suite
from basic_control.metrics.analysis.judged import (
    JudgeStatus,
    collect_left_out,
    correct_means,
    exam_table,
    judge_statuses,
    outcome_as_judged,
    panel_status,
    withheld_by_judges,
)
from basic_control.metrics.analysis.passports import Passport
from basic_control.metrics.analysis.policy import Gate
from basic_control.metrics.analysis.scores import Circumstances
from basic_control.metrics.judging import Judgement, Session
from basic_control.metrics.panels import Aggregate, combine
from basic_control.metrics.response_groundedness import response_groundedness
from basic_control.metrics.stats.calibration import contrast
from basic_control.metrics.stats.intervals import Interval, MeanEstimate, Share
from basic_control.metrics.stats.labelled import Powered, prediction_powered
from basic_control.prompts.phrases import translate_reason
from tests.benchmarks.judged import COIN, counting, passing
from tests.helpers.passports import claims, passport, tables
from tests.helpers.verdicts import entry, verdict_on

SUITE = Suite.model_validate(
    {"name": "own", "items": {"data": "x.jsonl"}, "metrics": {"response_groundedness": {}}, "threshold": 0.8}
)
GOOD = [[20, 0, 0], [0, 20, 0], [0, 0, 20]]
ALWAYS = [[20, 0, 0], [20, 0, 0], [20, 0, 0]]
LENIENT = [[20, 0, 0], [12, 8, 0], [10, 2, 8]]


def estimated(value: float, low: float, high: float) -> MeanEstimate:
    return MeanEstimate(value / 100, Interval(low / 100, high / 100))


@pytest.mark.parametrize(
    ("raw", "corrected", "threshold", "by_point", "by_interval"),
    [
        ((72.5, 70, 75), (57.7, 35.8, 67.9), 0.68, "undecided", "undecided"),
        ((72.5, 70, 75), (74, 69, 78), 0.68, "pass", "pass"),
        ((82, 73, 88), (90, 72, 100), 0.8, "pass", "undecided"),
        ((60, 55, 65), (90, 85, 95), 0.8, "undecided", "undecided"),  # no fail becomes a pass
        ((60, 55, 65), (40, 30, 50), 0.8, "fail", "fail"),
    ],
)
def test_goldens_of_the_decision(
    raw: tuple[float, float, float],
    corrected: tuple[float, float, float],
    threshold: float,
    by_point: GateOutcome,
    by_interval: GateOutcome,
) -> None:
    gates: Sequence[tuple[Gate, GateOutcome]] = (("point", by_point), ("off", by_point), ("interval", by_interval))
    for gate, expected in gates:
        found, why = outcome_as_judged(estimated(*raw), estimated(*corrected), threshold, gate)
        assert found == expected
        undone = outcome_as_judged(estimated(*raw), MeanEstimate(None, Interval()), threshold, gate)[0] != expected
        assert bool(why) == undone, "it says why only where it is the exam that withholds"


def test_what_is_withheld_says_which_side_each_is_on() -> None:
    _, why = outcome_as_judged(estimated(72.5, 70, 75), estimated(57.7, 35.8, 67.9), 0.68, "point")
    assert why == (
        "as judged 72.5% (70–75), at or above the threshold of 68%, but 57.7% (35.8–67.9), below it, once "
        "corrected by how often the judges erred in their exam"
    )
    assert translate_reason(why, "ru").startswith("по оценке судей 72.5% (70–75), не ниже порога, порог 68%;")


def test_a_coin_counts_in_at_most_three_exams_of_a_hundred() -> None:
    """Worked out over every exam of n + n questions that a judge can have, which says yes with any chance."""
    for n, chance in product((20, 50, 100), (0.5, 0.6, 0.7, 0.8, 0.9)):
        rows = [math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(n + 1)]
        counts = sum(
            rows[yes] * rows[wrong]
            for yes, wrong in product(range(n + 1), repeat=2)
            if rows[yes] * rows[wrong] > 1e-9
            and contrast((), Share.of(yes, n), Share.of(n - wrong, n), of_two=True).is_shown
        )
        assert counts <= 0.03, (n, chance)


@pytest.mark.parametrize("rows", [rows for rows in COIN.values() if len(rows) == 3])
def test_a_judge_of_three_labels_that_cannot_tell_two_of_them_apart_hardly_counts(
    rows: Sequence[Sequence[float]],
) -> None:
    """Of 100 exams more than eight would be refused at 3 %."""
    assert counting(rows, 20, 100, np.random.default_rng(3), two=False) <= 0.08


def test_a_good_judge_passes_what_is_ten_points_above_and_nothing_ten_below() -> None:
    """100 samples by point, a judge of .95 and .95 after an exam of 20 + 20; the benchmark draws 20 000."""
    assert passing(0.9, samples=100, exam=20, right=0.95, times=2000)["pass"] >= 0.9
    assert passing(0.7, samples=100, exam=20, right=0.95, times=2000)["pass"] <= 0.01


def find(passports: Mapping[str, Passport | None]) -> Any:
    return lambda suite, name, judge, exam, language: passports.get(judge)  # noqa: ARG005 - one for all


def test_a_judge_without_a_passport_counts_and_is_named() -> None:
    found = judge_statuses(SUITE, "response_groundedness", ["known", "new"], ["en"], find({"known": exam(GOOD)}))
    assert [(one.judge, one.measured, one.counts) for one in found] == [("known", True, True), ("new", False, True)]
    assert panel_status(found).unmeasured == ("new",)
    assert collect_left_out(found) == {}


def exam(table: Sequence[Sequence[int]], judge: str = "judge") -> Passport:
    return passport("groundedness", table, judge)


def test_a_metric_of_several_steps_counts_where_each_step_does() -> None:
    """A judge that cannot tell what supports a claim does not count, however well it splits."""
    weak = passport("entails", [[20, 0, 0], [20, 0, 0], [20, 0, 0]])
    by_exam = {"entails": weak}
    found = judge_statuses(
        Suite.model_validate({"name": "rag", "items": {"data": "x"}, "metrics": {"factual_correctness": {}}}),
        "factual_correctness",
        ["a"],
        ["en", "ru"],
        lambda suite, name, judge, exam, language: by_exam.get(exam) if language == "en" else None,  # noqa: ARG005 - a finder
    )
    assert {(one.exam, one.language) for one in found if not one.counts} == {("entails", "en")}
    assert collect_left_out(found) == {
        "en": {
            "a": "it cannot tell right replies from wrong ones: entails (en), "
            "100% of 20 right replies recognised, 0% of 40 wrong replies recognised",
        }
    }
    assert panel_status(found).none.startswith("a: it cannot tell right replies from wrong ones")


def replies(n: int, truth: float, seed: int = 0) -> list[int]:
    """Return the true ratings of replies, 2 or 0."""
    rng = np.random.default_rng(seed)
    return [2 if rng.random() < truth else 0 for _ in range(n)]


def rated(value: int | None) -> Session:
    """Return a judge's ended session that rated a reply so, or failed."""
    found = {} if value is None else {"rate": {"rating": Judgement(str(value), float(value))}}
    return Session(
        response_groundedness,
        {"response": "It is so.", "retrieved_contexts": ["Another text that does not say it."]},
        options_of(response_groundedness, {}),
        "en",
        len(response_groundedness.steps),
        found,
        n_calls=1,
        failure="" if value is not None else "rate: unparsable reply",
    )


def outcome(
    said: Mapping[str, Sequence[int | None]],
    passports: Mapping[str, Passport | None],
    *,
    gate: Gate = "point",
    how: Aggregate = "mean",
    labels: Powered | None = None,
    suite: Suite = SUITE,
    repeats: int = 1,
    templates: int = 0,
) -> Any:
    """Score replies by what judges said, as a run does, and decide; each question has so many equal replies."""
    name = "response_groundedness"
    found = judge_statuses(suite, name, [*said], ["en"], find(passports))
    excluded = collect_left_out(found).get("en", {})
    rows = []
    for place, ratings in enumerate(zip(*said.values(), strict=True)):
        score = combine({judge: rated(one) for judge, one in zip(said, ratings, strict=True)}, how, excluded)
        rows += [
            {
                "item_id": f"i{place}",
                "model": "m",
                "repeat": repeat,
                "metric": name,
                "value": score.value,
                "status": score.status,
                "reason": score.reason,
                "details": json.dumps(score.details),
            }
            for repeat in range(repeats)
        ]
    scores = pl.DataFrame(rows, schema_overrides={"value": pl.Float64})
    named = scores["item_id"].unique(maintain_order=True)
    items = pl.DataFrame(
        {
            "item_id": named,
            "suite": suite.name,
            "family": suite.strata,
            "level": "",
            "language": "en",
            "template": [f"t{n % templates}" if templates else "" for n in range(len(named))],
        }
    )
    kept = {(suite.name, "m", name): labels} if labels else {}
    held = withheld_by_judges(suite, "m", found, kept, "nothing")
    facts = Circumstances(
        withheld={(suite.name, suite.headline, "m"): held} if held else {},
        labels=kept,
        corrected=correct_means(scores, items, [suite], find(passports)),
        judge_statuses=found,
    )
    return entry(verdict_on(scores, items, [suite], gate=gate, facts=facts).models[0]).suites[0]


def test_golden_the_score_is_the_perfect_judges_alone() -> None:
    truth = replies(100, 0.5)
    found = outcome({"always": [2] * 100, "perfect": truth}, {"always": exam(ALWAYS), "perfect": exam(GOOD)})
    assert found.score == pytest.approx(sum(truth) / 200)
    assert found.outcome == "fail"
    assert [*found.judges_left_out] == ["always, response_groundedness"]
    assert "cannot tell right" in found.judges_left_out["always, response_groundedness"]


@pytest.mark.parametrize("gate", ["point", "interval"])
@pytest.mark.parametrize("how", ["mean", "median", "majority", "max"])
def test_no_gate_passes_by_useless_judges_among_seven(gate: Gate, how: Aggregate) -> None:
    """Two of seven always say yes; three tenths of the replies are good, and the five others say so."""
    truth = replies(100, 0.3)
    said = {f"good{n}": truth for n in range(5)} | {f"always{n}": [2] * 100 for n in range(2)}
    passports = {name: exam(GOOD if name.startswith("good") else ALWAYS, name) for name in said}
    found = outcome(said, passports, gate=gate, how=how)
    assert found.outcome == "fail"
    assert found.score == pytest.approx(sum(truth) / 200)
    assert len(found.judges_left_out) == 2


def test_a_total_names_its_judges_that_do_not_count_and_those_that_nobody_measured() -> None:
    suite = SUITE.model_copy(update={"strata": "family"})
    said = {"always": [2] * 50, "new": [2] * 50}
    found = outcome(said, {"always": exam(ALWAYS), "new": None}, suite=suite)
    assert (found.score, found.outcome) == (1.0, "pass")
    assert [*found.judges_left_out] == ["always, response_groundedness"]
    assert found.judges_unmeasured == ["new"]


def test_no_gate_passes_where_only_useless_judges_are_left() -> None:
    found = outcome({"always": [2] * 50}, {"always": exam(ALWAYS)})
    assert (found.score, found.outcome, found.measured) == (None, "undecided", False)
    assert found.reason.startswith("always: it cannot tell right replies from wrong ones: groundedness (en)")


def test_a_lenient_judges_pass_is_withheld() -> None:
    truth = replies(100, 0.7, seed=1)
    said = [2 if one == 2 or place % 2 else 0 for place, one in enumerate(truth)]
    found = outcome({"lenient": said}, {"lenient": exam(LENIENT)}, gate="point")
    assert found.score is not None
    assert found.score >= 0.8 > (found.corrected or 1.0)
    assert found.outcome == "undecided"
    assert "once corrected by how often the judges erred in their exam" in found.reason


def test_repeats_and_shared_templates_tell_a_correction_no_more_than_the_score() -> None:
    """By the exam's few questions the true share of 30 may lie below the threshold; of 300 it would not."""
    suite, said = SUITE.model_copy(update={"threshold": 0.7}), {"judge": [2] * 26 + [0] * 4}
    once, often = (outcome(said, {"judge": exam(GOOD)}, gate="interval", suite=suite, repeats=n) for n in (1, 10))
    for found in (once, often):
        assert (found.score, found.outcome) == (pytest.approx(26 / 30), "undecided")
        assert found.corrected_interval.low == pytest.approx(0.69, abs=0.005)
    whole = {"judge": [2 if n % 10 < 8 else 0 for n in range(100)]}  # eight of ten templates are right throughout
    found = outcome(whole, {"judge": exam(GOOD)}, gate="interval", suite=suite, templates=10)
    assert (found.interval.low, found.corrected_interval.low) == (
        pytest.approx(0.49, abs=0.01),
        pytest.approx(0.47, abs=0.01),
    )


def test_rows_of_one_question_count_once_in_a_correction() -> None:
    """Four of ten replies are good; that six rows hold each of the bad ones changes nothing."""
    corrected = []
    for n_rows in (1, 6):
        rows = []
        for place, rating in enumerate([2] * 4 + [0] * 6):
            details = json.dumps(combine({"judge": rated(rating)}).details)
            row = {"item_id": f"i{place}", "model": "m", "repeat": 0, "metric": "response_groundedness"}
            rows += [{**row, "details": details}] * (1 if rating else n_rows)
        blank = {"suite": SUITE.name, "family": "", "level": "", "language": "en", "template": ""}
        items = pl.DataFrame([{**blank, "item_id": f"i{place}"} for place in range(10)])
        corrected += correct_means(pl.DataFrame(rows), items, [SUITE], find({"judge": exam(LENIENT)}))
    once, often = corrected
    assert once.value.mean is not None
    assert (often.n_samples, often.n_verdicts, often.raw.mean) == (10, 10, 0.4)
    assert often.value.mean == pytest.approx(once.value.mean)
    assert often.value.interval.low == pytest.approx(once.value.interval.low, abs=0.02)


def test_no_gate_passes_by_bad_replies_that_the_judge_did_not_read() -> None:
    """91 good replies, and nine bad ones to which the judge gave no reply that could be read."""
    truth = [2] * 91 + [0] * 9
    said = [2 if one else None for one in truth]
    found = outcome({"judge": said}, {"judge": exam(GOOD)}, gate="interval")
    assert (found.score, found.n_unread) == (1.0, 9)
    assert found.lower == pytest.approx(0.91)
    assert found.outcome == "pass", "at 80 % it passes whatever these were"
    suite = SUITE.model_copy(update={"threshold": 0.95})
    gates: tuple[Gate, Gate] = ("point", "interval")
    for gate in gates:
        found = outcome({"judge": said}, {"judge": exam(GOOD)}, gate=gate, suite=suite)
        assert found.outcome == "undecided"
        assert "it depends on" in found.reason


def test_people_decide_where_they_labelled_thirty_ten_of_either_class() -> None:
    truth = replies(200, 0.5, seed=2)
    said = {"always": [2] * 200}
    labels = prediction_powered([1.0] * 200, list(range(60)), [one / 2 for one in truth[:60]])
    found = outcome(said, {"always": exam(ALWAYS)}, labels=labels)
    assert found.score == pytest.approx(labels.value)
    assert (found.outcome, found.n_labels, found.measured) == ("fail", 60, True)
    few = prediction_powered([1.0] * 200, list(range(29)), [one / 2 for one in truth[:29]])
    assert not few.decides
    assert outcome(said, {"always": exam(ALWAYS)}, labels=few).outcome == "undecided"
    assert outcome({"judge": [2] * 200}, {"judge": None}, labels=few).outcome == "pass", "nobody measured it"
    assert outcome({"judge": [2] * 200}, {"judge": None}, labels=labels).outcome == "fail"


def test_several_judges_exam_answers_are_joined_as_their_verdicts_are() -> None:
    """By hand: of 20 good replies both say so, of 20 bad ones each judge errs in four of its own."""
    one, other = ([[20, 0], [4, 16]] for _ in range(2))
    first, second = (passport("entails", [*[[*row, 0] for row in table], [0, 0, 0]]) for table in (one, other))
    turned = dict(second.answers)
    bad = [key for key, (truth, _) in turned.items() if truth == "CONTRADICTED"]
    said = ["CONTRADICTED"] * 4 + ["SUPPORTED"] * 4 + ["CONTRADICTED"] * 12
    second = replace(
        second, answers={**turned, **{key: ("CONTRADICTED", s) for key, s in zip(bad, said, strict=True)}}
    )
    worth = {"SUPPORTED": 1.0, "CONTRADICTED": 0.0, "NEUTRAL": 0.0}
    mean, least = (exam_table([first, second], how, worth) for how in ("mean", "min"))
    assert mean.outcomes == (1.0, 0.5, 0.0)
    assert mean.counts == ((20, 0, 0), (0, 8, 12))
    assert [one.share for one in mean.rates()] == [1.0, 0.8]
    assert least.counts == ((20, 0), (0, 20)), "never both of them"


def test_a_panels_mean_is_corrected_by_what_the_panel_said_in_the_exam() -> None:
    """Both judges lift a third of the bad replies to 2; the truth is half."""
    truth = replies(600, 0.5, seed=4)
    rng = np.random.default_rng(5)
    said = {name: [2 if one == 2 or rng.random() < 1 / 3 else 0 for one in truth] for name in ("a", "b")}
    table = [[60, 0, 0], [0, 60, 0], [20, 0, 40]]
    passports = {name: exam(table, name) for name in said}
    found = outcome(said, passports)
    assert found.score == pytest.approx(0.5 + 0.5 / 3, abs=0.03)
    assert found.corrected == pytest.approx(0.5, abs=0.04)


def test_precision_alone_is_corrected_as_the_suites_score() -> None:
    suite = Suite.model_validate(
        {"name": "rag", "items": {"data": "x"}, "metrics": {"factual_correctness": {"mode": "precision"}}}
    )
    weak = passport("entails", [[90, 5, 5], [10, 35, 5], [10, 5, 35]])
    scores, items = tables("factual_correctness", [claims("SUPPORTED", "NEUTRAL")] * 50, "rag")
    rows = correct_means(scores, items, [suite], find({"judge": weak}))
    (whole,) = [row for row in rows if row.whole]
    assert whole.metric == "factual_correctness.precision"
    assert whole.value.mean == pytest.approx((0.5 + 0.8 - 1) / 0.7)


def test_every_judged_metric_has_an_exam_for_each_of_its_steps() -> None:
    from basic_control.metrics.analysis.judged import exams_of

    assert exams_of(metric("factual_correctness"), {}) == ["split", "entails"]
    assert exams_of(metric("citation"), {}) == ["support", "correctness"]
    assert exams_of(metric("preference"), {}) == ["preference"]


def test_labels_beside_a_computed_metric_keep_the_interval_of_both() -> None:
    metrics = {"response_groundedness": {}, "exact_match": {}}
    declared = {"name": "own", "items": {"data": "x"}, "metrics": metrics, "score": [*metrics], "threshold": 0.8}
    suite = Suite.model_validate(declared)
    names = [f"i{n}" for n in range(100)]
    values = (("exact_match", 1.0, "scored"), ("response_groundedness", None, "judge_failed"))
    shared = {"model": "m", "repeat": 0, "reason": "", "details": "{}"}
    rows = [
        {"item_id": one, "metric": metric, "value": value, "status": status, **shared}
        for one in names
        for metric, value, status in values
    ]
    scores = pl.DataFrame(rows, schema_overrides={"value": pl.Float64})
    columns = {"item_id": names, "suite": "own", "family": "", "level": "", "language": "en", "template": ""}
    items = pl.DataFrame(columns)
    labels = prediction_powered([1.0] * 100, list(range(60)), [0.0, 1.0] * 30)
    facts = Circumstances(labels={("own", "m", "response_groundedness"): labels})
    (found,) = entry(verdict_on(scores, items, [suite], gate="interval", facts=facts).models[0]).suites
    assert found.score == pytest.approx(0.75)
    assert found.interval.low is not None
    assert found.interval.low < 0.75
    assert found.outcome == "undecided"


def test_a_judge_that_does_not_count_withholds_its_metric_and_no_other() -> None:
    """Right by exact match, not rated by a judge that was left out: the one passes, the other is not measured."""
    metrics = {"response_groundedness": {}, "exact_match": {}}
    declared = {"name": "own", "items": {"data": "x"}, "metrics": metrics, "threshold": 0.8}
    suite = Suite.model_validate(declared)
    status = JudgeStatus("own", "response_groundedness", "groundedness", "j", "en", counts=False, why="a coin")
    values = {"exact_match": (1.0, "scored"), "response_groundedness": (None, "judge_failed")}
    shared = {"model": "m", "repeat": 0, "reason": "", "details": "{}"}
    names = [f"i{n}" for n in range(20)]
    scores = pl.DataFrame(
        [
            {"item_id": item, "metric": metric, "value": value, "status": state, **shared}
            for item in names
            for metric, (value, state) in values.items()
        ],
        schema_overrides={"value": pl.Float64},
    )
    items = pl.DataFrame(
        {"item_id": names, "suite": "own", "family": "", "level": "", "language": "en", "template": ""}
    )
    withheld = {
        ("own", score.headline, "m"): reason
        for score in columns(suite)
        if (reason := withheld_by_judges(score, "m", [status], {}, "nothing"))
    }
    assert [metric for _, metric, _ in withheld] == ["response_groundedness"]
    facts = Circumstances(withheld=withheld, judge_statuses=[status])
    (model,) = verdict_on(scores, items, [suite], facts=facts).models
    outcomes = {one.metric: (one.missing.is_measured, one.decided.outcome) for one in model.headlines}
    assert outcomes == {"response_groundedness": (False, "undecided"), "exact_match": (True, "pass")}
    assert (model.headlines[1].missing.judges_left_out, model.verdict) == ({}, "undecided")


def test_a_reply_that_no_judge_read_brings_none_back_that_does_not_count() -> None:
    said = [2] * 85 + [0] * 15
    sample = {"response": "It is so.", "retrieved_contexts": ["It is so."]}
    settled = replace(rated(2), sample=sample, replies={}, n_calls=0)
    panels = [{"always": rated(2), "lenient": rated(one)} for one in said]
    panels.append({"always": settled, "lenient": settled})
    made = [combine(one, "mean", {"always": "it cannot measure this"}) for one in panels]
    names = [f"i{n}" for n in range(len(made))]
    metric = "response_groundedness"
    details = [json.dumps(one.details) for one in made]
    scores = pl.DataFrame({"item_id": names, "model": "m", "repeat": 0, "metric": metric, "details": details})
    items = pl.DataFrame({"item_id": names, "suite": "own", "family": "", "template": "", "language": "en"})
    found = find({"always": exam(ALWAYS), "lenient": exam(LENIENT)})
    (row,) = correct_means(scores, items, [SUITE], found)
    assert row.judge == "lenient"
    assert row.value.mean == pytest.approx(0.7, abs=0.01)


def test_precision_alone_withholds_as_its_correction_says() -> None:
    metrics = {"factual_correctness": {"mode": "precision"}}
    suite = Suite.model_validate({"name": "rag", "items": {"data": "x"}, "metrics": metrics, "threshold": 0.8})
    given = [1.0] * 85 + [0.0] * 15
    details = [claims("SUPPORTED" if one else "NEUTRAL") for one in given]
    scores, items = tables("factual_correctness", details, "rag")
    scores = scores.with_columns(value=pl.Series(given), status=pl.lit("scored"), reason=pl.lit(""))
    items = items.with_columns(level=pl.lit(""))
    lenient = passport("entails", [[20, 0, 0], [8, 12, 0], [8, 0, 12]])
    rows = correct_means(scores, items, [suite], find({"judge": lenient}))
    (found,) = entry(verdict_on(scores, items, [suite], facts=Circumstances(corrected=rows)).models[0]).suites
    assert (found.corrected, found.outcome) == (pytest.approx(0.75), "undecided")


def test_what_a_panel_never_said_in_its_exam_is_not_thrown_away() -> None:
    said = {"a": [2] * 60 + [1] * 40, "b": [2] * 60 + [0] * 40}
    found = outcome(said, {name: exam(GOOD, name) for name in said})
    assert (found.score, found.corrected, found.outcome) == (pytest.approx(0.7), None, "fail")
