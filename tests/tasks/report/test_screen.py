"""The last screen of a run: kept as it was read by eye, at 80 x 24 and 120 x 40; `python -m` writes them anew."""

from dataclasses import replace
from io import StringIO
from itertools import combinations, permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from rich.console import Console

from basic_control.metrics.analysis.headlines import ModelResult
from basic_control.metrics.analysis.observations import RepeatedQuestions
from basic_control.metrics.analysis.pairs import Comparison, Grouping, MissingPairs, PairedTest
from basic_control.metrics.analysis.policy import Policy
from basic_control.metrics.analysis.results import ModelComparisons, Results
from basic_control.metrics.analysis.summary import Total
from basic_control.metrics.analysis.verdict import RunVerdict, verdict_of
from basic_control.metrics.stats.intervals import Interval, MeanEstimate
from basic_control.tasks.plan import resolve
from basic_control.tasks.report import conclusion, markdown, ranking
from basic_control.tasks.report.language import use_language
from basic_control.tasks.report.merge_request import summary
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.screen import ScoreColumn, Screen, screen
from basic_control.tasks.report.text import format_whole_percent, p_value, shorten_name
from basic_control.tasks.report.verdict_table import verdict_table
from tests.conftest import TOP
from tests.helpers.suites import headline, model_of
from tests.tasks.report.runs import Row, prompts_run, settings
from tests.tasks.report.screens import FILES, RUNS, made

KEPT = TOP / "tests" / "fixtures" / "screens"
SIZES = {80: 24, 120: 40}


def shown(made_: Screen, width: int, *, whole: bool = False) -> str:
    """Return what a terminal of so many characters shows."""
    out = StringIO()
    console = Console(file=out, width=width)
    for part in made_.terminal(width, whole=whole):
        is_whole = isinstance(part, str) or getattr(part, "no_wrap", False)
        console.print(part, soft_wrap=is_whole, markup=False, highlight=False)
    return out.getvalue()


