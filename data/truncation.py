"""Truncated replies: they ended at their token limit, or their thinking used it up."""

import json
from collections.abc import Mapping
from typing import Any

CUT = "response_cut"
"""Column of a sample: whether its reply is truncated. Then only an explicitly stated answer counts."""
LIMITS = ("length", "max_tokens", "max_output_tokens", "model_length")
"""Servers' finish reasons for the token limit."""
THINKING_ALONE = "thinking alone, without an answer"
"""The reason of a score for a reply that is nothing else."""
NAMES = ("max_completion_tokens", "max_output_tokens", "num_predict", "max_tokens")
"""Parameter names of the token limit; if several are given, the first is sent."""


def is_cut(reply: Mapping[str, Any]) -> bool:
    """Return whether a reply was truncated: by its finish reason, or because thinking used up its tokens.

    A row of the requests table (`payload`) joined with its response: `finish_reason`, `text`, `reasoning`,
    `tokens_out`. Some servers report `stop` for a reply that is all thinking, so its tokens are counted.
    """
    if (reply["finish_reason"] or "").strip().lower() in LIMITS:
        return True
    if reply["text"] is None or reply["text"].strip() or not (reply["reasoning"] or "").strip():
        return False
    limit = find_sent_limit(json.loads(reply["payload"] or "{}").get("parameters") or {})
    return limit is not None and reply["tokens_out"] is not None and reply["tokens_out"] >= limit


def is_thinking_alone(reply: Mapping[str, Any]) -> bool:
    """Return whether a model thought, and ended by itself without an answer; a row as for `is_cut`."""
    if reply["text"] is None or reply["text"].strip() or not (reply["reasoning"] or "").strip():
        return False
    return not is_cut(reply)


def find_sent_limit(parameters: Mapping[str, Any]) -> int | None:
    """Return the token limit of a request with these parameters; None without one (Ollama's -1)."""
    limit = next((parameters[name] for name in NAMES if isinstance(parameters.get(name), int)), 0)
    return limit if limit > 0 else None
