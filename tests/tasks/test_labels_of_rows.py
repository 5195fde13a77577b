"""A reply that stands in several rows is listed, labelled and counted once, and its label holds for all of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from basic_control.data.suites import Suite
from basic_control.metrics.stats.labelled import Powered
from basic_control.tasks.judges.labels import (
    KEY,
    criteria_of,
    estimates,
    join_judged,
    label_rows,
    load_corrections,
    reply_names,
    sheet,
    store_labels,
)

SUITE = Suite(name="s", items={}, metrics={"rubric": {"criteria": "Polite."}})
CRITERIA = criteria_of([SUITE])
VALUES = [float(n % 4 > 0) for n in range(40)]
"""What the judge said of forty replies: three of four are polite."""
TRUTH = [float(n % 2) for n in range(40)]

Tables = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]


def build_tables(copies: int, *, answers: Sequence[str] = ("a",), template: str = "") -> Tables:
    """Return scores, items and replies of forty questions, each in so many rows, which expect `answers` in turn."""
    items, scores, texts = [], [], []
    for n, value in enumerate(VALUES):
        for copy in range(copies):
            item_id = f"i{n:03}.{copy}"
            facts = json.dumps({"answer": answers[copy % len(answers)], "line": n * copies + copy})
            suite = {"suite": "s", "family": "", "level": "", "language": "en", "template": template}
            items.append({"item_id": item_id, "text_digest": f"q{n}", "prompt": f"Q{n}", "facts": facts, **suite})
            key = {"item_id": item_id, "model": "m", "repeat": 0}
            details = json.dumps({"aggregate": "mean", "judges": {"judge": {"value": value}}})
            scores.append({**key, "metric": "rubric", "value": value, "details": details})
            texts.append({**key, "response": f"Reply {n}"})
    return pl.DataFrame(scores), pl.DataFrame(items), pl.DataFrame(texts)


def fill(drawn: pl.DataFrame, **changes: Any) -> pl.DataFrame:
    """Return a sheet's rows as read, with the truth for a label."""
    labels = [[TRUTH[int(item_id[1:4])]] for item_id in drawn["item_id"]]
    rows = drawn.select(pl.col(KEY).cast(pl.String), "probability", where=pl.lit("sheet"))
    return rows.with_columns(label=pl.Series(labels), **changes)


def estimate(replies: pl.DataFrame, rows: pl.DataFrame) -> Powered:
    (labelled,) = estimates(replies, rows)
    return labelled.powered


def keep_and_read(folder: Path, tables: Tables, rows: pl.DataFrame) -> Mapping[tuple[str, str, str], Powered]:
    """Keep labels of the tables' replies, and return a later run's means by them."""
    scores, items, texts = tables
    store_labels(join_judged(scores, items, texts), rows, CRITERIA, folder)
    return load_corrections(folder, [SUITE], scores, items, lambda: texts)


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_a_sheet_lists_a_reply_once_and_its_label_counts_once(tmp_path: Path, copies: int) -> None:
    tables = build_tables(copies)
    replies = join_judged(*tables)
    drawn = sheet(replies, n=30)
    assert drawn.height == drawn["response"].n_unique() == 30
    powered = estimate(replies, fill(drawn))
    assert (powered.n_labels, powered.n_samples) == (30, 40)
    once = join_judged(*build_tables(1))
    assert powered == estimate(once, fill(sheet(once, n=30)))
    assert keep_and_read(tmp_path, tables, fill(drawn))["s", "m", "rubric"] == powered


def test_twenty_replies_labelled_in_two_rows_each_decide_nothing() -> None:
    """Thirty labels decide, of thirty replies: a sheet of before lists each row."""
    replies = join_judged(*build_tables(2))
    rows = replies.filter(pl.col("item_id") < "i020").with_columns(probability=pl.lit(0.5))
    powered = estimate(replies, fill(rows))
    assert (powered.n_labels, powered.decides) == (20, False)


def test_two_rows_that_expect_something_else_are_two_replies_of_one_question() -> None:
    tables = build_tables(2, answers=("a", "b"))
    drawn = sheet(join_judged(*tables), n=80)
    assert drawn.height == 80
    powered = estimate(join_judged(*tables), fill(drawn))
    assert (powered.n_labels, powered.interval.units) == (80, 40)


def test_a_label_holds_for_each_row_of_its_reply(tmp_path: Path) -> None:
    tables = build_tables(3)
    replies = join_judged(*tables)
    drawn = sheet(replies, n=10)
    store_labels(replies, fill(drawn), CRITERIA, tmp_path)
    labels = label_rows(replies, tmp_path, CRITERIA)
    assert labels.height == 30
    assert {int(row["item_id"][1:4]) % 2 == row["label"] for row in labels.iter_rows(named=True)} == {True}


def test_a_sheet_shows_each_reply_with_its_own_prompt_and_labels_are_kept_as_before() -> None:
    """Of the second prompt's replies the sheet had the first one's text."""
    prompts = {"short": "Answer: {{ line }}", "long": "Think, then answer: {{ line }}", "gone": "{{ nowhere }}!"}
    suite = Suite(name="s", items={}, prompts=prompts, metrics={"rubric": {"criteria": "Polite."}})
    scores, items, texts = build_tables(1)
    models = ["m [short]", "m [long]", "m [gone]", "other"]
    of_models = [
        pl.concat([table.with_columns(model=pl.lit(model)) for model in models]) for table in (scores, texts)
    ]
    replies = join_judged(of_models[0], items, of_models[1], [suite])
    drawn = sheet(replies, n=2)
    for item_id, model, prompt in drawn.select("item_id", "model", "prompt").iter_rows():
        line = int(item_id[1:4])
        expected = {"m [long]": f"Think, then answer: {line}", "m [gone]": "{{ nowhere }}!"}
        assert prompt == expected.get(model, f"Q{line}")
    plain = join_judged(of_models[0], items, of_models[1])
    assert reply_names(replies, "Polite.") == reply_names(plain, "Polite."), "earlier labels are found"
