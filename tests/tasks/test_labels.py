"""A sheet is drawn with the probabilities that it says, and its labels correct the judge's mean."""

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from basic_control.data.errors import InputError
from basic_control.data.suites import Suite
from basic_control.flows.cli.commands.label import table_of
from basic_control.metrics.analysis.judged import Labels
from basic_control.tasks.judges.labels import (
    KEY,
    criteria_of,
    estimates,
    join_judged,
    load_corrections,
    read_labels,
    sheet,
    store_labels,
)
from basic_control.tasks.report.exports import write_csv


def found(values: list[float]) -> pl.DataFrame:
    n = len(values)
    return pl.DataFrame(
        {
            "suite": ["rag"] * n,
            "model": ["=m"] * n,
            "metric": ["rubric"] * n,
            "item_id": [f"i{place:04}" for place in range(n)],
            "repeat": [0] * n,
            "value": values,
            "details": ['{"judges": {}}'] * n,
            "prompt": ["p"] * n,
            "facts": ['{"reference": "r"}'] * n,
            "response": ["x"] * n,
            "cluster": [-1] * n,
        }
    )


def filled(tmp_path: Path, drawn: pl.DataFrame, label: Any) -> Path:
    """Write the sheet as the command does, and fill it as a person would."""
    path = write_csv(drawn, tmp_path / "sheet.csv")
    rows = list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0], "label_2"])
        writer.writeheader()
        writer.writerows({**row, **label(int(row["item_id"][1:]))} for row in rows)
    return path


SCORES = [1.0 if n % 10 < 7 else 0.0 for n in range(400)]
TRUTH = [1.0 if n % 10 < 6 else 0.0 for n in range(400)]


def test_a_sheet_holds_so_many_replies_each_once_by_a_known_chance() -> None:
    values = [(n % 5) / 4 for n in range(200)]
    drawn = sheet(found(values), n=40)
    assert drawn.height == drawn["item_id"].n_unique() == 40
    assert drawn["probability"].to_list() == [0.2] * 40
    every = (found(values).with_columns(suite=pl.lit(f"s{n}")) for n in range(300))
    times = sum(sheet(one, n=40).filter(item_id="i0002").height for one in every)
    all_of_it = sheet(found(values), n=200)
    assert all_of_it["probability"].to_list() == [1.0] * 200
    # Of 300 draws the count is within four standard errors of its chance.
    assert abs(times / 300 - 0.2) < 4 * (0.2 * 0.8 / 300) ** 0.5


def test_labels_put_the_judges_mean_right(tmp_path: Path) -> None:
    drawn = sheet(found(SCORES), n=100)
    path = filled(tmp_path, drawn, lambda n: {"label": "yes" if TRUTH[n] else "no"})
    one = estimates(found(SCORES), read_labels(path))[0]
    assert (one.suite, one.model, one.metric, one.powered.n_labels) == ("rag", "=m", "rubric", 100)
    assert one.powered.judged.mean == pytest.approx(0.7)
    assert one.powered.value == pytest.approx(0.6, abs=0.04)
    assert one.powered.interval.low is not None
    assert one.powered.interval.high is not None
    assert one.powered.interval.low < 0.6 < one.powered.interval.high
    assert one.agreement is None


def test_each_figure_about_the_judge_is_shown_with_its_interval(tmp_path: Path) -> None:
    """The judge's own mean 0.7 of 400 by Wilson (65.3 to 74.3 %), what the labels alone say, the estimate."""
    path = filled(tmp_path, sheet(found(SCORES), n=100), lambda n: {"label": TRUTH[n]})
    listed = estimates(found(SCORES), read_labels(path))
    it = listed[0].powered
    assert (it.labelled.interval.units, it.judged.interval.units) == (100, 400)
    console = Console(width=300, record=True, file=io.StringIO())
    console.print(table_of(listed).terminal())
    shown = console.export_text()
    assert "100 of 400" in shown
    assert "70% (65.3–74.3)" in shown
    assert f"{it.weight:.2f}" in shown
    assert len(re.findall(r"\d% \([\d.]+–[\d.]+\)", shown)) == 3, "judge, labels alone, estimate"


def test_too_few_labels_say_nothing_of_how_far_the_judge_is_to_be_relied_on(tmp_path: Path) -> None:
    path = filled(tmp_path, sheet(found(SCORES), n=15), lambda n: {"label": TRUTH[n]})
    listed = estimates(found(SCORES), read_labels(path))
    console = Console(width=300, record=True, file=io.StringIO())
    console.print(table_of(listed).terminal())
    assert "an interval needs 10 of either" in console.export_text()


