"""A reply as every client hands it on."""

from data import characters, thinking
from data.records import Reply


def read_reply(
    answer: str,
    thought: str = "",
    *,
    finish_reason: str = "",
    tokens_in: int | None = None,
    tokens_out: int | None = None,
    thinking_tokens: int | None = None,
    cached_tokens: int | None = None,
) -> Reply:
    """Return a reply with the thinking inside the answer kept apart, after what the server kept apart itself.

    `thinking_tokens` (of those written) and `cached_tokens` (of those read) stand in `extra["usage"]`, if any.
    What is no text (half of a surrogate pair, NUL) becomes U+FFFD: neither UTF-8 nor a database can hold it.
    """
    text, aloud = thinking.split(storable(answer))
    reasoning = "\n".join(part for part in (storable(thought), aloud) if part)
    usage = {name: n for name, n in (("thinking", thinking_tokens), ("cached", cached_tokens)) if n and n > 0}
    return Reply(text, reasoning, finish_reason, tokens_in, tokens_out, {"usage": usage} if usage else {})


def storable(text: str) -> str:
    """Return a text that UTF-8 and databases can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = characters.storable(text)
    return text.replace("\x00", "\ufffd")
