"""Unwrapping of code in JSON, HTML, a diff, a session, or numbered lines.

Responses are hostile: every regular expression here is linear, and the amount of text is bounded.
"""

import html
import json
import re
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from basic_control.data.patterns import pattern

WRAPPED_CAP = 256_000
"""Characters of a text searched for wrappings."""
TRIES = 8
"""Maximum number of positions tried for a JSON value, and of HTML elements read."""
_VALUES = 10_000
_ELEMENT = pattern(
    r"<(pre|code|xmp|textarea|samp|script|answer|solution|python|kotlin)\b[^<>]{0,300}>", re.IGNORECASE
)
_INNER = pattern(
    r"</?(?:pre|code|span|b|i|u|em|strong|p|div|font|mark|a|tt|kbd|ol|ul|li)\b[^<>]{0,300}>|<!\[CDATA\[|\]\]>",
    re.IGNORECASE,
)
_BREAK = pattern(r"<br\s{0,9}/?>(?:[ \t]*\n)?", re.IGNORECASE)
# "def f(x): …, in JSON that does not parse.
_BEGUN = pattern(r'(?:^|(?<=[\s:,\[({=]))"(?!\s*/?>)(?:\\[nrt"]|[^"\\\n]){0,400}?(?:def|fun)[ ]', re.MULTILINE)
"""The start of a string with a definition; a quote that ends an attribute starts none."""
_ENTITY = pattern(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,6}|#x[0-9a-fA-F]{1,6});")
_ADDED = pattern(r"^\+[ \t]*(?:async[ ]+def|def|fun|private fun|class|import|from)\b", re.MULTILINE)
_HUNK = pattern(r"^(?:@@|\+\+\+ )", re.MULTILINE)
_PATCH = pattern(r"(?:---|\+\+\+|@@|diff |index |\\ No newline)")
# In [3]: and the `...: ` of its later lines.
_CELL = pattern(r"[ \t]*(?:In[ ]?\[[\d ]{0,6}\]:[ ]?|\.\.\.:[ ]?)")
_OUTPUT = pattern(r"[ \t]*Out[ ]?\[[\d ]{0,6}\]:")
# Numbers of lines: `12 `, `12| `, `12: `.
_NUMBERED = pattern(r"[ \t]*\d{1,4}(?:[ \t]?[|:.)])?(?=[ \t]|$)")
_MAGIC = pattern(r"^[ \t]*(?:!|%{1,2})[A-Za-z][^\n]*$", re.MULTILINE)
_LABEL = pattern(r"^(?:python3?|py|kotlin|copy(?: code)?|скопировать(?: код)?)[ \t]*\n", re.IGNORECASE)


def unwrap(text: str, function: str) -> Iterator[str]:
    """Yield the pieces of a text that are wrapped in JSON, HTML or a diff and mention the function."""
    text = text[-WRAPPED_CAP:]
    yield from (element for element in _find_elements(text) if function in element)
    if "def " in text or "fun " in text:
        yield from (string for string in _find_strings(text) if function in string)
    if is_patch(text):
        yield _apply_patch(text)


def in_html(text: str, function: str) -> bool:
    """Return whether a text holds the function in HTML, where `<` is escaped."""
    tag = _ELEMENT.search(text)
    return tag is not None and function in text[tag.end() :] and f"</{tag[1].lower()}" in text.lower()


def _find_elements(text: str) -> Iterator[str]:
    """Yield the texts of HTML elements that hold code."""
    lowered, at = text.lower(), 0
    for _ in range(TRIES * TRIES):
        opening = _ELEMENT.search(text, at)
        if opening is None:
            return
        at = opening.end()
        end = lowered.find(f"</{opening[1].lower()}", at)
        if end >= 0:
            at = end
            inner = _INNER.sub("", _BREAK.sub("\n", text[opening.end() : end]))
            yield html.unescape(inner).replace("\xa0", " ").strip("\n")


def _find_strings(text: str) -> Iterator[str]:
    """Yield the strings of JSON in a text; if it does not parse as a whole, those that begin with a definition."""
    decoder = json.JSONDecoder(strict=False)
    for position in sorted((text.find("{"), text.find("["))):
        if position < 0:
            continue
        with suppress(ValueError, RecursionError):
            value, _ = decoder.raw_decode(text, position)
            strings = [*map(_restore_lines, _list_strings(value))]
            if strings:
                yield from strings
                return
    for begun in list(_BEGUN.finditer(text))[-TRIES:]:
        content = re.compile(r'(?:[^"\\]|\\.)*+', re.DOTALL).match(text, begun.start() + 1)
        if content:
            with suppress(ValueError):
                yield _restore_lines(json.loads(f'"{content[0]}"', strict=False))


def _list_strings(value: Any) -> Iterator[str]:
    """Yield the strings of a value in order; a list of strings is lines."""
    waiting = [value]
    for _ in range(_VALUES):
        if not waiting:
            return
        member = waiting.pop()
        if isinstance(member, str):
            yield member
        elif isinstance(member, dict):
            waiting += reversed(member.values())
        elif isinstance(member, list):
            if {*map(type, member)} == {str}:
                yield "\n".join(member)
            else:
                waiting += reversed(member)


def _restore_lines(text: str) -> str:
    """Return a text with line ends that were escaped twice restored."""
    if "\n" not in text and "\\n" in text:
        text = text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    return text


def _apply_patch(text: str) -> str:
    """Return the result of a diff: its added and unchanged lines."""
    lines = [line for line in text.split("\n") if not line.startswith("-") and not _PATCH.match(line)]
    return textwrap.dedent("\n".join(re.sub("^[+ ]", "", line) for line in lines))


def is_patch(text: str) -> bool:
    """Return whether a block is a diff that adds or changes a definition."""
    return _ADDED.search(text) is not None or (_HUNK.search(text) is not None and "\n+" in text)


def without_prompts(text: str, function: str) -> str:
    """Return the statements of an interactive session, if it defines the function."""
    if re.search(rf"^[ \t]*>>>[ ]?(?:async[ ]+)?(?:def|fun)[ ]+{function}\b", text, re.MULTILINE):
        lines = [line.strip("\n").lstrip() for line in text.split("\n")]
        return "\n".join(line[3:].removeprefix(" ") for line in lines if line.startswith((">>>", "...")))
    if re.search(r"^[ \t]*In[ ]?\[[\d ]{0,6}\]:", text, re.MULTILINE):
        return "\n".join(_CELL.sub("", line, count=1) for line in text.split("\n") if not _OUTPUT.match(line))
    return text


def list_repairs(text: str) -> Iterator[str]:
    """Yield corrected versions of a text that is not Python: without additions of a page or a notebook."""
    if _LABEL.match(text):
        yield _LABEL.sub("", text)
    if _MAGIC.search(text):
        yield _MAGIC.sub("", text)
    if _ENTITY.search(text):
        yield resolve_entities(text)
    # As a page shows code: each line has its number.
    lines = text.split("\n")
    if all(map(_NUMBERED.match, filter(str.strip, lines))):
        yield textwrap.dedent("\n".join(_NUMBERED.sub("", line, count=1) for line in lines))


def resolve_entities(text: str) -> str:
    """Return a text with its HTML entities resolved."""
    return html.unescape(text).replace("\xa0", " ")
