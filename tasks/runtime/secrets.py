"""Keys, hidden in everything that is stored, verified, shown or logged.

A reply, a reason, a page or an error may repeat the key that its request carried (an application that echoes its
headers). Every key that this process has read is searched for as it is, percent-encoded, escaped as JSON escapes,
and in base64: whole, or any `LEAST` consecutive characters of its random part.
"""

import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from typing import Any, NamedTuple

from basic_control.data.patterns import pattern
from basic_control.data.records import HIDDEN_KEYS, Reply

HIDDEN = "[key hidden]"
"""The replacement of a key."""
LEAST = 12
"""Minimum length of a fragment of a key's random part that is searched for: a shorter one may occur by chance."""
SHORTEST = 16
"""Minimum length of a key: shorter values (`EMPTY`, `none`) are not keys."""
VARIETY = 6
"""Minimum number of different characters in a key's random part: xxxxxxxxxxxxxxxx is no key."""

# What all keys of a kind begin with, which is not secret: the `sk-proj-` of sk-proj-Q7x2…
_COMMON = pattern(
    r"(?:sk-(?:proj-|svcacct-|admin-|ant-(?:api\d+-)?|or-(?:v\d+-)?)?|github_pat_|gh[pousr]_|glpat-|hf_|gsk_|r8_|nvapi-"
    r"|pplx-|xox[a-z]-|AIza|AKIA|eyJ[\w-]+\.)?"
)

# Of JSON inside JSON: \\\\u0073 in a judge's reply is \u0073 in the reason that is read from it.
_BACKSLASHES = r"\\{1,8}"


def is_key(value: str) -> bool:
    """Return whether a value can be a key: long, and with a random part."""
    random = _COMMON.sub("", value, count=1)
    return len(value) >= SHORTEST and len(random) >= LEAST and len(set(random)) >= VARIETY


def list_patterns(value: str) -> list[str]:
    r"""Return a pattern for each character of a value: as it is, percent-encoded, or escaped as in JSON.

    A slash, for example, is also found as %2F, \/ and \u002f, and as \\u002f in JSON inside JSON. ASCII letters and
    digits are found as they are.
    """
    patterns = []
    for character in value:
        if character.isascii() and character.isalnum():
            patterns.append(character)
            continue
        plain = re.escape(character)
        percent = character.encode("utf-8", "replace").hex("%")
        escapes = f"%{percent}|{_BACKSLASHES}(?:u{ord(character):04x}|{plain})"
        patterns.append(f"(?:{plain}|(?i:{escapes}))")
    return patterns


class _Search(NamedTuple):
    """What finds one spelling of a key: `grams` tells quickly whether `fragments`, which overlap, need be tried."""

    grams: str
    fragments: re.Pattern[str]


def _build_search(pieces: list[str], common: int, least: int) -> _Search:
    """Return the search for patterns of a key's pieces: `common` are not secret, any `least` others identify it."""
    # Every fragment contains one of the grams whole.
    grams = _join_runs(pieces, common, least // 2, step=least // 2)
    fragments = _join_runs(pieces, common, least, step=1)
    # What is not secret is hidden with the secret part behind it.
    fragments[0] = f"(?:{''.join(pieces[:common])})?{fragments[0]}"
    return _Search("|".join(grams), re.compile(f"(?=({'|'.join(fragments)}))"))


def _join_runs(pieces: list[str], first: int, length: int, *, step: int) -> list[str]:
    """Return the runs of so many pieces that begin at the first and every `step` pieces after it."""
    starts = range(first, len(pieces) - length + 1, step)
    return ["".join(pieces[start : start + length]) for start in starts]


def _list_searches(key: str) -> Iterator[_Search]:
    """Yield the searches for all spellings of a key."""
    match = _COMMON.match(key)
    common = match.end() if match else 0
    yield _build_search(list_patterns(key), common, LEAST)
    # With every letter escaped too: %73%6b%2d, \u0073\u006b\u002d
    for prefix, width in (("%", 2), (f"{_BACKSLASHES}u", 4)):
        pieces = [f"(?i:{prefix}{ord(character):0{width}x})" for character in key]
        yield _build_search(pieces, common, LEAST)
    for before in range(3):
        raw = b"\0" * before + key.encode()
        # A base64 character holds six bits: those that share some with what is around the key are left out.
        first, past = -(-8 * before // 6), 8 * len(raw) // 6
        skipped = max(-(-8 * (before + common) // 6) - first, 0)
        letters = b64encode(raw).decode()[first:past]
        pieces = [{"+": "[+-]", "/": "[/_]"}.get(letter, letter) for letter in letters]
        yield _build_search(pieces, skipped, min(-(-8 * LEAST // 6), len(pieces) - skipped))


_searches: dict[str, list[_Search]] = {}
_quick: re.Pattern[str] | None = None


def know(key: str) -> None:
    """Hide a key from now on in everything this process receives."""
    global _quick  # noqa: PLW0603 - one list for the process, as its environment is
    if key in _searches or not is_key(key):
        return
    _searches[key] = [*_list_searches(key)]
    grams = [_quick.pattern] if _quick else []
    grams += [search.grams for search in _searches[key]]
    _quick = re.compile("|".join(grams))


def hide(text: str) -> tuple[str, int]:
    """Return a text with keys replaced by `HIDDEN`, and their number.

    A text with keys in HTML entities, such as s&#107;&#x2d;a, is returned without any.
    """
    hidden, n_hidden = _hide_spelled(text)
    if "&" in text:
        plain, n_plain = _hide_spelled(unescape(text))
        # Else no entity is part of a key.
        if plain != unescape(hidden):
            return plain, n_plain
    return hidden, n_hidden


def _hide_spelled(text: str) -> tuple[str, int]:
    """Return a text with keys in the spellings searched for replaced, and their number."""
    if _quick is None or not _quick.search(text):
        return text, 0
    spans: list[tuple[int, int]] = []
    for searches in _searches.values():
        for search in searches:
            if re.search(search.grams, text):
                spans += (match.span(1) for match in search.fragments.finditer(text))
    # Fragments of one key overlap, and are one.
    parts, end, n_hidden = [], 0, 0
    for start, stop in sorted(spans):
        if start >= end:
            parts += [text[end:start], HIDDEN]
            n_hidden += 1
        end = max(end, stop)
    return "".join([*parts, text[end:]]), n_hidden


def _hide_within(value: Any) -> tuple[Any, int]:
    """Return a JSON value with keys hidden in its strings, names included, and their number."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        names, in_names = _hide_within(list(value))
        entries, in_entries = _hide_within(list(value.values()))
        return dict(zip(names, entries, strict=True)), in_names + in_entries
    if isinstance(value, list | tuple):
        hidden, total = [], 0
        for entry in value:
            result, count = _hide_within(entry)
            hidden.append(result)
            total += count
        return hidden, total
    return value, 0


def mask_keys(reply: Reply) -> Reply:
    """Return a reply without the keys that it repeats; its `extra` says how many were hidden."""
    fields = [reply.text, reply.reasoning, reply.finish_reason, dict(reply.extra)]
    (text, reasoning, finish_reason, extra), count = _hide_within(fields)
    if not count:
        return reply
    extra[HIDDEN_KEYS] = count
    return replace(reply, text=text, reasoning=reasoning, finish_reason=finish_reason, extra=extra)