def test_two_labellers_agreement_stands_beside_the_estimate(tmp_path: Path) -> None:
    drawn = sheet(found(SCORES), n=60)
    path = filled(tmp_path, drawn, lambda n: {"label": TRUTH[n], "label_2": TRUTH[n]})
    several = estimates(found(SCORES), read_labels(path))[0].agreement
    assert several is not None
    assert several.alpha == pytest.approx(1.0)
    assert several.n_units == 60
    assert several.interval.low is not None
    assert 0.9 < several.interval.low < 1, "sixty that agree do not prove that all would"


def test_two_labellers_each_fill_a_sheet_of_the_same_draw(tmp_path: Path) -> None:
    drawn = sheet(found(SCORES), n=60)
    first = filled(tmp_path, drawn, lambda n: {"label": TRUTH[n]}).rename(tmp_path / "one.csv")
    second = filled(tmp_path, drawn, lambda n: {"label": 1 - TRUTH[n] if n % 10 == 3 else TRUTH[n]})
    one = estimates(found(SCORES), read_labels(first, second))[0]
    assert one.agreement is not None
    assert one.agreement.n_units == one.powered.n_labels == 60
    assert one.agreement.alpha is not None
    assert one.agreement.interval.low is not None
    assert one.agreement.interval.low < one.agreement.alpha < 1
    other = filled(tmp_path, sheet(found(SCORES), n=400), lambda n: {"label": TRUTH[n]})
    with pytest.raises(InputError, match="expected sheets of one draw"):
        read_labels(first, other)
    with pytest.raises(InputError, match="expected the one in the drawn sheet"):
        read_labels(filled(tmp_path, drawn, lambda _: {"label": 1, "probability": "often"}))


def test_what_judges_said_that_do_not_count_can_be_labelled(tmp_path: Path) -> None:
    """Their scores have no value; people's labels are joined with what they said together."""
    details = [
        json.dumps(
            {
                "aggregate": "mean",
                "judges": {"a": {"value": one}, "b": {"value": 1.0}},
                "left_out": {"a": "", "b": ""},
            }
        )
        for one in SCORES
    ]
    blank = found(SCORES).with_columns(value=pl.lit(None, pl.Float64), details=pl.Series(details))
    items = blank.select("item_id", "suite", "prompt", "facts", family=pl.lit(""), template=pl.lit(""))
    texts = blank.select("item_id", "model", "repeat", "response")
    told = join_judged(blank.drop("suite", "prompt", "facts", "response"), items, texts)
    assert told["value"].to_list() == [(one + 1) / 2 for one in SCORES]
    sheeted = filled(tmp_path, sheet(told, n=100), lambda n: {"label": TRUTH[n]})
    assert estimates(told, read_labels(sheeted))[0].powered.value == pytest.approx(0.6, abs=0.04)


