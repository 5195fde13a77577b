"""Places of a text where nothing is a tag, a token or a marker: code fences, inline code, JSON strings."""

import re
from collections.abc import Iterator

_FENCE = r"^[ \t>]*(?P<fence>`{3,}|~{3,})[^\n]*$"
_CODE = r"(?P<code>`[^`\n]{1,200}`)"
_STRING = r"(?P<string>\"(?:[^\"\\\n]|\\.)*\")"
_OPENING = re.compile(r"\s*[{\[]")
_CLOSING = {mark: re.compile(rf"^[ \t>]*{mark}{{3,}}[ \t]*(?=$|[<\[])", re.MULTILINE) for mark in "`~"}
"""What closes a fence: nothing else on its line, but for a tag or a token."""


class Events:
    """Patterns that are found in a text outside of its protected areas."""

    def __init__(self, *patterns: str) -> None:
        flags = re.IGNORECASE | re.MULTILINE
        self._in_text = re.compile("|".join([_FENCE, _CODE, *patterns]), flags)
        self._in_json = re.compile("|".join([_FENCE, _CODE, *patterns, _STRING]), flags)

    def find_first(self, text: str, position: int = 0) -> re.Match[str] | None:
        """Return the first match from a position on."""
        pattern = self._in_text
        # Only in JSON is a quotation mark the beginning of a string.
        if _OPENING.match(text) or _OPENING.match(text, position):
            pattern = self._in_json
        event = pattern.search(text, position)
        while event and event.lastgroup in {"fence", "code", "string"}:
            event = pattern.search(text, _find_end(text, event))
        return event

    def find_all(self, text: str) -> Iterator[re.Match[str]]:
        """Yield every match, in order."""
        event = self.find_first(text)
        while event:
            yield event
            event = self.find_first(text, max(event.end(), event.start() + 1))


def _find_end(text: str, area: re.Match[str]) -> int:
    """Return where a protected area ends; an unclosed fence protects its first line alone."""
    if area.lastgroup != "fence":
        return area.end()
    closing = _CLOSING[area["fence"][0]].search(text, area.end())
    return (closing or area).end()