def lines_of(text: str, width: int) -> int:
    """Count the lines that a terminal needs, which breaks those that are longer than it is wide."""
    return sum(max(1, -(-len(line) // width)) for line in text.splitlines())


@pytest.mark.parametrize("name", RUNS)
def test_the_last_screen_is_the_one_that_was_read_and_fits(name: str, tmp_path: Path) -> None:
    run = RUNS[name](tmp_path)
    made_ = made(run)
    for width, height in SIZES.items():
        with use_language(run.language):
            said = shown(made_, width)
        assert said == (KEPT / f"{name} {width}.txt").read_text(encoding="utf-8")
        assert lines_of(said, width) < height, "one line is left for what is typed next"
        assert all(len(line) <= width for line in said.splitlines())


def test_prompts_are_compared_with_each_other_and_models_by_one_prompt(tmp_path: Path) -> None:
    """Never one model's one prompt with another model's other: Holm's correction would pay for it."""
    run = prompts_run(tmp_path)
    compared = {frozenset((one.model_a, one.model_b)) for one in run.results.compared.pairs}
    crossed = {frozenset((f"large [{one}]", f"small [{other}]")) for one, other in permutations(("plain", "steps"))}
    assert len(compared) == 4
    assert not compared & crossed
    assert not run.results.compared.groups
    said = made(run).differences
    assert [line.partition(":")[0] for line in said] == ["large", "small", "plain", "steps"]
    assert "'steps'" in said[0]
    assert "large [" not in said[0]


def results(
    models: int, suites: int, name: str = "an-owner/a-model-of-a-long-name-{}:70b-instruct", **facts: Any
) -> tuple[Results, RunVerdict]:
    """Return results and verdict of models that fail in each judged suite; the best beats the others."""
    around = Interval(0.4, 0.6, "wilson", 40)
    facts |= {"n_asked": 40, "n_scored": 40, "threshold": 0.8, "outcome": "fail", "n_truncated": 3}
    facts["judges_unmeasured"] = ("one judge", "another judge")
    parts = [headline(f"suite_{n}", 0.5, around, 1 / suites, **facts) for n in range(suites)]
    failed: Row = {"outcome": "fail", "threshold": 0.95}
    each = [model_of(name.format(n), *parts, score=0.9 - n / 10, **failed) for n in range(models)]
    names = [one.model for one in each]
    test = PairedTest("tango", p_value=0.0123, p_adjusted=0.0123, interval=Interval(0.3, 0.5))
    pairs = [
        Comparison("", "", "overall", a, b, 40, 0, 0.9, 0.5, 0.4, 0, 0, yes_no=False, test=test)
        for a, b in combinations(names, 2)
    ]
    groups = [Grouping("", "", tuple((one,) for one in names), "overall")]
    found = Results(
        {"run": "20261105_140233"},
        tuple(each),
        compared=ModelComparisons(pairs, groups),
        few_templates=[part.suite for part in parts],
        doubled=[RepeatedQuestions(part.suite, 9, 12) for part in parts],
    )
    return found, RunVerdict("point", tuple(each))


COUNTS = {"asked": 40, "cached": 4, "answered": 36, "failed": 0}


@pytest.mark.parametrize("models", [1, 2, 6, 30])
@pytest.mark.parametrize("suites", [1, 4, 12])
def test_it_fits_whatever_there_is_to_say(models: int, suites: int) -> None:
    """Names of 40 characters, three warnings and more, two judges of whom nobody knows: still one screen."""
    made_ = screen(*results(models, suites), resolve(settings()), COUNTS, wall_s=7200.0, files=FILES)
    said = ""
    for width, height in SIZES.items():
        said = shown(made_, width)
        assert lines_of(said, width) < height, said
        assert all(len(line) <= width for line in said.splitlines()), said
    listed = [line for line in said.splitlines() if line.startswith("an-")]
    assert sum("✗" in line for line in listed) == min(models, 5 if models > 6 else 6)
    assert ("… 25 more" in said) == (models == 30), "the best and the worst are shown"


def test_a_mean_beside_a_score_that_no_model_has_is_left_out() -> None:
    for mean, is_shown in ((None, False), (0.5, True)):
        found, verdict = results(2, 1, beside={"sound": None})
        first, second = verdict.models
        part = second.headlines[0]
        part = replace(part, measured=replace(part.measured, beside={"sound": mean}))
        verdict = replace(verdict, models=(first, replace(second, headlines=(part,))))
        text = shown(screen(found, verdict, resolve(settings()), COUNTS), 120, whole=True)
        assert ("sound" in text) is is_shown


def test_what_is_cut_at_a_terminal_stands_whole_in_a_file() -> None:
    made_ = screen(*results(6, 4), resolve(settings()), COUNTS, wall_s=7200.0, files=FILES)
    said = shown(made_, 160, whole=True)
    for one in (made_.verdict, *made_.differences, *made_.notes, *made_.warnings[:3], made_.calls, *made_.links):
        assert f"{one}\n" in said
    assert made_.links[0].address == Path(FILES[0]).as_uri()
    assert str(made_.links[0]) == f"Report: {Path(FILES[0]).relative_to(Path.cwd())}"


@pytest.mark.parametrize(
    ("share", "threshold", "said"),
    [
        (0.796, None, "80"), (0.796, 0.8, "79.6"), (0.804, 0.8, "80"), (0.7996, 0.8, "79.96"), (0.8, 0.8, "80"),
        (0.55, 0.55, "55"), (0.5504, 0.55, "55"), (0.844, 0.845, "84"), (0.845, 0.845, "85"),
        (0.8449, 0.845, "84"), (1.0, 0.8, "100"), (None, 0.8, "–"),
    ],
)  # fmt: skip
def test_percents_are_whole_unless_rounding_would_cross_the_threshold(
    share: float | None, threshold: float | None, said: str
) -> None:
    assert format_whole_percent(share, threshold) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "–"),
        (0.0004, "< 0.001"),
        (0.0494, "0.049"),
        (0.04996, "0.04996"),
        (0.05, "0.050"),
        (0.0504, "0.050"),
        (1.0, "1.000"),
    ],
)
def test_a_p_value_is_not_rounded_onto_the_level_below_which_it_is(value: float | None, said: str) -> None:
    assert p_value(value) == said


def test_no_table_rounds_a_score_or_its_interval_onto_the_threshold_that_it_misses() -> None:
    part = headline("s", 0.7996, Interval(0.7, 0.79961, "wilson", 40), 1.0, threshold=0.8, outcome="fail")
    (row,) = verdict_table([model_of("m", part)], None).rows
    assert row[2:5] == ["79.96%", "70–79.96", "80%"]


