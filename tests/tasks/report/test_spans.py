"""Sentences without support are marked in the reply; a claim is found by its words, or listed apart."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from basic_control.tasks.plan import resolve
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.samples import list_unsupported, mark_reply
from tests.helpers.finished import HOSTILE
from tests.tasks.report.conftest import Open
from tests.tasks.report.runs import build, settings, write_page

EINSTEIN = "Albert Einstein was born in Ulm. He was born on 20 March 1879. He died in Princeton."
ORDER = "Заказ отправлен 3 мая. Курьер привезёт его в пятницу. Оплата наличными не принимается."
CHINESE = "法国的首都是巴黎。埃菲尔铁塔高330米。"


def find(text: str, *claims: str) -> tuple[list[str], list[str]]:
    """Return the marked sentences, and the claims that stand in none."""
    marked = mark_reply(text, [(claim, claim) for claim in claims])
    units = text.encode("utf-16-le")
    return [units[2 * start : 2 * end].decode("utf-16-le") for start, end in marked.spans], [*marked.elsewhere]


@pytest.mark.parametrize(
    ("text", "claim", "sentences"),
    [
        (EINSTEIN, "Einstein was born on 20 March 1879.", ["He was born on 20 March 1879."]),
        (EINSTEIN, "Albert Einstein died in Princeton.", ["He died in Princeton."]),
        (EINSTEIN, "Ulm is the city where Albert Einstein was born.", ["Albert Einstein was born in Ulm."]),
        (
            EINSTEIN,
            "Albert Einstein, born in Ulm, died in Princeton.",
            ["Albert Einstein was born in Ulm.", "He died in Princeton."],
        ),
        (ORDER, "Курьер доставит заказ в пятницу.", ["Курьер привезёт его в пятницу."]),
        (ORDER, "Наличная оплата не принимается.", ["Оплата наличными не принимается."]),
        (CHINESE, "埃菲尔铁塔的高度是330米", ["埃菲尔铁塔高330米。"]),
        ("🗼 is high. It is 330 m high. 🗼", "It is 330 m high.", ["It is 330 m high."]),
        ("- It is red.\n- It is blue.\n", "It is blue.", ["- It is blue."]),
        ("It is so. Yes. It is so.", "It is so.", ["It is so.", "It is so."]),
    ],
)
def test_a_claim_is_found_in_the_sentences_that_it_came_from(text: str, claim: str, sentences: list[str]) -> None:
    assert find(text, claim) == (sentences, [])


@pytest.mark.parametrize("claim", ["The tower is in Paris.", "", "…", "Nobody likes it"])
def test_a_claim_of_other_words_is_listed_apart(claim: str) -> None:
    assert find(EINSTEIN, claim) == ([], [claim])


def test_only_claims_without_support_are_told_with_who_said_so() -> None:
    verdicts = [("a", "SUPPORTED"), ("b", "CONTRADICTED"), ("c", "NEUTRAL")]
    claims = [{"id": text, "text": text, "verdict": verdict, "reason": "seen"} for text, verdict in verdicts]
    details = json.dumps(
        {"judges": {"j": {"details": {"response_claims": claims}}, "k": {"status": "judge_failed"}}}
    )
    found = [*list_unsupported(details, "response_claims")]
    assert found == [("b", "b (j: contradicted: seen)"), ("c", "c (j: neutral: seen)")]
    for damaged in ("", "{", "[]", '{"judges": 3}', '{"judges": {"j": 3}}', '{"judges": {"j": {"details": [1]}}}'):
        assert [*list_unsupported(damaged, "response_claims")] == []


@pytest.fixture(scope="module")
def faithful() -> ReportData:
    """Return a run of which one reply's claims are judged: a hostile one stands in it, another does not."""
    data = build(1, suites=["rag"])
    reply = f"{HOSTILE} is the answer. It is on page 7. <b>It is red</b>."
    claims = [
        {"id": "1", "text": "It is on page 7.", "verdict": "SUPPORTED", "reason": ""},
        {"id": "2", "text": f"{HOSTILE} is the answer", "verdict": "NEUTRAL", "reason": HOSTILE},
        {"id": "3", "text": f"Nowhere, says nobody {HOSTILE[:3]}", "verdict": "CONTRADICTED", "reason": ""},
    ]
    details = json.dumps({"judges": {"judge": {"value": 0.3, "details": {"response_claims": claims}}}})
    scores = data.scores.filter(metric="response_groundedness").with_columns(
        metric=pl.lit("faithfulness"), details=pl.lit(details)
    )
    items = {"data": "sample", "loader": "retrieved"}
    plan = settings(suites=[{"name": "rag", "items": items, "metrics": {"faithfulness": {}}}])
    return replace(
        data,
        plan=resolve(plan),
        scores=pl.concat([data.scores, scores]),
        replies=data.replies.with_columns(text=pl.lit(reply)),
    )


def test_marks_and_lists_are_texts_on_the_page(faithful: ReportData, visit: Open, tmp_path: Path) -> None:
    page = visit(write_page(faithful, tmp_path))
    marks = page.locator(".sample mark.unsupported")
    assert marks.count() >= 1
    assert "is the answer" in "".join(marks.all_inner_texts())
    assert "page 7" not in "".join(marks.all_inner_texts())
    below = page.locator(".sample details:has-text('Claims without support')")
    assert "Nowhere, says nobody" in below.inner_text()
    assert page.locator(".sample script, .sample b >> text=It is red").count() == 0
