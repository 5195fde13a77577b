"""Stop tokens that a server leaks at a reply's end: they belong to the template, not to the reply."""

import re

from data.patterns import pattern

_TOKEN = pattern(
    r"<[|｜][A-Za-z0-9_▁ /-]{1,40}[|｜]>|</s>|\[(?:EOS|PAD)\]|<(?:eos|eot|eom|pad|endoftext|im_end)>"
    r"|<(?:end|start)_of_(?:turn|text|utterance|sentence|response|message)>",
    re.IGNORECASE,
)
_LONGEST = 44
_STRUCK, _CLOSED = "<s>", "</s>"


def reply(text: str | None) -> dict[str, str | None]:
    """Return a reply's `text` without trailing `stop_tokens`, given a row of the responses table."""
    said, tokens = split(text) if text else (text, "")
    return {"text": said, "stop_tokens": tokens or None}


def split(text: str) -> tuple[str, str]:
    """Separate a reply from trailing stop tokens.

    text -> (reply, tokens); concatenated they are the text, and the second is nearly always ''. Only the end is
    searched: a token within a reply, in quotes or in code is part of its content. A `</s>` that closes an `<s>` of
    the reply (HTML strike-through) stays. Linear in the text's length.
    """
    if not text.rstrip().endswith((">", "]")):
        return text, ""
    said = text.lower()
    struck = said.count(_STRUCK) - said.lstrip().startswith(_STRUCK)  # one that opens the text was leaked itself
    end, free = len(text), said.count(_CLOSED) - struck
    while (start := _last(text, end)) >= 0:
        closes = text[start : start + len(_CLOSED)].lower() == _CLOSED
        if closes and free <= 0:
            break
        free -= closes
        end = start
    end = len(text[:end].rstrip()) if end < len(text) else end
    return text[:end], text[end:]


def _last(text: str, end: int) -> int:
    """Return the start of the stop token that ends the text before `end`, ignoring white space; -1 if none."""
    while end and text[end - 1].isspace():
        end -= 1
    start = max(text.rfind(sign, max(0, end - _LONGEST), end) for sign in "<[")
    return start if start >= 0 and _TOKEN.fullmatch(text, start, end) else -1
