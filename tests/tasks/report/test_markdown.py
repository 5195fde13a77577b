"""The Markdown report: the seed's sections, the verdict, and what bands mean."""

from dataclasses import replace
from typing import Literal

import pytest

from tasks.report import markdown
from tasks.report.material import Material


@pytest.mark.parametrize(
    ("language", "verdict", "bands"),
    [
        ("en", "## Verdict", "## What the scores of factual\\_correctness mean"),
        ("ru", "## Вердикт", "## Что значат оценки factual\\_correctness"),
    ],
)
def test_it_holds_the_verdict_and_what_bands_mean(
    material: Material, language: Literal["en", "ru"], verdict: str, bands: str
) -> None:
    settings = material.settings
    told = settings.model_copy(update={"report": settings.report.model_copy(update={"language": language})})
    text = markdown.compose(replace(material, settings=told))
    assert verdict in text
    assert bands in text
    sections = [line for line in text.splitlines() if line.startswith("## ")]
    assert sections.index(verdict) == 2, "after the seed's own sections"
    rows = text.partition(verdict)[2].partition("\n## ")[0].strip().splitlines()
    final = material.results["final"]["models"]
    assert len(rows) == 2 + sum(len(model["suites"]) + 1 for model in final)
    counted = text.partition(bands)[2].partition("\n## ")[0].strip().splitlines()[2:]
    cells = [[int(n) for n in row.strip("|").split("|")[3:]] for row in counted]
    scored = material.scores.filter(metric="factual_correctness").drop_nulls("value")
    assert sum(map(sum, cells)) == scored.height > 0
    assert [row.split("|")[2].strip() for row in counted] == ["90%", "70%", "50%", "0%"]
