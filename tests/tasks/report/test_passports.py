"""A suite that is decided by judges whom nobody has measured says so in every report."""

from dataclasses import asdict, replace
from typing import Any

from metrics.corrected import NO_PASSPORT, CorrectedMean
from metrics.passports import Sitting, passports
from metrics.self_preference import NO_JUDGE, SelfPreference
from metrics.stats.intervals import Interval
from tasks.report import html, junit, markdown
from tasks.report.material import Material
from tasks.report.operations import notes
from tasks.report.passports import passport_tables, self_lines, warnings
from tasks.report.terminal import lines
from tests.tasks.report.runs import MODELS

SAID = "rag: judged by gpt-judge on 8 replies, whose errors nobody has measured; `basic-control exam` does"


def told(material: Material, **changes: Any) -> Material:
    """Return the run with a judged mean of rag without a passport, and rag's results changed."""
    row = CorrectedMean(
        "rag", MODELS[0], "response_groundedness", "gpt-judge", "en", 8, 8, 0.5, Interval(0.2, 0.8), None,
        Interval(), None, 0, NO_PASSPORT,
    )  # fmt: skip
    final = material.results["final"]
    models = [
        {**one, "suites": [{**s, **(changes if s["suite"] == "rag" else {})} for s in one["suites"]]}
        for one in final["models"]
    ]
    return replace(
        material,
        results={**material.results, "corrected": [asdict(row)], "final": {**final, "models": models}},
    )


def test_every_report_warns_of_a_judge_without_a_passport(material: Material) -> None:
    run = told(material, measured=True)
    assert warnings(run.results, "en") == [(MODELS[0], "rag", SAID)]
    counted = {"asked": 1, "cached": 0, "answered": 1, "failed": 0}
    assert f"Warning: {SAID}" in list(lines(run.results, counted, run.settings))
    assert ("warn", SAID) in notes(run, list(MODELS))
    assert "whose errors nobody has measured" in markdown.compose(run)
    assert "whose errors nobody has measured" in html.compose(run)
    cases = [case for case in junit.gates(run).iter("testcase") if case.find("system-err") is not None]
    assert [(case.get("classname"), case.get("name")) for case in cases] == [(MODELS[0], "rag")]
    assert cases[0].findtext("system-err") == f"Warning: {SAID}"
    assert "никто не измерил" in warnings(run.results, "ru")[0][2]


def test_what_a_judge_said_stands_with_its_n_and_interval_in_every_report(material: Material) -> None:
    run = told(material)
    counted = {"asked": 1, "cached": 0, "answered": 1, "failed": 0}
    said = "50% (20% – 80%) as judged by 8 verdicts, the judge has no passport"
    assert any(said in line for line in lines(run.results, counted, run.settings))
    assert "50% (20% – 80%)" in markdown.compose(run)
    assert "50% (20% – 80%)" in html.compose(run)


def test_an_exams_report_shows_passports_and_apart_from_them_what_people_labelled(material: Material) -> None:
    found = [
        Sitting("gpt-judge", "groundedness", "en", "scored", {"pairs": [["2", "2"]] * 9 + [["0", "2"]]}, 0),
        Sitting(
            "gpt-judge", "entails", "ru", "scored", {"pairs": [["SUPPORTED", "not SUPPORTED"]] * 4}, 0, "lidirus"
        ),
    ]
    run = told(material)
    run = replace(run, results={**run.results, "passports": [one.as_dict() for one in passports(found)]})
    own, labelled = passport_tables(run.results, "en")
    assert [row[:2] for row in own.rows] == [("gpt-judge", "groundedness")]
    assert own.rows[0][3] == "9/10 = 90% (59.6% – 98.2%)"
    assert labelled.rows[0][1] == "lidirus: pairs of Russian sentences by linguistic phenomena"
    assert labelled.rows[0][4] == "0/4 = 0% (0% – 49%)"
    for page in (markdown.compose(run), html.compose(run)):
        first, second = page.index("9/10 = 90%"), page.index("The judges on what people labelled")
        assert first < page.rindex("lidirus: pairs of Russian sentences")
        assert second
    own, labelled = passport_tables(run.results, "ru")
    assert labelled.title == "Судьи на том, что разметили люди"
    assert labelled.rows[0][1] == "lidirus: пары русских предложений по языковым явлениям"
    assert passport_tables(told(material).results, "en") == []


def test_every_report_says_how_a_judge_grades_its_own_model(material: Material) -> None:
    found = SelfPreference("rag", "rubric", "gpt", ("gpt",), 40, 0.125, Interval(0.05, 0.2))
    unknown = SelfPreference("cot", "rubric", "gpt", ("gpt",), 0, None, Interval(), NO_JUDGE)
    run = told(material)
    run = replace(run, results={**run.results, "self_preference": [asdict(found), asdict(unknown)]})
    first = (
        "rag, rubric: gpt grades its own model: +12.5 points [+5.0, +20.0] better than the other judges do, beyond "
        "how it grades the others; 40 questions"
    )
    second = "cot, rubric: gpt grades its own model: no other judge graded the same replies"
    assert list(self_lines(run.results, "en")) == [first, second]
    counted = {"asked": 1, "cached": 0, "answered": 1, "failed": 0}
    assert {first, second} <= set(lines(run.results, counted, run.settings))
    assert {("warn", first), ("warn", second)} <= set(notes(run, list(MODELS)))
    assert "grades its own model" in markdown.compose(run)
    assert "другие судьи этих ответов не оценивали" in list(self_lines(run.results, "ru"))[1]


def test_where_the_judge_is_not_believed_or_labels_decide_there_is_nothing_to_warn_of(material: Material) -> None:
    assert warnings(told(material, measured=False).results, "en") == []
    assert warnings(told(material, as_judged=0.4, n_labels=30).results, "en") == []
