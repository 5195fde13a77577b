"""What every report says of a run as a whole."""

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import polars as pl
import pytest
from markupsafe import escape

from basic_control.data.exits import GateOutcome
from basic_control.metrics.analysis.headlines import Headline
from basic_control.metrics.analysis.observations import list_few_templates
from basic_control.metrics.analysis.pairs import MissingPairs
from basic_control.metrics.analysis.provenance import RuleDifference
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.analysis.verdict import RunVerdict
from basic_control.metrics.stats.regression import Change
from basic_control.tasks.plan import resolve
from basic_control.tasks.report import markdown, sections
from basic_control.tasks.report.conclusion import conclusion
from basic_control.tasks.report.language import say_on_page, use_language
from basic_control.tasks.report.merge_request import summary
from basic_control.tasks.report.regressions import regression
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.text import escape_markdown
from basic_control.tasks.report.warnings import notes
from basic_control.tasks.report.words import remarks
from tests.helpers.baselines import against, change
from tests.tasks.report.runs import MODELS, build, in_language, page_of, settings
from tests.tasks.report.screens import RUNS, made


def items(suite: str, templates: list[str]) -> pl.DataFrame:
    ids = [f"{suite}{n}" for n in range(len(templates))]
    return pl.DataFrame({"item_id": ids, "suite": suite, "family": "", "template": templates})


def test_suites_of_a_few_shared_templates_are_named() -> None:
    """Four that are shared are few; five are units, and templates of one question each are questions."""
    few, enough = (items(name, [f"t{n % shared}" for n in range(20)]) for name, shared in (("few", 4), ("five", 5)))
    alone, none = items("alone", [f"t{n}" for n in range(20)]), items("none", [""] * 20)
    assert list_few_templates(pl.concat([few, enough, alone, none])) == ("few",)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "fewer than five forms of question; intervals hold for these forms only"),
        ("ru", "вопросы меньше чем пяти видов; интервалы верны только для этих видов"),
    ],
)
def test_a_report_says_that_intervals_hold_over_these_templates_only(language: str, said: str) -> None:
    with use_language(language):
        (note,) = notes(Results({}, (), few_templates=["few"]), RunVerdict("off", ()), resolve(settings()))
    assert note.text.startswith("few: ")
    assert note.text.endswith(said)


def changed(data: ReportData, outcome: Change) -> ReportData:
    """Return the run as its baseline judges it: one suite came to `outcome`, whatever the thresholds say."""
    told = change(outcome, difference=-0.1, n=20, means=(0.8, 0.9))
    compared = against(told, differences=(RuleDifference("tested", "model", "a", "b"),))
    verdict = replace(data.verdict, changes=(outcome,))
    return came_to("pass", replace(data, results=replace(data.results, baseline=compared), verdict=verdict))


def came_to(outcome: GateOutcome, data: ReportData) -> ReportData:
    """Return the run with one outcome for all scores of its models."""

    def decide(score: Headline) -> Headline:
        return replace(score, decided=replace(score.decided, outcome=outcome))

    models = tuple(
        replace(model, headlines=tuple(map(decide, model.headlines)), overall=decide(model.overall))
        for model in data.verdict.models
    )
    return replace(data, verdict=replace(data.verdict, models=models))


@pytest.mark.parametrize(("outcome", "said"), [("held", "pass"), ("undecided", "undecided"), ("regressed", "fail")])
def test_without_a_threshold_a_runs_verdict_is_what_it_came_to_against_its_baseline(
    outcome: Change, said: str, data: ReportData
) -> None:
    run = came_to("none", changed(data, outcome))
    found = conclusion(run.verdict, run.results.baseline)
    assert found.outcome == said
    assert "against the baseline main" in found.reason


@pytest.mark.parametrize(
    ("verdict", "outcome", "said", "of_baseline"),
    [
        ("pass", "held", "pass", False),
        ("pass", "undecided", "undecided", True),
        ("pass", "regressed", "fail", True),
        ("undecided", "undecided", "undecided", False),
        ("fail", "undecided", "fail", False),
        ("undecided", "regressed", "fail", True),
    ],
)
def test_the_first_line_says_what_the_exit_code_says_by_threshold_or_baseline(
    verdict: GateOutcome, outcome: Change, said: str, data: ReportData, *, of_baseline: bool
) -> None:
    run = came_to(verdict, changed(data, outcome))
    found = conclusion(run.verdict, run.results.baseline)
    assert (found.outcome, "against the baseline" in found.reason) == (said, of_baseline)


