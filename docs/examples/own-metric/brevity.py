"""Brevity: how much of a reply stands within a limit of words."""

from pydantic import Field

import basic_control as bc
from basic_control.data.options import Frozen


class Options(Frozen):
    """How long a reply may be; checked with file and line when a configuration is read."""

    words: int = Field(50, ge=1, description="words that a reply may have")


# Raise `version=` when scores change: reports and baselines name it.
@bc.metric(options=Options, title={"en": "Brevity", "ru": "Краткость"})
def brevity(sample, replies, options):
    """Return 1 for a reply within the limit, and less the longer it is: twice as long is 0.5."""
    words = len(sample["response"].split())
    if not words:
        return bc.Score(0.0, "no_answer", "empty reply")
    reason = "within the limit" if words <= options["words"] else "too long"
    return bc.Score(min(1.0, options["words"] / words), reason=reason, details={"words": words})
