"""Random runs: what the product says of them is what the rules say."""

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.oracle.cases import Question, Reply, Run, Suite
from tests.oracle.held_against import check
from tests.oracle.kinds import KINDS
from tests.oracle.product import drive

DRAWS = int(os.environ.get("ORACLE_DRAWS", "0"))
"""The draws are the same each time, so that no change fails for an older fault; with the variable, new ones."""

COUNTS = [pytest.param(name, kind.n_quick, id=name) for name, kind in KINDS.items() if kind.n_quick]
COUNTS += [
    pytest.param(name, kind.n_slow, id=f"{name}, many", marks=pytest.mark.slow) for name, kind in KINDS.items()
]
JOINED = {
    "none": None,
    "weights": {"exact_match": 0.7, "contains": 0.3},
    "list": ["exact_match", "contains"],
    "all": "all",
}


@pytest.mark.parametrize(("name", "n"), COUNTS)
def test_what_the_product_says_is_what_the_rules_say(name: str, n: int) -> None:
    kind = KINDS[name]

    @settings(max_examples=DRAWS or n, derandomize=not DRAWS)
    @given(kind.draws)
    def hold(example: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            kind.check(kind.drive(example, Path(folder)), example)

    hold()


def test_a_cut_reply_is_bounded_by_label(tmp_path: Path) -> None:
    """A cut reply that is right for one of its question's labels: 75 %, and 100 % if the reply had gone on."""
    questions = (Question("q", "a"), Question("q", "b"), Question("r", "a"))
    replies = {("m0", row, 0): Reply("a", cut=row < 2) for row in range(3)}
    run = Run(("m0",), (Suite("s0", {"exact_match": {}}, questions, replies, 0.8, 1.0),), None, "point")
    check(drive(run, tmp_path), run)


def test_a_threshold_over_suites_is_an_error_where_one_of_them_has_no_score(tmp_path: Path) -> None:
    """The declared score applies to no row of the second suite, though another metric does."""
    questions = tuple(Question(f"q{row}", "abcd") for row in range(8))
    right = {("m0", row, 0): Reply("abcd") for row in range(8)}
    idle = {place: Reply("abcd", state="not_applicable", of="exact_match") for place in right}
    first = Suite("s0", {"exact_match": {}}, questions, right, None, 1.0)
    second = Suite("s1", {"exact_match": {}, "contains": {}}, questions, idle, None, 1.0, score=["exact_match"])
    run = Run(("m0",), (first, second), 0.75, "point")
    output = drive(run, tmp_path)
    check(output, run)
    assert output.exit_code == 2
    assert "no score in s1; look there" in output.markdown


@pytest.mark.parametrize("own", ["own", "suite", "none"])
@pytest.mark.parametrize("score", JOINED)
def test_every_threshold_decides_every_score_as_the_rules_say(own: str, score: str, tmp_path: Path) -> None:
    """Twenty replies: 12 right, 3 that hold the answer, one cut, one unread by the second metric, 3 wrong."""
    replies = [
        *[Reply("a")] * 12,
        *[Reply("ab")] * 3,
        Reply("b", cut=True),
        Reply("a", state="judge_failed", of="contains"),
    ]
    replies += [Reply("b")] * 3
    questions = tuple(Question(f"q{row}", "a") for row in range(20))
    by_place = {("m0", row, 0): reply for row, reply in enumerate(replies)}
    limits = {"exact_match": 0.65, "contains": 0.8} if own == "own" else {}
    metrics = {name: {"threshold": limits[name]} if name in limits else {} for name in ("exact_match", "contains")}
    metrics["contains"]["words"] = False
    suite = Suite("s0", metrics, questions, by_place, 0.7 if own == "suite" else None, None, score=JOINED[score])
    run = Run(("m0",), (suite,), None, "point")
    check(drive(run, tmp_path), run)
