"""The answers behind a level: one for each question, whatever else its verifier reports."""

import pytest

from data.plugins import family
from data.records import Status
from data.suites import Suite
from data.tables import ITEMS, SCORES
from metrics.analysis.levels import counted

SUITE = Suite.model_validate({"name": "level", "items": {"loader": "families"}, "metrics": ["correct"]})


@pytest.mark.parametrize(
    ("name", "beside"),
    [("arithmetic", ()), ("summarization", ("similarity",)), ("data_extraction", ("precision", "recall"))],
)
def test_a_question_is_one_answer_whatever_stands_beside_its_verdict(name: str, beside: tuple[str, ...]) -> None:
    """Of four at the first rung one is right, one wrong, one cut, one failed: three answers, one of them right."""
    unit = family(name)
    first = next(iter(unit.rungs))
    said: dict[str, tuple[Status, float | None]] = {
        "right": ("scored", 1.0),
        "wrong": ("scored", 0.0),
        "cut": ("truncated", 0.0),
        "lost": ("model_error", None),
    }
    items = ITEMS.frame(
        {"item_id": one, "suite": "level", "family": unit.name, "level": first, "language": "en"} for one in said
    )
    scores = SCORES.frame(
        {"item_id": one, "model": "m", "repeat": 0, "metric": metric, "value": value, "status": status}
        for one, (status, worth) in said.items()
        for metric, value in (("correct", worth), *((part, 0.75) for part in beside if worth is not None))
    )
    found = counted(items, scores, SUITE, unit, "en")
    assert [found.put[0], found.answered[0], found.right[0]] == [4, 3, 1]
