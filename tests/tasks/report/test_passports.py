"""A suite that is decided by judges whom nobody has measured says so in every report."""

from dataclasses import replace
from typing import Any

from metrics.corrected import NO_PASSPORT, CorrectedMean
from metrics.stats.intervals import Interval
from tasks.report import html, junit, markdown
from tasks.report.material import Material
from tasks.report.operations import notes
from tasks.report.passports import warnings
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
        results={**material.results, "corrected": [row.as_dict()], "final": {**final, "models": models}},
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


def test_where_the_judge_is_not_believed_or_labels_decide_there_is_nothing_to_warn_of(material: Material) -> None:
    assert warnings(told(material, measured=False).results, "en") == []
    assert warnings(told(material, as_judged=0.4, n_labels=30).results, "en") == []
