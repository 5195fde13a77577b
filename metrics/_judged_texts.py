"""What the judged metrics of own suites show to a judge, beside the response."""

from typing import Any

from data.records import Sample
from metrics._replies import expected, written
from metrics.judging import object_schema

REASON = 1_000
"""Characters of a reason that a schema leaves to a judge."""


def question(sample: Sample) -> str:
    """Return what was asked: the row's question, else the whole prompt."""
    return str(sample.get("question") or sample.get("prompt") or "").strip()


def reference(sample: Sample) -> str:
    """Return the row's reference, else its answers; '' where it has neither."""
    return str(sample.get("reference") or "").strip() or "; ".join(map(written, expected(sample)))


def schema(name: str, decision: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of `{"reason": …, name: …}`: the reason first, and bounded."""
    return object_schema(reason={"type": "string", "maxLength": REASON}, **{name: decision})