def test_the_unit_is_the_question_or_the_template_that_questions_share() -> None:
    once = found(SCORES)
    repeated = pl.concat(once.with_columns(repeat=pl.lit(repeat)) for repeat in range(4))
    alike = once.with_columns(cluster=pl.Series([n // 4 for n in range(400)]))

    def limits(judged: pl.DataFrame) -> tuple[float | None, float | None]:
        rows = judged.select(
            pl.col(KEY).cast(pl.String), label=pl.concat_list("value"), probability=1.0, where=pl.lit("")
        )
        (one,) = estimates(judged, rows)
        return one.powered.interval.low, one.powered.interval.high

    assert limits(repeated) == pytest.approx(limits(once))
    assert limits(alike) != pytest.approx(limits(once), abs=0.001)


def test_labels_are_known_to_every_run_of_the_same_replies_by_the_same_criterion(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Another judge's scores of them are put right by the same labels; changed replies or criteria have none."""
    judged, folder = found(SCORES), tmp_path / "kept"
    columns = ("item_id", "suite", "prompt", "facts")
    items, texts = (
        judged.select(*columns, family=pl.lit(""), template=pl.lit("")),
        judged.select("item_id", "model", "repeat", "response"),
    )
    scores = judged.drop("suite", "prompt", "facts", "response")

    def known(scored: pl.DataFrame = scores, said: pl.DataFrame = texts, criterion: str = "Polite.") -> Labels:
        suite = Suite(name="rag", items={}, metrics={"rubric": {"criteria": criterion}})
        return load_corrections(folder, [suite], scored, items, lambda: said)

    assert known() == {}
    rows = read_labels(filled(tmp_path, sheet(judged, n=100), lambda n: {"label": TRUTH[n]}))
    store_labels(judged, rows, {("rag", "rubric"): '"Polite."'}, folder)
    key = ("rag", "=m", "rubric")
    assert known() == {key: estimates(judged, rows)[0].powered}
    other = scores.with_columns(value=1 - pl.col("value"))
    assert known(other)[key].judged.mean == pytest.approx(0.3)
    assert known(other)[key].value == pytest.approx(0.6, abs=0.1)
    assert known(scores.filter(pl.col("item_id") != "i0000"))[key].n_samples == 399, "its judge failed there"
    assert known(criterion="Short.") == {}
    assert known(said=texts.with_columns(response=pl.lit("y"))) == {}
    assert "rag, =m, rubric: replies have changed since they were labelled." in caplog.text
    (path,) = folder.iterdir()
    stored = json.loads(path.read_text(encoding="utf-8"))
    first = stored["labelled"][0]
    wrong = [{**first, "labels": [5.0]}, {**first, "labels": [math.nan]}, {**first, "labels": []},
             {**first, "probability": 0.0}, stored["labelled"][1]]  # fmt: skip
    for damaged in [{**stored, "labelled": [one, *stored["labelled"][1:]]} for one in wrong] + [[{}]]:
        path.write_text(json.dumps(damaged), encoding="utf-8")
        with pytest.raises(InputError, match="again with the filled sheets"):
            known()


def test_rows_left_empty_are_rows_not_drawn(tmp_path: Path) -> None:
    drawn = sheet(found(SCORES), n=100)
    path = filled(tmp_path, drawn, lambda n: {"label": TRUTH[n] if n % 2 else ""})
    assert 0 < estimates(found(SCORES), read_labels(path))[0].powered.n_labels < 100


@pytest.mark.parametrize(("label", "said"), [("maybe", "expected a number from 0 to 1"), ("", "found no label")])
def test_what_is_no_label_is_one_message(tmp_path: Path, label: str, said: str) -> None:
    path = filled(tmp_path, sheet(found(SCORES), n=20), lambda _: {"label": label})
    with pytest.raises(InputError, match=said):
        estimates(found(SCORES), read_labels(path))


def test_two_columns_of_labels_of_one_name_are_one_message(tmp_path: Path) -> None:
    """A second labeller's would have replaced the first one's."""
    path = filled(tmp_path, sheet(found(SCORES), n=20), lambda n: {"label": TRUTH[n], "label_2": 1 - TRUTH[n]})
    path.write_text(path.read_text(encoding="utf-8-sig").replace("label_2", "label", 1), encoding="utf-8")
    with pytest.raises(InputError, match="the column 'label' is there twice"):
        read_labels(path)


def test_a_wrong_label_is_told_by_its_row_in_a_spreadsheet(tmp_path: Path) -> None:
    """The prompts have two lines each, so that it stands in the seventh line."""
    label = pl.when(pl.int_range(pl.len()) == 2).then(pl.lit("maybe")).otherwise(pl.lit("1"))
    drawn = sheet(found(SCORES), n=20).with_columns(prompt=pl.lit("two\nlines"), label=label)
    with pytest.raises(InputError, match=r"sheet\.csv, row 4, column label: found the label 'maybe'"):
        read_labels(write_csv(drawn, tmp_path / "sheet.csv"))


def test_another_file_is_one_message(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="expected a sheet"):
        read_labels(path)


def test_a_metric_that_was_not_judged_is_one_message() -> None:
    with pytest.raises(InputError, match="expected one of rubric"):
        sheet(found(SCORES), n=5, metric="cot")


@pytest.mark.parametrize(
    ("metric", "option", "one", "other"),
    [("preference", "baseline", "weak", "strong"), ("factual_correctness", "mode", "precision", "recall")],
)
def test_labels_of_one_comparison_or_mode_are_none_of_another(
    metric: str, option: str, one: str, other: str
) -> None:
    shared = {"name": "s", "items": {"data": "x"}}
    met, new = (
        criteria_of([Suite.model_validate({**shared, "metrics": {metric: {option: value}}})])
        for value in (one, other)
    )
    assert met != new


def test_a_sheet_shows_the_retrieved_texts_that_the_judge_saw() -> None:
    rows = found([0.0, 1.0]).with_columns(
        facts=pl.Series(['{"reference": "r", "retrieved_contexts": ["One.", "Two."]}', '{"reference": "r"}'])
    )
    drawn = sheet(rows, n=2)
    assert {*drawn["retrieved_contexts"]} == {"One.\n\nTwo.", ""}
    assert "retrieved_contexts" not in sheet(found([0.0, 1.0]), n=2).columns
