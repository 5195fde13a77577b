"""Find the JSON objects in a model's reply: fenced or bare, between prose, with the usual small faults."""

import json
import re
from collections.abc import Iterator
from typing import Any

# A string ends at its quote or, if it has none, at the line's end: so that the scan never goes back.
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|[{}]')
_BRACE = re.compile(r"[{}]")
_TRAILING_COMMA = re.compile(r",\s*+(?=[}\]])")
_BARE_KEY = re.compile(r"([{,]\s*+)([A-Za-z_]\w{0,40})(\s*+:)")
_SMART = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"})

ATTEMPTS = 12
"""Objects that are looked at, from the reply's end."""
LONGEST = 50_000
"""Characters of an object that is looked at."""


def _spans(text: str, token: re.Pattern[str]) -> list[tuple[int, int]]:
    """Return (start, end) of every pair of braces, in the order in which they close."""
    opened: list[int] = []
    spans: list[tuple[int, int]] = []
    for match in token.finditer(text):
        mark = match.group()
        if mark == "{":
            opened.append(match.start())
        elif mark == "}" and opened:
            spans.append((opened.pop(), match.end()))
    return spans


def _load(text: str) -> Any:
    # Numbers stay text: a phone number may be written as one, and a million digits must not be converted.
    return json.loads(text, strict=False, parse_int=str, parse_float=str)


def _mended(text: str) -> Iterator[str]:
    yield text
    text = _TRAILING_COMMA.sub("", text.translate(_SMART))
    yield text
    if '"' not in text:
        text = text.replace("'", '"')
    yield _BARE_KEY.sub(r'\1"\2"\3', text)


def _read(text: str) -> dict[str, Any] | None:
    """Read one object, mending trailing commas, curly or single quotes, and keys without quotes."""
    for attempt in _mended(text):
        try:
            value = _load(attempt)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else None
    return None


def _candidates(text: str, token: re.Pattern[str]) -> Iterator[dict[str, Any]]:
    inside = len(text) + 1  # start of the last object that was read: what lies in it is not looked at again
    attempts = 0
    for start, end in reversed(_spans(text, token)):
        if start > inside or end - start > LONGEST:
            continue
        attempts += 1
        if attempts > ATTEMPTS:
            return
        value = _read(text[start:end])
        if value is not None:
            inside = start
            yield value


def last_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects of a text, the last first.

    At most `ATTEMPTS` of up to `LONGEST` characters are looked at, in linear time; what cannot be read as an
    object is passed over, and its parts are tried.
    """
    if "{" not in text:
        return
    found = False
    for value in _candidates(text, _TOKEN):
        found = True
        yield value
    if not found and '"' in text:  # a stray quote may have hidden the braces
        yield from _candidates(text, _BRACE)
