"""Places of a text where nothing is a tag, a token or a marker: code fences, inline code, JSON strings."""

import re
from collections.abc import Iterator

_AREAS = r"^[ \t>]*(?P<fence>`{3,}|~{3,})[^\n]*$|(?P<code>`[^`\n]{1,200}`)"
_STRING = r"(?P<string>\"(?:[^\"\\\n]|\\.)*\")"
_OPENING = re.compile(r"\s*[{\[]")
_FENCES = {mark: re.compile(rf"^[ \t>]*{mark}{{3,}}[ \t]*(?=$|[<\[])", re.MULTILINE) for mark in "`~"}
"""What closes a fence: nothing else on its line, but for a tag or a token."""


class Events:
    """Patterns that are found in a text outside of its protected areas."""

    def __init__(self, *patterns: str) -> None:
        joined, flags = "|".join((_AREAS, *patterns)), re.IGNORECASE | re.MULTILINE
        self._plain = re.compile(joined, flags)
        self._beside_strings = re.compile(f"{joined}|{_STRING}", flags)

    def first(self, text: str, position: int = 0) -> re.Match[str] | None:
        """Return the first match from a position on."""
        is_json = _OPENING.match(text) or _OPENING.match(text, position)
        pattern = self._beside_strings if is_json else self._plain
        while event := pattern.search(text, position):
            if event.lastgroup not in {"fence", "code", "string"}:
                return event
            position = _fence_end(text, event) if event.lastgroup == "fence" else event.end()
        return None

    def all(self, text: str) -> Iterator[re.Match[str]]:
        """Yield every match, in order."""
        position = 0
        while event := self.first(text, position):
            yield event
            position = max(event.end(), position + 1)


def _fence_end(text: str, opening: re.Match[str]) -> int:
    """Return the end of the fence that a line opens; an unclosed one protects nothing."""
    closing = _FENCES[opening["fence"][0]].search(text, opening.end())
    return closing.end() if closing else opening.end()
