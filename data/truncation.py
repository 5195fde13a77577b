"""Which replies were cut: they ended at their token limit, or their thinking used it up."""

import json
from collections.abc import Mapping
from typing import Any

CUT = "response_cut"
"""A sample's column: whether its reply was cut. Of such a reply only what it has said is an answer."""
LIMITS = ("length", "max_tokens", "max_output_tokens", "model_length")
"""What servers call the token limit as the reason why a reply ended."""
NAMES = ("max_completion_tokens", "max_output_tokens", "num_predict", "max_tokens")
"""What the parameter of the token limit is called; where there are several, the first is the one that is sent."""


def is_cut(reply: Mapping[str, Any]) -> bool:
    """Say whether a reply was cut: by its finish reason, or since its thinking took all the tokens there were.

    A row of the requests table (`payload`) joined with its response: `finish_reason`, `text`, `reasoning`,
    `tokens_out`. Some servers say `stop` of a reply that is all thinking, so there the tokens are counted.
    """
    if (reply["finish_reason"] or "").strip().lower() in LIMITS:
        return True
    if reply["text"] is None or reply["text"].strip() or not (reply["reasoning"] or "").strip():
        return False
    given = json.loads(reply["payload"] or "{}").get("parameters") or {}
    limit = next((given[name] for name in NAMES if isinstance(given.get(name), int)), None)
    return limit is not None and reply["tokens_out"] is not None and reply["tokens_out"] >= limit
