"""The audit page is one sheet of A4, whatever a run holds, and a browser runs nothing of it."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from basic_control.metrics.analysis.document import document, read
from basic_control.metrics.analysis.judged import JudgeStatus
from basic_control.tasks.report.audit import compose_html, compose_markdown, fit_sheet
from basic_control.tasks.report.audit_run import AuditedRun, Detail
from basic_control.tasks.report.audit_sections import list_omissions
from basic_control.tasks.report.language import use_language
from basic_control.tasks.report.report_data import ReportData
from tests.helpers.finished import HOSTILE
from tests.tasks.report.conftest import Open
from tests.tasks.report.runs import build
from tests.tasks.report.screens import three_metrics

HASHES = dict.fromkeys(("manifest.json", "criteria.json", "results.json"), "0123456789abcdef" * 4)
CHANGE = {"at": "2026-11-01T10:00:00+00:00", "run": "r", "before": 0.8, "after": HOSTILE}


def audited(data: ReportData, **manifest: Any) -> AuditedRun:
    """Return a built run as its audit reads it, from the documents that a run writes."""
    results, verdict = read(json.loads(json.dumps(document(data.results, data.verdict))))
    whole = {"configuration": data.plan.configuration, **data.manifest, **manifest}
    return AuditedRun(data.run, Path("artifacts/runs") / data.run, whole, results, verdict, HASHES)


def crowd(data: ReportData) -> AuditedRun:
    """Return the run with ten times its models, long hostile texts, and forty changes of its criteria."""
    run = audited(data)
    names = [f"owner/{HOSTILE} a model with a rather long name {n}" for n in range(30)]
    model = run.verdict.models[0]
    models = tuple(
        replace(model, model=name, headlines=tuple(replace(row, model=name) for row in model.headlines))
        for name in names
    )
    configuration = {
        **run.configuration,
        "models": [{**run.models[0], "name": name, "system": HOSTILE * 9} for name in names],
        "about": dict.fromkeys(("purpose", "owner", "decision", "population", "data_licence"), HOSTILE * 90),
        "report": {"name": HOSTILE * 5},
    }
    criteria = {
        "file": "criteria.json", "sha256": "0" * 64, "fixed": CHANGE["at"], "since": CHANGE["at"], "n_earlier": 40,
        "earlier": [HOSTILE] * 20, "changes": [{**CHANGE, "key": f"{HOSTILE}{n}"} for n in range(40)],
    }  # fmt: skip
    saves = [{"at": CHANGE["at"], "n": n, "sha256": "0" * 64} for n in range(9)]
    labels = [{"suite": HOSTILE, "model": HOSTILE, "metric": "m", "saved": saves}] * 30
    sets = [f"suites.0.threshold={HOSTILE}"] * 50
    manifest = {**run.manifest, "configuration": configuration, "criteria": criteria, "labels": labels}
    return replace(
        run,
        manifest={**manifest, "rerun": {"of": HOSTILE, "sets": sets}},
        verdict=replace(run.verdict, models=models),
    )


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("kind", ["usual", "crowded", "wide"])
def test_it_prints_on_one_sheet(data: ReportData, tmp_path: Path, visit: Open, kind: str, language: str) -> None:
    run = crowd(data) if kind == "crowded" else audited(data)
    if kind == "wide":
        about = dict.fromkeys(("purpose", "owner", "decision", "population"), "模型名稱" * 400)
        run = replace(run, manifest={**run.manifest, "configuration": {**run.configuration, "about": about}})
    path = tmp_path / "audit.html"
    with use_language(language):
        path.write_text(compose_html(run), encoding="utf-8")
    page = visit(path, samples=False)
    sheets = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", sheets)) == 1
    assert page.locator("script, img, a").count() == 0


def test_both_forms_say_the_same(data: ReportData) -> None:
    run = audited(data)
    with use_language("en"):
        markdown, html = compose_markdown(run), compose_html(run)
        for section in fit_sheet(run)[1]:
            assert f"## {section.title}".replace("?", "?") in markdown
            for _, text in section.lines:
                assert " ".join(re.sub("&[^;]+;", "", text).split())[:9] in html.replace("&#39;", "'")


def test_what_fits_is_not_cut() -> None:
    """Of a small run every suite and score stands on the page."""
    run = audited(build(4, suites=["citation"]))
    with use_language("en"):
        markdown = compose_markdown(run)
    assert "more, in results.json" not in markdown


def test_each_of_seven_questions_has_an_answer_in_a_run_of_four_suites(data: ReportData) -> None:
    """What was tested, by whom, by which judge, how sure, against what, what was left out, may it be released."""
    run = audited(data)
    with use_language("en"):
        page = compose_markdown(run).replace("\\", "")
    for model in run.verdict.models:
        tested = page.partition("## What was tested")[2].partition("\n## ")[0]
        assert model.model in tested
        scores = page.partition("## Scores, the worst first")[2].partition("\n## ")[0]
        assert f"| {model.model} |" in scores, "no model is released unseen"
    data_section = page.partition("## Data")[2].partition("\n## ")[0]
    for suite in run.suites:
        assert f"| {suite['name']} |" in data_section, "what the page is about is cut last"
    assert "- **Tested by:** ____" in page
    for title in ("Judges and their errors", "Against what", "Left out", "Released by these criteria?"):
        assert page.partition(f"## {title}\n\n")[2].partition("\n## ")[0].startswith("- "), title
    left_out = page.partition("## Left out")[2].partition("\n## ")[0]
    assert "rows without a score: " in left_out
    assert "In brackets: the score if what is missing were wrong, or right." in page


def test_a_judge_that_does_not_count_is_among_what_was_left_out(data: ReportData) -> None:
    run = audited(data)
    status = JudgeStatus("rag", "faithfulness", "entails", "small", "en", measured=True, counts=False, why="noise")
    judged = replace(run.results.judged, statuses=[*run.results.judged.statuses, status])
    with use_language("en"):
        lines = list_omissions(replace(run, results=replace(run.results, judged=judged)), Detail(24, 200))
    assert ("small, entails (en)", "does not count: noise") in lines


def test_a_run_that_only_reports_says_so_before_its_verdict(tmp_path: Path) -> None:
    run = audited(three_metrics(tmp_path))
    report_only = replace(run, verdict=replace(run.verdict, gate="off"))
    with use_language("en"):
        page = compose_html(report_only)
        markdown = compose_markdown(report_only)
    title = "Report only, nothing was refused. By these criteria: Fail: "
    assert f'<p class="verdict ">{title}' in page, "it has no colour of a verdict"
    assert f"**{title}" in markdown
    assert "would exit" not in page


def test_a_text_is_cut_between_words_and_one_without_spaces_where_it_must_be() -> None:
    detail = Detail(1, 24)
    assert detail.cut("each metric decides alone") == "each metric decides…"
    assert detail.cut("each metric decides now.") == "each metric decides now."
    assert detail.cut("of 0123456789abcdef0123456789abcdef") == "of 0123456789abcdef0123…"
    assert detail.cut("0123456789abcdef" * 4) == "0123456789abcdef0123456…"


def test_code_is_code_on_the_page(data: ReportData) -> None:
    """A phrase has it in backticks, as in Markdown; what a stranger wrote stays text."""
    with use_language("en"):
        page = compose_html(audited(data, commit="`<b>`"))
    assert "<code>&lt;b&gt;</code>" in page
    assert "`" not in page


def test_the_level_of_each_interval_is_named(data: ReportData) -> None:
    with use_language("en"):
        page = compose_markdown(audited(data))
    against = page.partition("## Against what")[2].partition("\n## ")[0]
    assert "95 % interval (Holm)" in against
    assert "| 95 % interval |" in page.partition("## Scores")[2].partition("\n## ")[0]
