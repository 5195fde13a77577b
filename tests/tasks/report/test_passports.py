"""A suite that is decided by judges whom nobody has measured says so in every report."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from basic_control.metrics.analysis.judged import CorrectedMean
from basic_control.metrics.analysis.passports import ExamResult, passports
from basic_control.metrics.stats.intervals import Interval, MeanEstimate
from basic_control.tasks.report import junit, markdown
from basic_control.tasks.report.language import use_language
from basic_control.tasks.report.passports import JudgeWarning, passport_tables, warnings
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.screen import screen
from basic_control.tasks.report.warnings import Note, notes
from basic_control.tasks.report.words import headlines_of
from tests.tasks.report.runs import MODELS, page_of

EXAM = "python -m basic_control exam --run 20261105_140233"
SAID = f"RAG: nobody has measured the errors of gpt-judge; this does: {EXAM}"


def told(data: ReportData, **changes: Any) -> ReportData:
    """Return the run with a judged mean of rag, and rag's results changed."""
    row = CorrectedMean(
        "rag", MODELS[0], "response_groundedness", "gpt-judge", "en", 8, 8, MeanEstimate(0.5, Interval(0.2, 0.8)),
        MeanEstimate(0.4, Interval(0.1, 0.7)), 0.8, 60, whole=True,
    )  # fmt: skip
    first, *others = data.verdict.models
    headlines = tuple(
        replace(one, missing=replace(one.missing, **changes)) if one.suite == "rag" else one
        for one in first.headlines
    )
    judged = replace(data.results.judged, corrected=[row], self_judged={})
    verdict = replace(data.verdict, models=(replace(first, headlines=headlines), *others))
    return replace(data, results=replace(data.results, judged=judged), verdict=verdict)


def with_judges(data: ReportData, **changes: Any) -> ReportData:
    """Return the run with something else known of its judges."""
    judged = replace(data.results.judged, **changes)
    return replace(data, results=replace(data.results, judged=judged))


def warned(run: ReportData) -> list[str]:
    return [text for model, suite, _, text in told_of(run) if (model, suite) == (MODELS[0], "rag")]


def told_of(run: ReportData) -> list[JudgeWarning]:
    return warnings(headlines_of(run.verdict.models), run.results.judged, run.run)


def screen_of(run: ReportData) -> Sequence[str]:
    return screen(run.results, run.verdict, run.plan, run.manifest["requests"]).warnings


def test_every_report_warns_of_a_judge_without_a_passport(data: ReportData) -> None:
    run = told(data, judges_unmeasured=["gpt-judge"], judges_left_out={})
    assert warned(run) == [SAID]
    assert SAID in screen_of(run)
    assert Note(SAID) in notes(run.results, run.verdict, run.plan)
    assert "nobody has measured the errors of" in markdown.compose(run)
    assert "nobody has measured the errors of" in page_of(run)
    cases = {(case.get("classname"), case.get("name")): case for case in junit.compose(run).iter("testcase")}
    assert cases[MODELS[0], "rag"].findtext("system-err") == f"Warning: {SAID}"
    with use_language("ru"):
        assert any("никто не измерил" in warning.text for warning in told_of(run))


def test_every_report_names_a_judge_that_does_not_count_and_why(data: ReportData) -> None:
    why = (
        "it cannot tell right replies from wrong ones: groundedness (en), "
        "100% of 20 right replies recognised, 0% of 40 wrong replies recognised"
    )
    run = told(data, judges_left_out={"always, response_groundedness": why}, judges_unmeasured=[])
    said = f"RAG: always, response_groundedness is not counted: {why}"
    assert warned(run) == [said]
    assert said in screen_of(run)
    assert Note(said) in notes(run.results, run.verdict, run.plan)
    assert "0% of 40 wrong replies recognised" in markdown.compose(run)
    assert "0% of 40 wrong replies recognised" in page_of(run)
    cannot = "верных ответов от неверных он не отличает: groundedness (en), узнано верных 100% of 20"
    with use_language("ru"):
        assert any(cannot in warning.text for warning in told_of(run))


def test_corrected_means_stand_once_in_the_judges_section(data: ReportData) -> None:
    run = told(data)
    for page in (markdown.compose(run), page_of(run)):
        assert "50% (20–80)" in page
        assert page.count("10–70") == 1
        assert page.index("How reliable the judges are") < page.index("10–70")
        assert "Corrected by its exam" in page


def test_an_exams_report_shows_passports_and_apart_from_them_what_people_labelled(data: ReportData) -> None:
    found = [
        ExamResult("gpt-judge", "groundedness", "en", "a", "scored", {"pairs": [["2", "2"]] * 9 + [["0", "2"]]}),
        ExamResult(
            "gpt-judge",
            "entails",
            "ru",
            "b",
            "scored",
            {"pairs": [["SUPPORTED", "not SUPPORTED"]] * 4},
            "lidirus",
        ),
    ]
    run = with_judges(told(data), passports=passports(found))
    own, labelled = passport_tables(run.results.judged.passports)
    assert [row[:2] for row in own.rows] == [["gpt-judge", "groundedness"]]
    assert own.rows[0][3] == "9/10 = 90% (59.6–98.2)"
    assert labelled.rows[0][1] == "lidirus: pairs of Russian sentences by linguistic phenomena"
    assert labelled.rows[0][4] == "0/4 = 0% (0–49)"
    for page in (markdown.compose(run), page_of(run)):
        first, second = page.index("9/10 = 90%"), page.index("The judges on human-labelled data")
        assert first < page.rindex("lidirus: pairs of Russian sentences")
        assert second
    with use_language("ru"):
        own, labelled = passport_tables(run.results.judged.passports)
    assert labelled.title == "Судьи на данных, размеченных людьми"
    assert labelled.rows[0][1] == "lidirus: пары русских предложений по языковым явлениям"
    assert not [one for one in passport_tables(told(data).results.judged.passports) if one.rows]


def test_every_report_says_that_a_judge_grades_its_own_model(data: ReportData) -> None:
    run = told(data, judges_unmeasured=[], judges_left_out={})
    run = with_judges(run, self_judged={"rag": {"gpt": [MODELS[0]]}})
    said = f"RAG: gpt judges the answers of its own model, {MODELS[0]}; models favour their own answers"
    assert warned(run) == [said]
    assert said in screen_of(run)
    assert Note(said) in notes(run.results, run.verdict, run.plan)
    assert "judges the answers of its own model" in markdown.compose(run)
