"""The Markdown report: the seed's sections, the verdict, and what bands mean."""

from dataclasses import replace
from typing import Literal

import polars as pl
import pytest

from basic_control.tasks.report import markdown
from basic_control.tasks.report.explained import band
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.text import escape_markdown, percent
from basic_control.tasks.report.titles import family_title
from tests.tasks.report.runs import in_language, page_of


@pytest.mark.parametrize(
    ("language", "verdict", "bands"),
    [
        ("en", "## Verdict", "## What the scores of factual\\_correctness mean"),
        ("ru", "## Вердикт", "## Что значат оценки factual\\_correctness"),
    ],
)
def test_it_holds_the_verdict_and_what_bands_mean(
    data: ReportData, language: Literal["en", "ru"], verdict: str, bands: str
) -> None:
    text = markdown.compose(in_language(data, language))
    assert verdict in text
    assert bands in text
    sections = [line for line in text.splitlines() if line.startswith("## ")]
    assert sections.index(verdict) == 2, "after the seed's own sections"
    rows = [line for line in text.partition(verdict)[2].partition("\n## ")[0].splitlines() if line.startswith("|")]
    assert len(rows) == 2 + sum(len(model.scores) for model in data.verdict.models)
    counted = text.partition(bands)[2].partition("\n## ")[0].strip().splitlines()[2:]
    cells = [[int(n) for n in row.strip("|").split("|")[3:]] for row in counted]
    scored = data.scores.filter(metric="factual_correctness").drop_nulls("value")
    assert sum(map(sum, cells)) == scored.height > 0
    assert [row.split("|")[2].strip() for row in counted] == ["90%", "70%", "50%", "0%"]


def test_whoever_gave_recorded_responses_is_among_the_tested_models(data: ReportData) -> None:
    *others, last = data.plan.suites
    given = replace(data, plan=replace(data.plan, suites=(*others, replace(last, responses_of="last week"))))
    for run, also in ((data, []), (given, ["last week"])):
        tested = ", ".join(f"`{name}`" for name in [*data.plan.model_names, *also])
        assert f"\n**Tested models:** {tested}  \n" in markdown.compose(run)


@pytest.mark.parametrize(
    ("language", "head", "worth"),
    [("en", "Chain of thought", "98.5 % of chains"), ("ru", "Цепочка рассуждений", "98,5 % цепочек")],
)
def test_sound_chains_stand_beside_the_score_with_what_it_is_worth(
    data: ReportData, language: Literal["en", "ru"], head: str, worth: str
) -> None:
    shown = in_language(data, language)
    section = markdown.compose(shown).partition(f"## {head}")[2].partition("\n## ")[0]
    assert worth in section
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    sound = data.scores.filter(metric="cot.sound").drop_nulls("value")
    shares = {model: group["value"].mean() for (model,), group in sound.group_by("model")}
    assert len(rows) == len(shares) > 1
    means = [percent(float(str(share))) for share in shares.values()]
    shown_means = sorted(row.split("|")[3].split("(")[0].strip() for row in rows)
    assert shown_means == sorted(mean.replace(".", "," if language == "ru" else ".") for mean in means)
    page = page_of(shown)
    assert worth in page
    assert f"{head}: " in page, "a column of the heat map"


@pytest.mark.parametrize(
    ("language", "said", "off", "why"),
    [
        ("en", "Sandbox for models' programs", "off", "no Java for Kotlin"),
        ("ru", "Песочница для программ моделей", "выключено", "нет Java для Kotlin"),
    ],
)
def test_it_says_what_held_models_programs(
    data: ReportData, language: Literal["en", "ru"], said: str, off: str, why: str
) -> None:
    told = in_language(data, language)
    text = markdown.compose(told)
    held = f"wasm `CPython 3.14.0 in wasmtime 50.0.1`; landlock `{off}`; kotlin `{off} ({why})`"
    assert f"**{said}:** {held}" in text
    bare = {name: value for name, value in data.manifest.items() if name != "sandbox"}
    assert said not in markdown.compose(replace(told, manifest=bare))


def test_a_reason_is_counted_once_whether_replies_were_cut_or_not(data: ReportData) -> None:
    """As on the page; half of a family's wrong replies are cut here."""
    places = data.items.select("item_id", "suite", "family")
    wrong = data.scores.filter(metric="correct", status="scored", value=0.0).join(places, on="item_id")
    model, family, reason, n = wrong.group_by("model", "family", "reason").len("n").sort("n", "reason").row(-1)
    assert n > 1
    own = {"model": model, "family": family, "reason": reason}
    half = wrong.filter(**own)["item_id"].head(n // 2).to_list()
    cut = pl.col("item_id").is_in(half) & (pl.col("metric") == "correct") & (pl.col("model") == model)
    scores = data.scores.with_columns(status=pl.when(cut).then(pl.lit("truncated")).otherwise("status"))
    suite = data.plan.find_suite("basic_control").suite
    said = markdown.analysis(markdown.FamilyScores(suite, data.summary, data.items, scores), model)
    assert (
        sum(f"{escape_markdown(family_title(family))}: {escape_markdown(reason)} (" in line for line in said) == 1
    )


@pytest.mark.parametrize(
    ("value", "name"),
    [(1.0, "excellent"), (0.9, "excellent"), (0.8999, "good"), (0.7, "good"), (0.6999, "fair"), (0.5, "fair"),
     (0.4999, "poor"), (0.0, "poor"), (sum((0.45, 0.7, 0.95)) / 3, "good")],  # the last a bit below 0.7, as stored
)  # fmt: skip
def test_a_floor_belongs_to_its_band(value: float, name: str) -> None:
    assert band(value) == name