def test_a_suite_gated_on_several_answers_shows_what_decides_it_and_no_total_of_means() -> None:
    plan = resolve(settings(suites=["basic_control"], judges=[]))
    of_k = plan.suites[0].suite.model_copy(update={"gate_on": "pass_at_k", "repeats": 3, "k": 3})
    facts: Row = {"threshold": 0.8, "outcome": "pass", "gate_on": "pass_at_k", "k": 3, "mean": MeanEstimate(0.6)}
    part = headline("basic_control", 0.9, Interval(0.85, 0.95, "wilson", 40), 1.0, n_asked=40, n_scored=40, **facts)
    verdict = RunVerdict("point", (model_of("m", part, outcome="pass"),))
    found = Results({"run": "r"}, verdict.models, totals={"m": Total(60.0)})
    made_ = screen(found, verdict, replace(plan, suites=(replace(plan.suites[0], suite=of_k),)), COUNTS)
    ((_, (cell,)),) = made_.rows
    assert ([column.name for column in made_.columns], cell.text()) == (["Basic tasks pass@3 ≥ 80"], "90 ✓ (85–95)")


def test_a_name_is_cut_in_the_middle() -> None:
    name = "an-owner/a-model-of-a-long-name:70b-instruct"
    assert shorten_name(name, 26) == "an-owner/a-mo…70b-instruct"
    assert len(shorten_name(name, 26)) == 26
    assert shorten_name("short", 26) == "short"


def test_the_summary_for_a_merge_request_begins_with_the_same_text(data: ReportData) -> None:
    text, made_ = summary(data), made(data)
    head, verdict, *rest = [line for line in text.splitlines() if line]
    assert head == "## Basic Control"
    assert verdict.startswith("**Error: acme/small:8b could not be judged on RAG, and fails: ")
    assert rest[: len(made_.table().markdown())] == made_.table().markdown()
    assert "- acme/large:70b beats other-model by 22.5 points" in text


def write() -> None:
    """Write the screens, to be read."""
    KEPT.mkdir(exist_ok=True)
    for name, run in RUNS.items():
        for width in SIZES:
            with TemporaryDirectory() as folder:
                data = run(Path(folder))
                with use_language(data.language):
                    said = shown(made(data), width)
            (KEPT / f"{name} {width}.txt").write_text(said, encoding="utf-8")


def pair(
    difference: float, low: float, high: float, *, p: float | None = None, missing: MissingPairs | None = None
) -> Comparison:
    test = PairedTest(interval=Interval(low, high), p_value=p, p_adjusted=p)
    return Comparison(
        "s", "accuracy", "suite", "a", "b", 40, 0, None, None, difference, 0, 0, yes_no=True, test=test,
        missing=missing or MissingPairs(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((0.25, -0.03, 0.53), "not enough questions to tell a from b: 25 points (−3 to 53)"),
        ((-0.25, -0.53, 0.03), "not enough questions to tell b from a: 25 points (−3 to 53)"),
        ((0.0, -0.05, 0.05), "no clear difference between a and b: 0 points (−5 to 5)"),
    ],
)
def test_neither_of_two_alike_is_said_to_be_ahead(values: tuple[float, float, float], said: str) -> None:
    assert ranking._describe_tie(pair(*values)) == said


@pytest.mark.parametrize(
    ("as_judged", "said"),
    [(None, "a beats b by 25 points (3–47)"), (0.9, "As judged, a beats b by 25 points (3–47)")],
)
def test_where_labels_correct_scores_pairs_are_said_to_be_as_judged(as_judged: float | None, said: str) -> None:
    model = model_of("a", headline("s", 0.5, weight=1.0, as_judged=as_judged))
    groups = [Grouping("s", "accuracy", (("a",), ("b",)), "suite")]
    compared = ModelComparisons([pair(0.25, 0.03, 0.47, p=0.001)], groups)
    assert list(ranking.differences([model], compared)) == [said]


def test_a_difference_that_cut_replies_may_undo_is_undecided() -> None:
    said = ranking._describe_tie(pair(0.346, 0.128, 0.514, missing=MissingPairs(n_cut=12, hangs=True)))
    assert said == "undecided: a is ahead of b by 34.6 points (12.8–51.4); depends on 12 truncated replies"


if __name__ == "__main__":
    write()


def test_models_that_fail_whatever_a_withheld_suite_would_score_have_a_conclusion() -> None:
    """No judge of `rag` counts: there and overall is no score, and at either end the overall one is too low."""

    def model(name: str, score: float) -> ModelResult:
        counts: Row = {"n_asked": 40, "n_scored": 40, "coverage": 1.0, "answered": 1.0}
        own = headline("own", score, Interval(score, score, "wilson", 40), 0.9, **counts)
        rag = headline("rag", None, weight=0.1, withheld="no judge counts", is_measured=False, **counts)
        return model_of(name, own, rag)

    found = Results({}, (model("a", 0.1), model("b", 0.2)))
    for thresholds, cause in (
        ({("own", ""): 0.8, ("rag", ""): 0.8}, "own 10 (threshold 80)"),
        ({}, "overall mean – (threshold 80)"),
    ):
        verdict = verdict_of(found, Policy("point", 0.8, thresholds))
        overall = [model.overall for model in verdict.models]
        assert [(one.measured.score.mean, one.decided.outcome) for one in overall] == [(None, "fail")] * 2
        said = str(conclusion.conclusion(verdict, None))
        assert said.startswith(f"Fail: a fails: {cause}; b fails: ")


