"""A metric of one's own has the pages that the shipped ones have, from its own file alone."""

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from basic_control.data import plugins
from basic_control.data.plugins import metric
from basic_control.data.tables import ITEMS, SCORES
from basic_control.tasks.report import markdown
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.score import metric_rows
from basic_control.tasks.store.samples import SampleRow
from tests.tasks.report.runs import build, complete, page_of, settings

METRIC = """
from basic_control.data.records import Metric, Score
from basic_control.data.shown import Crossing, Distribution, Shown


def score(sample, found, options):
    said = sample["response"] or ""
    warm, brief = float("!" in said), float(len(said) < 40)
    return Score((warm + brief) / 2, details={"mood": "warm" if warm else "cold", "brief": bool(brief)},
                 parts={"warm": warm, "brief": brief})


UNIT = Metric(
    name="mood",
    version=1,
    bounds=(0.0, 1.0),
    score=score,
    title={"en": "Mood", "ru": "Тон"},
    shown=SHOWN,
)
"""
SHOWN = """Shown(
        parts={"warm": {"en": "is warm", "ru": "тепло"}, "brief": {"en": "is brief", "ru": "кратко"}},
        headline=("warm",),
        distributions=(
            Distribution("mood", lambda d: [d["mood"]], {"warm": {"en": "Warm"}, "cold": {"en": "Cold"}},
                         title={"en": "How it sounds", "ru": "Как звучит"}),
        ),
        crossings=(
            Crossing("both", lambda d: (d["mood"], str(d["brief"])), {"warm": {}, "cold": {}},
                     {"True": {"en": "brief"}, "False": {"en": "long"}}, title={"en": "Mood and length"}),
        ),
        bands=True,
        meanings={"good": {"en": "a pleasure to read", "ru": "приятно читать"}},
        note={"en": "An exclamation mark is no smile.", "ru": "Восклицательный знак не улыбка."},
    )"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder of plug-ins that is forgotten at the end."""
    monkeypatch.setenv(plugins.VARIABLE, "")
    yield tmp_path
    plugins.forget()


def run(folder: Path, shown: str, language: str = "en") -> ReportData:
    """Return a run of one suite that a metric of one's own scores."""
    (folder / "mood.py").write_text(METRIC.replace("SHOWN", shown), encoding="utf-8")
    plugins.use([folder])
    base = build(1, suites=["cot"])
    rows = folder / "rows.jsonl"
    rows.write_text(json.dumps({"question": "Hello?"}) + "\n", encoding="utf-8")
    own = {
        "name": "greetings",
        "title": {"en": "Greetings", "ru": "Приветствия"},
        "items": {"data": str(rows)},
        "prompt": "{{ question }}",
        "metrics": {"mood": {}},
    }
    given = settings(suites=[own], report={"language": language})
    items = base.items.with_columns(suite=pl.lit("greetings"))
    texts = ["Good morning to you!", "What do you want from me at this hour of the day?", "Hi."]
    replies = [
        (item_id, model.name, texts[(at + n) % 3])
        for at, model in enumerate(given.models)
        for n, item_id in enumerate(items["item_id"])
    ]
    unit = metric("mood")
    scored = [
        (SampleRow(i, m, 0, "en", {"response": text}, None, None), unit.score({"response": text}, {}, {}))
        for i, m, text in replies
    ]
    scores = SCORES.frame(metric_rows(unit, scored))
    asked = base.replies.select(pl.exclude(*(set(ITEMS.columns) - {"item_id"})))
    return complete(given, items, asked, verdicts=base.verdicts, scores=scores, judged=base.judged)


def test_its_parts_distributions_and_bands_have_the_same_pages(folder: Path) -> None:
    page = page_of(data := run(folder, SHOWN))
    section = page[page.index('<section id="suite-greetings"') :]
    section = section[: section.index("</section>")]
    for said in (
        "Greetings", "Mood", "is warm", "is brief", "How it sounds", "Warm", "Cold", "Mood and length", "brief",
        "long", "a pleasure to read", "An exclamation mark is no smile.",
    ):  # fmt: skip
        assert said in section, said
    assert '<a href="#suite-greetings">Greetings</a>' in page
    assert "Mood: is warm" in page, "the headline is a column of the heat map"
    text = markdown.compose(data)
    assert "is warm" in text
    assert "a pleasure to read" in text
    assert "An exclamation mark is no smile." in text
    warm = data.scores.filter(metric="mood.warm")
    counted = sum(int(value) for value in warm["value"])
    assert 0 < counted < warm.height


def test_it_is_shown_in_the_reports_language_where_it_has_that(folder: Path) -> None:
    page = page_of(run(folder, SHOWN, "ru"))
    for said in (
        "Приветствия",
        "тепло",
        "Как звучит",
        "приятно читать",
        "Восклицательный знак не улыбка.",
        ">Warm<",
    ):
        assert said in page, said


def test_parts_that_are_not_declared_are_shown_by_their_names(folder: Path) -> None:
    page = page_of(run(folder, "Shown()"))
    section = page[page.index('<section id="suite-greetings"') :]
    assert ">brief</th>" in section
    assert ">warm</th>" in section
