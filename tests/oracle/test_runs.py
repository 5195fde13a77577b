"""Random runs: what the product says of them is what the rules say."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests.oracle.kinds import KINDS, hold_run
from tests.oracle.world import Question, Reply, Run, Suite

DRAWS = int(os.environ.get("ORACLE_DRAWS", "0"))
"""The draws are the same each time, so that no change fails for an older fault; with the variable, new ones."""

COUNTS = [pytest.param(name, kind.n_quick, id=name) for name, kind in KINDS.items() if kind.n_quick]
COUNTS += [
    pytest.param(name, kind.n_slow, id=f"{name}, many", marks=pytest.mark.slow) for name, kind in KINDS.items()
]
BOTH = ("exact_match", "contains")
JOINED = {"none": None, "weights": {"exact_match": 0.7, "contains": 0.3}, "list": [*BOTH], "all": "all"}


@pytest.mark.parametrize(("name", "n"), COUNTS)
def test_what_the_product_says_is_what_the_rules_say(name: str, n: int) -> None:
    @settings(max_examples=DRAWS or n, derandomize=not DRAWS)
    @given(st.randoms(use_true_random=False))
    def hold(rng: Random) -> None:
        example = KINDS[name].draw(rng)
        note(repr(example))
        with tempfile.TemporaryDirectory() as folder:
            KINDS[name].hold(example, Path(folder))

    hold()


def run_of(replies: Sequence[Reply], metrics: Any, threshold: float | None = None, **keys: Any) -> Run:
    """Return a run of one suite, of replies to questions whose answer is "a"."""
    questions = tuple(Question(f"q{row}", "a") for row in range(len(replies)))
    by_place = {("m0", row, 0): reply for row, reply in enumerate(replies)}
    suite = Suite("s0", metrics, questions, by_place, threshold, None, **keys)
    return Run(("m0",), (suite,), None, "point")


def test_a_cut_reply_is_bounded_by_label(tmp_path: Path) -> None:
    """A cut reply that is right for one of its question's labels: 75 %, and 100 % if the reply had gone on."""
    run = run_of([Reply("a", cut=row < 2) for row in range(3)], {"exact_match": {}}, 0.8)
    questions = Question("q", "a"), Question("q", "b"), Question("r", "a")
    hold_run(replace(run, suites=(replace(run.suites[0], questions=questions),)), tmp_path)


def test_a_threshold_over_suites_is_an_error_where_one_of_them_has_no_score(tmp_path: Path) -> None:
    """The declared score applies to no row of the second suite, though another metric does."""
    first = run_of([Reply("a")] * 8, {"exact_match": {}})
    idle = [Reply("a", state="not_applicable", of="exact_match")] * 8
    second = run_of(idle, {name: {} for name in BOTH}, score=["exact_match"])
    suites = (*first.suites, replace(second.suites[0], name="s1"))
    hold_run(replace(first, suites=suites, threshold=0.75), tmp_path)
    (verdict,) = tmp_path.glob("reports/*.md")
    assert "no score in s1; look there" in verdict.read_text(encoding="utf-8")


@pytest.mark.parametrize("own", ["own", "suite", "none"])
@pytest.mark.parametrize("score", JOINED)
def test_every_threshold_decides_every_score_as_the_rules_say(own: str, score: str, tmp_path: Path) -> None:
    """Twenty replies: 12 right, 3 that hold the answer, one cut, one unread by the second metric, 3 wrong."""
    lost = [Reply("b", cut=True), Reply("a", state="judge_failed", of="contains")]
    replies = [*[Reply("a")] * 12, *[Reply("ab")] * 3, *lost, *[Reply("b")] * 3]
    limits = {"exact_match": {"threshold": 0.65}, "contains": {"threshold": 0.8}} if own == "own" else {}
    metrics = {name: {**limits.get(name, {})} for name in BOTH}
    metrics["contains"]["words"] = False
    hold_run(run_of(replies, metrics, 0.7 if own == "suite" else None, score=JOINED[score]), tmp_path)
