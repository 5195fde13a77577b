"""Runs of a fixed number of questions are what they were before suites could stop early."""

import json
from pathlib import Path

from tests.metrics.analysis.fixed_n import verdicts

STORED = Path(__file__).parents[2] / "fixtures" / "fixed_n.json"
"""Made before the first confidence sequence; intervals again when all came from one method: no outcome moved."""


def test_verdicts_of_a_fixed_number_of_questions_have_not_moved_by_a_digit() -> None:
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    assert len(stored) == 2 * 3 * 4
    assert {one["outcome"] for one in stored.values()} >= {"pass", "fail", "undecided"}
    assert verdicts() == stored