def test_the_first_line_says_that_undecided_counts_as_a_pass_where_it_does(data: ReportData) -> None:
    run = came_to("pass", changed(data, "undecided"))
    phrase = "; counts as a pass (undecided: pass)"
    assert phrase not in str(conclusion(run.verdict, run.results.baseline))
    lenient = replace(run.verdict, undecided="pass")
    assert str(conclusion(lenient, run.results.baseline)).endswith(phrase)
    # What is still waited for passes nowhere, and without a gate nothing counts.
    for verdict in (replace(lenient, waiting=1), replace(lenient, gate="off", changes=())):
        assert phrase not in str(conclusion(verdict, run.results.baseline))


def test_equal_pairs_are_held_without_an_interval_that_seems_to_say_otherwise() -> None:
    told = change(interval=(-0.026, 0.026), lower=-0.026, upper=0.026)
    assert regression(told) == "held: no difference on 100 questions"
    with use_language("ru"):
        assert regression(told) == "не хуже: разницы нет, вопросов 100"
    sure = change(interval=(-0.01, 0.01), lower=-0.01, upper=0.01)
    assert regression(sure) == (
        "held: 0 points (−1.0 to +1.0); the drop is at most 1.0 points (one-sided 95% bound), "
        "2 tolerated, 100 questions"
    )
    better = change(difference=0.05, interval=(0.005, 0.09), lower=0.01, upper=0.09)
    assert "; the gain is at least 1.0 points (one-sided 95% bound), 2 tolerated" in regression(better)


def test_the_bound_that_decides_at_the_margin_stands_beside_the_interval() -> None:
    told = change("regressed", difference=-0.115, interval=(-0.197, -0.032), lower=-0.184, upper=-0.045, n=200)
    assert regression(told) == (
        "regressed: −11.5 points (−19.7 to −3.2); the drop is at least 4.5 points (one-sided 95% "
        "bound), 2 tolerated, 200 questions"
    )
    cut = MissingPairs(n_cut=3, low=-0.2, high=0.0)
    open_ = change("undecided", difference=-0.115, interval=(-0.197, -0.032), missing=cut, hangs=True)
    assert "one-sided" not in regression(open_)
    assert regression(open_).startswith("undecided: ")
    assert regression(open_).endswith("; it depends on 3 truncated replies: −20.0 to 0 points")


@pytest.mark.parametrize(("language", "said"), [("en", "regressed"), ("ru", "ухудшение")])
def test_a_merge_request_has_the_outcome_against_a_baseline_in_a_column_of_its_own(
    language: str, said: str, data: ReportData
) -> None:
    run = in_language(changed(data, "regressed"), language)
    (row,) = (line for line in summary(run).splitlines() if line.startswith("| m | RAG |"))
    assert row.endswith(f"| **{said}** |")


def test_a_regression_told_in_russian_has_decimal_commas() -> None:
    told = change("undecided", difference=-0.0333, interval=(-0.1, 0.0667), n=30, max_drop=0.025, detectable=0.234)
    with use_language("ru"):
        said = regression(told)
    assert "допустимо 2,5" in said
    assert "падение от 23,4 п. п." in said
    assert not re.search(r"\d\.\d", said)


@pytest.mark.parametrize("name", [*RUNS, "regressed"])
def test_every_report_says_the_verdict_in_the_same_sentence(name: str, data: ReportData, tmp_path: Path) -> None:
    run = changed(data, "regressed") if name == "regressed" else RUNS[name](tmp_path)
    with use_language(run.language):
        found = conclusion(run.verdict, run.results.baseline)
        said, exit_code = str(found), say_on_page("exit_code")
    assert said.startswith(f"{found.word}: ")
    if name == "regressed":
        assert (found.outcome, said) == ("fail", "Fail: regressed against the baseline main (RAG, m: −10.0)")
    assert made(run).verdict == said
    head = markdown.compose(run).partition("\n## ")[0]
    assert f"\n**{escape_markdown(said)}**\n" in f"\n{head}"
    assert head.startswith("**" if found.outcome == "error" else "# "), "the seed's own head, unless nothing counts"
    page = page_of(run)
    banner = page.partition('<div class="banner ')[2].partition("</div>\n</div>")[0]
    assert banner.startswith(f'{found.outcome}"')
    shown = re.sub(r"\s+", " ", unescape(re.sub("<[^>]+>", "", banner)))
    assert shown.partition(found.word)[2].startswith(f": {found.reason} ")
    assert page.count(str(escape(found.reason))) == 1
    assert len(re.findall(exit_code, banner)) == 1


