"""Comparisons from Python: the changed rows, and advice in a caller's words."""

import os
from pathlib import Path

import pytest

import basic_control as bc
from basic_control.data.commands import call_from_python, format_command
from tests.helpers.capitals import PROMPT, ROWS, know_three
from tests.helpers.inside import call

pytestmark = pytest.mark.usefixtures("forked_runs")


def test_advice_to_somebody_in_python_names_calls(tmp_path: Path) -> None:
    """Of what has an equal there; a command line of the same process goes on naming commands."""
    for name, right in (("old", 20), ("new", 12)):
        lines = [f"q{n},{int(n < right)}" for n in range(30)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["question,score", *lines]) + "\n", encoding="utf-8")
    compared = bc.compare(tmp_path / "old.csv", tmp_path / "new.csv")
    assert "5 of 8 changes are not shown here: `.changes` has all." in str(compared)
    assert "--" not in str(compared)
    _, screen, _ = call(["compare", "old.csv", "new.csv"], dict(os.environ), tmp_path)
    assert "--show N shows more" in screen
    with call_from_python():
        assert format_command("compare a b") == 'bc.compare("a", "b")'
        assert format_command("run moved/eval.yaml") == 'bc.run("moved/eval.yaml")'
        assert format_command("fetch gsm8k").endswith(" fetch gsm8k")
        assert format_command("run --run last").endswith(" run --run last")
    assert format_command("compare a b").endswith(" compare a b")


def test_changed_rows_have_both_replies_and_an_equal_run_has_none(tmp_path: Path) -> None:
    def know_one(_prompt: str) -> str:
        return "Paris"

    know_one.__name__ = know_one.__qualname__ = know_three.__name__
    store = {"root": str(tmp_path / "store"), "runs": str(tmp_path / "runs")}
    earlier = bc.evaluate(ROWS, know_three, prompt=PROMPT, metrics="exact_match", store=store)
    later = bc.evaluate(ROWS, know_one, prompt=PROMPT, metrics="exact_match", store=store)
    changes = bc.compare(earlier, later).changes
    losses = changes.filter(changes["after_score"] < changes["before_score"])
    # The second run says how the first is opened beside it, as a call.
    assert f'bc.compare("{earlier.folder.name}", "{later.folder.name}")' in str(later)
    replies = {*losses.select("question", "before_reply", "after_reply").iter_rows()}
    assert replies == {("Norway", "Oslo", "Paris"), ("Japan", "Tokyo", "Paris")}
    again = bc.evaluate(ROWS, know_three, prompt=PROMPT, metrics="exact_match", store=store)
    equal = bc.compare(earlier, again)
    assert equal.changes.is_empty()
    assert equal.changes.columns == changes.columns
