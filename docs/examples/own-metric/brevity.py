"""Brevity: how much of a reply stands within a limit of words."""

from pydantic import Field

from data.options import Frozen
from data.records import Metric, Score


class Options(Frozen):
    """How long a reply may be; checked with file and line when a configuration is read."""

    words: int = Field(50, ge=1, description="words that a reply may have")


def score(sample, found, options):
    """Return 1 for a reply within the limit, and less the longer it is: twice as long is 0.5."""
    words = len(sample["response"].split())
    if not words:
        return Score(0.0, "no_answer", "empty reply")
    reason = "within the limit" if words <= options["words"] else "too long"
    return Score(min(1.0, options["words"] / words), reason=reason, details={"words": words})


UNIT = Metric(
    name="brevity",
    version=1,  # raise it when scores change: reports and baselines name it
    bounds=(0.0, 1.0),
    score=score,
    options=Options,
    title={"en": "Brevity", "ru": "Краткость"},
)