def test_the_limit_to_raise_is_that_of_the_models_whose_replies_were_cut(data: ReportData) -> None:
    models = [
        replace(
            model,
            headlines=tuple(
                replace(one, missing=replace(one.missing, n_truncated=int(one.model == MODELS[1])))
                for one in model.headlines
            ),
        )
        for model in data.verdict.models
    ]
    found = notes(data.results, replace(data.verdict, models=tuple(models)), data.plan)
    (said,) = (one.text for one in found if "--only-truncated" in one.text)
    assert said.startswith("4 replies were truncated")
    assert said.endswith("--only-truncated --set models.1.max_tokens=N")


def test_requests_that_wait_in_a_batch_are_no_errors(data: ReportData) -> None:
    of_one = pl.col("model") == MODELS[1]
    errors = {"error": "in a batch", "error_kind": "submitted"}
    waits = {name: pl.when(of_one).then(pl.lit(text)).otherwise(name) for name, text in errors.items()}
    rows = sections.replies(replace(data, replies=data.replies.with_columns(**waits)))
    assert [one["failed"] for one in rows if one["model"] == MODELS[1]] == [0]


def test_warnings_are_one_list_in_one_order(data: ReportData) -> None:
    """The screen begins it, and leaves out only what its line about judges says, and what the tables alone tell."""
    run = changed(data, "held")
    every = [one.text for one in notes(run.results, run.verdict, run.plan, run)]
    own = [one.text for one in notes(run.results, run.verdict, run.plan)]
    assert every[0] == "model: b, in the baseline a"
    assert [one for one in every if one in own] == own
    assert [one for one in own if one in made(run).warnings] == [*made(run).warnings]
    assert len({*own}) == len(own) < len(every)
    listed = page_of(run).partition('<ul class="notes">')[2].partition('class="further figures"')[0]
    assert sorted(re.findall("<li[^>]*>(.+?)(?:</li>|<details>)", listed)) == sorted(map(str, map(escape, every)))
    in_sight = listed.partition("</ul>\n")[0]
    assert in_sight.count('<li class="note') <= 3, "further ones are folded"
    text = markdown.compose(run)
    assert re.findall(r"\*\*Warning:\*\* (.*)\.", text) == [escape_markdown(one.removesuffix(".")) for one in every]


@pytest.mark.parametrize(
    ("lost", "cut", "said"),
    [
        (0, 12, "12 truncated replies"),
        (3, 0, "3 replies without a score"),
        (3, 12, "3 replies without a score and 12 truncated replies"),
    ],
)
def test_what_a_comparison_depends_on_leaves_out_what_there_is_none_of(lost: int, cut: int, said: str) -> None:
    missing = MissingPairs(n_lost=lost, n_cut=cut, low=0.0, high=0.0, hangs=True)
    told = change("undecided", missing=missing, hangs=True)
    assert remarks(told.pair) == [f"depends on {said}"]
    assert regression(told).endswith(f"; it depends on {said}: 0 to 0 points")


def test_an_outcome_may_depend_on_what_other_scores_are_missing() -> None:
    """Holm's levels are those of all scores together: nothing is missing here, but elsewhere."""
    told = change("undecided", missing=MissingPairs(hangs=True), hangs=True)
    assert remarks(told.pair) == ["depends on what other scores are missing"]
    assert regression(told).endswith("; depends on what other scores are missing")


def test_a_merge_request_names_raw_results_where_there_are_some() -> None:
    assert "`raw/`" in summary(build(2, suites=["basic_control"]))
    assert "`raw/`" not in summary(build(2, suites=["rag"]))
