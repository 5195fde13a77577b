"""A sheet is drawn with the probabilities that it says, and its labels put the judge's mean right."""

import csv
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from data.errors import InputError
from tasks.labels import By, estimates, read_labels, sheet
from tasks.report.exports import write_csv


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
            "prompt": ["p"] * n,
            "facts": ['{"reference": "r"}'] * n,
            "response": ["x"] * n,
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


@pytest.mark.parametrize("by", ["random", "uncertainty"])
def test_a_sheet_holds_so_many_replies_each_once_by_known_chances(by: By) -> None:
    values = [(n % 5) / 4 for n in range(200)]
    drawn = sheet(found(values), n=40, by=by, seed=3)
    assert drawn.height == drawn["item_id"].n_unique() == 40
    assert drawn["probability"].is_between(0, 1).all()
    times = sum(sheet(found(values), n=40, by=by, seed=seed).filter(item_id="i0002").height for seed in range(300))
    all_of_it = sheet(found(values), n=200, by=by, seed=0)
    assert all_of_it["probability"].to_list() == [1.0] * 200
    middle = {"random": 0.2, "uncertainty": 40 * 1.1 / (40 * (2 * 0.1 + 2 * 0.85 + 1.1))}[by]
    # i0002 scores 0.5; of 300 draws the count is within four standard errors of its chance.
    assert abs(times / 300 - middle) < 4 * (middle * (1 - middle) / 300) ** 0.5


def test_labels_put_the_judges_mean_right(tmp_path: Path) -> None:
    drawn = sheet(found(SCORES), n=100, seed=1)
    path = filled(tmp_path, drawn, lambda n: {"label": "yes" if TRUTH[n] else "no"})
    one = estimates(found(SCORES), read_labels(path))[0]
    assert (one.suite, one.model, one.metric, one.found.n_labels) == ("rag", "=m", "rubric", 100)
    assert one.found.judged == pytest.approx(0.7)
    assert one.found.value == pytest.approx(0.6, abs=0.04)
    assert one.found.interval.low is not None
    assert one.found.interval.high is not None
    assert one.found.interval.low < 0.6 < one.found.interval.high
    assert one.alpha is None


def test_two_labellers_agreement_stands_beside_the_estimate(tmp_path: Path) -> None:
    drawn = sheet(found(SCORES), n=60, seed=1)
    path = filled(tmp_path, drawn, lambda n: {"label": TRUTH[n], "label_2": TRUTH[n]})
    assert estimates(found(SCORES), read_labels(path))[0].alpha == pytest.approx(1.0)


def test_rows_left_empty_are_rows_not_drawn(tmp_path: Path) -> None:
    drawn = sheet(found(SCORES), n=100, seed=1)
    path = filled(tmp_path, drawn, lambda n: {"label": TRUTH[n] if n % 2 else ""})
    assert 0 < estimates(found(SCORES), read_labels(path))[0].found.n_labels < 100


@pytest.mark.parametrize(("label", "said"), [("maybe", "expected a number from 0 to 1"), ("", "found no label")])
def test_what_is_no_label_is_one_message(tmp_path: Path, label: str, said: str) -> None:
    path = filled(tmp_path, sheet(found(SCORES), n=20, seed=1), lambda _: {"label": label})
    with pytest.raises(InputError, match=said):
        estimates(found(SCORES), read_labels(path))


def test_another_file_is_one_message(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="expected a sheet"):
        read_labels(path)


def test_a_metric_that_was_not_judged_is_one_message() -> None:
    with pytest.raises(InputError, match="expected one of rubric"):
        sheet(found(SCORES), n=5, metric="cot")
