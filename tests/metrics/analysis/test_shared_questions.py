"""Rows of two runs are paired by their question: equal answers first, then by count; what moved is named."""

from collections.abc import Sequence

import polars as pl

from basic_control.data.records import Item
from basic_control.data.tables import ITEMS
from basic_control.metrics.analysis.shared_questions import MovedQuestion, QuestionChanges, align, pair_questions
from basic_control.tasks.generate import row

Rows = Sequence[tuple[str, str, str]]
"""The item's id, the question, what is expected; a question may begin with a declared id and a bar."""


def items(rows: Rows, suite: str = "s") -> pl.DataFrame:
    made = []
    for item_id, question, answer in rows:
        declared, _, text = question.rpartition("|")
        made.append(row(Item("", answer, {"question": text}, item_id=item_id, suite=suite, declared_id=declared)))
    return ITEMS.frame(made)


def pairs(before: Rows, after: Rows) -> tuple[set[tuple[str, str]], QuestionChanges]:
    rows, moved = pair_questions("s", items(before), items(after))
    return {(old, new) for old, new in rows.iter_rows()}, moved


def test_questions_pair_whatever_their_items_are_and_in_whatever_order() -> None:
    before = [(f"a{n}", f"Question {n}?", str(n)) for n in range(100)]
    after = [(f"b{n}", f" Question  {n}?", str(n)) for n in reversed(range(100))]
    found, moved = pairs(before, after)
    assert found == {(f"a{n}", f"b{n}") for n in range(100)}
    assert (moved.n_common, moved.relabelled.n) == (max(moved.n_before, moved.n_after), 0)
    assert (moved.n_before, moved.n_after, moved.n_common, moved.share) == (100, 100, 100, 1.0)


def test_equal_questions_pair_by_equal_answer_then_by_count_and_are_one_question() -> None:
    before = [("a1", "q", "x"), ("a2", "q", "y"), ("a3", "q", "y")]
    found, moved = pairs(before, [("b1", "q", "y"), ("b2", "q", "z"), ("b3", "q", "x"), ("b4", "q", "x")])
    assert found == {("a1", "b3"), ("a2", "b1"), ("a3", "b2")}
    assert (moved.n_before, moved.n_after, moved.n_common, moved.relabelled.n) == (1, 1, 1, 1)


def test_a_corrected_answer_keeps_its_row_and_is_named_with_both() -> None:
    found, moved = pairs([("a", "q", "9"), ("c", "r", "1")], [("b", "q", "8"), ("d", "r", "1")])
    assert found == {("a", "b"), ("c", "d")}
    (one,) = moved.relabelled.first
    assert (one.before, one.after) == ("9", "8")
    assert moved.relabelled.n or moved.n_common < max(moved.n_before, moved.n_after)
    assert moved.share == 1.0


def test_what_stands_on_one_side_alone_is_counted_and_named() -> None:
    old, new = (
        [(f"{side}{n}", f"Q{n}", "") for n in span] for side, span in (("a", range(30)), ("b", range(20, 45)))
    )
    found, moved = pairs(old, new)
    assert len(found) == 10
    assert (moved.n_common, moved.only_before.n, moved.only_after.n) == (10, 20, 15)
    assert (len(moved.only_before.first), len(moved.only_after.first)) == (10, 10)
    assert moved.share == 1 / 3


def test_the_same_declared_id_with_another_text_is_named_and_not_in_common() -> None:
    found, moved = pairs([("a", "7|old", "x"), ("b", "8|same", "x")], [("c", "7|new", "x"), ("d", "8|same", "y")])
    assert found == {("b", "d")}
    assert (moved.reworded.first, moved.n_common, moved.only_before.n, moved.only_after.n) == (
        (MovedQuestion("7", "", name="7"),),
        1,
        0,
        0,
    )
    assert moved.relabelled.first == (MovedQuestion("8", "", "x", "y", "8"),)


def test_ids_that_one_side_alone_declares_leave_it_to_the_texts() -> None:
    found, moved = pairs([("a", "7|same", "x")], [("b", "same", "x")])
    assert found == {("a", "b")}
    assert (moved.n_common, moved.relabelled.n) == (max(moved.n_before, moved.n_after), 0)


def test_several_runs_get_common_ids() -> None:
    runs = {
        "r1": items([("a1", "q", "x"), ("a2", "r", "x")]),
        "r2": items([("b1", "r", "x"), ("b2", "s", "x")]),
        "r3": items([("c1", "s", "x"), ("c2", "q", "y"), ("c3", "q", "x")]),
    }
    found = align(runs)
    assert found.ids == {
        "r1": {"a1": "a1", "a2": "a2"},
        "r2": {"b1": "a2", "b2": "b2"},
        "r3": {"c1": "b2", "c2": "c2", "c3": "a1"},
    }
    assert found.items["item_id"].to_list() == ["a1", "a2", "b2", "c2"]
    assert [one.n_common for one in (*found.moved["r2"], *found.moved["r3"])] == [1, 1]
    assert found.moved["r1"] == ()


def test_a_changed_question_is_shown_from_where_it_differs_and_named_by_its_row() -> None:
    """One of three is relabelled: what all three begin with tells nobody which."""
    instructions = "Which team handles this ticket, billing or network? Reply with its name.\n\n"
    tickets = ("My invoice is wrong", "No signal", "Charged twice")
    before = items([(f"a{n}", ticket, "billing") for n, ticket in enumerate(tickets)])
    prompts = pl.Series("prompt", [instructions + ticket for ticket in tickets])
    before = before.with_columns(prompts, family=pl.lit("tickets"), index=pl.Series([4, 0, 2]))
    answers = pl.when(pl.col("item_id") == "a1").then(pl.lit("network")).otherwise("answer")
    digests = pl.when(pl.col("item_id") == "a1").then(pl.lit("other")).otherwise("answer_digest")
    after = before.with_columns(answer=answers, answer_digest=digests)
    _, moved = pair_questions("s", before, after)
    (question,) = moved.relabelled.first
    assert (question.name, question.prompt) == ("tickets 1", "… No signal")
    assert (question.before, question.after) == ("billing", "network")
