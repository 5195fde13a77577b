"""The reader of replies against cases by somebody who had the rules alone; each has the sentence that decides."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from basic_control.data.options import options_of
from basic_control.data.plugins import metric
from basic_control.metrics._replies import CUT
from tests.acceptance.reading import lines

KINDS = sorted(path.stem for path in (Path(__file__).parent / "replies" / "reading").glob("*.jsonl"))


def value_of(case: Mapping[str, Any]) -> float | None:
    """Score a reply as a run does; of a chain of thought, its final answer."""
    unit, row = metric(case["metric"]), case["row"]
    options = dict(case["options"])
    sample = {"prompt": row["question"], **row, "response": case["reply"], CUT: case.get("finish") == "length"}
    if case["metric"] == "choice":
        sample["options"] = row["choices"]
        options.setdefault("texts", "options")
    if case["metric"] == "cot":
        sample["reference"] = f"#### {row['answer']}"
    score = unit.score(sample, {}, options_of(unit, options))
    return score.parts["l1"] if case["metric"] == "cot" else score.value


@pytest.mark.parametrize("kind", KINDS)
def test_replies_are_read_by_the_rules(kind: str) -> None:
    cases = lines(f"reading/{kind}")
    wrong = {case["id"] for case in cases if value_of(case) != case["value"]}
    assert wrong == set()