def judged(name: str, **outcomes: str) -> ModelResult:
    """Return a model by the metrics of one suite, each with an outcome at a threshold of 80 %."""
    scores = {"pass": 0.9, "fail": 0.6, "undecided": 0.79, "error": 0.7}
    parts = [
        replace(
            headline("s", scores[outcome], Interval(0.5, 0.95), threshold=0.8, outcome=outcome,
                     reason="no judge counts" if outcome == "error" else ""),
            metric=metric, is_only=False,
        )
        for metric, outcome in outcomes.items()
    ]  # fmt: skip
    return model_of(name, *parts)


GOOD = {"tone": "pass", "facts": "pass", "form": "pass"}


@pytest.mark.parametrize(
    ("models", "said"),
    [
        (
            [judged("alpha", **{**GOOD, "tone": "fail"}), judged("beta", **GOOD)],
            "Fail: alpha fails: tone 60 (threshold 80); beta passes",
        ),
        (
            [judged("alpha", tone="fail", facts="fail", form="pass"), judged("beta", tone="fail", facts="pass")],
            "Fail: alpha fails: tone 60 and facts 60 (threshold 80); beta fails: tone 60 (threshold 80)",
        ),
        (
            [judged("alpha", tone="fail", facts="fail", form="fail"), judged("beta", tone="pass", facts="pass")],
            "Fail: alpha fails: tone 60 (threshold 80) and 2 more; beta passes",
        ),
        (
            [judged("alpha", **{**GOOD, "tone": "error"}), judged("beta", **GOOD), judged("gamma", **GOOD)],
            "Error: alpha could not be judged on tone; beta and gamma pass",
        ),
        (
            [judged("alpha", **{**GOOD, "tone": "undecided"}), judged("beta", **GOOD)],
            "Undecided: alpha is undecided: tone 79 (threshold 80): too close to tell; beta passes",
        ),
        (
            [*(judged(f"m{n}", **{**GOOD, "form": "fail"}) for n in range(4)), judged("beta", **GOOD)],
            "Fail: 4 of 5 models fail (m0 fails: form 60 (threshold 80)); beta passes",
        ),
        ([judged("alpha", **GOOD), judged("beta", **GOOD)], "Pass: 2 of 2 models reach every threshold"),
        ([judged("alpha", tone="fail", facts="fail")], "Fail: alpha fails: tone 60 and facts 60 (threshold 80)"),
    ],
)
def test_a_conclusion_says_which_model_fails_what_and_who_passes(models: list[ModelResult], said: str) -> None:
    verdict = RunVerdict("point", tuple(models))
    assert str(conclusion.conclusion(verdict, None)) == said
    reasons = [*conclusion.reasons(models)]
    assert reasons == (["alpha: tone: no judge counts"] if "on tone" in said else [])


def test_a_runs_name_stands_before_its_verdict(data: ReportData) -> None:
    plan = replace(data.plan, report=data.plan.report.model_copy(update={"name": "nightly"}))
    named = replace(data, plan=plan)
    assert made(named).verdict == f"nightly: {made(data).verdict}"
    assert f"**Run:** nightly, `{data.run}`." in markdown.compose(named)


@pytest.mark.parametrize("width", [8, 10, 16, 80])
def test_a_columns_title_breaks_between_words_alone(width: int) -> None:
    column = ScoreColumn("Chain of thought: groundedness", "80")
    *title, limit = column.break_name(width, has_threshold=True).split("\n")
    assert " ".join(title) == column.title
    assert limit == "≥ 80"
    assert all(len(line) <= width or " " not in line for line in title)


def test_two_models_are_not_cut_to_one_name() -> None:
    found = results(2, 1, "meta-llama/Llama-3.{}-70B-Instruct")
    made_ = screen(*found, resolve(settings()), COUNTS)
    assert len({row[0] for row in made_.table(120).rows}) == 2
    wide = screen(*results(3, 6), resolve(settings()), COUNTS).table(80)
    assert len({row[0] for row in wide.rows}) == 3, "rather a column less than two models of one name"
    assert wide.names[-1] == "…"
    better, _, rest = made_.differences[0].partition(" beats ")
    assert not rest.startswith(f"{better} by ")
