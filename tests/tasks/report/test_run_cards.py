"""The cards of `view`: a model with all its scores on a line, why there is none, and what goes on from there."""

import html
import re

from basic_control.tasks.report.language import use_language
from basic_control.tasks.report.runs import index
from basic_control.tasks.store.history import HistoryEntry, TargetScore

BY_CONTAINS = TargetScore(0.95, 0.76, 0.99, "pass", "m", "tickets", "contains")
BY_ALL = TargetScore(0.45, 0.26, 0.66, "none", "m", "tickets", "all")


def read_cards(*runs: HistoryEntry) -> str:
    """Return the words of the index."""
    with use_language("en"):
        page = index(runs, {}, lambda _: None)
    # A tag, such as <b class="x">
    text = re.sub(r"<[^>]*>", " ", page)
    return " ".join(html.unescape(text).split())


def test_a_model_has_its_scores_on_one_line_each_by_its_metric() -> None:
    scores = {"m tickets contains": BY_CONTAINS, "m tickets all": BY_ALL}
    assert "m contains 95% ✓ Pass all at once 45%" in read_cards(
        HistoryEntry("r", suites=("tickets",), scores=scores)
    )
    score_of_chats = BY_ALL._replace(suite="chats")
    assert "chats, all at once 45%" in read_cards(
        HistoryEntry("r", scores={**scores, "m chats all": score_of_chats})
    )


def test_a_model_without_a_reply_says_why() -> None:
    scores = {"m": TargetScore(verdict="error", problem=f"20 of 20 calls failed: HTTP 401: {'<p>' * 99}")}
    cards = read_cards(HistoryEntry("r", verdict="error", scores=scores))
    assert "m 20 of 20 calls failed: HTTP 401: <p>" in cards
    assert "<p>" * 60 not in cards, "a server's page is cut"


def test_a_run_that_was_stopped_says_how_to_go_on() -> None:
    advice = "Run the same command again to continue"
    assert advice in read_cards(HistoryEntry("r", status="stopped", models=("m",)))
    assert advice not in read_cards(HistoryEntry("r", status="completed", models=("m",)))
