"""Replies that a content filter refused or cut off, however their server says so."""

from collections.abc import Mapping
from typing import Any

from basic_control.data.patterns import pattern

FILTERED = "response_filtered"
"""Column of a sample: whether a content filter refused its reply or cut it off; only some metrics see it."""
KIND = "filtered"
"""Kind of the error of a call that a filter refused, and the status of its rows."""

# As servers write it: content_filter (OpenAI), CONTENT_FILTER: SAFETY (Gemini), refusal (Anthropic), ERROR_TOXIC.
_FINISH = pattern(
    r"(?i)\s*+(?:content[ _-]?(?:filter(?:ed)?|policy|moderation)|(?:image_|response_)?safety|recitation|blocklist"
    r"|prohibited_content|spii|refusal|refused|sensitive|(?:output_)?blocked|moderation|flagged|error_toxic"
    r"|guardrail(?:s|_intervened)?|data_inspection(?:_failed)?|model_armor)\b"
)


def is_filtered(finish_reason: str | None) -> bool:
    """Return whether a reply ended because a content filter refused or cut it, by its finish reason."""
    return _FINISH.match(finish_reason or "") is not None


def find_loss(reply: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return kind and message of why a reply is not scored; None if it is.

    A row of the responses: `text`, `error`, `error_kind`, `finish_reason`. Text before a filter's cut is no answer.
    """
    if reply["text"] is None:
        return reply["error_kind"] or "error", reply["error"] or ""
    if is_filtered(reply["finish_reason"]):
        return KIND, f"a content filter refused the reply or cut it off ({reply['finish_reason'].strip()[:60]})"
    return None
