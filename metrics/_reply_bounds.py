"""Bounds for a judge's reply: a schema with limits, so that a constrained reply ends within the token limit.

If a schema leaves a text or a list unbounded, a judge that loses track writes until its JSON is truncated. The
bounds on texts and lists follow from the judge's token limit.
"""

from bisect import bisect
from collections.abc import Mapping
from typing import Any

CHARACTERS: Mapping[str, float] = {"en": 3.0, "ru": 2.0, "zh": 1.0}
"""Characters of text per token, by language: a low estimate for models with a vocabulary for it."""

_OTHER = 1.5
_FORM = 2.0  # characters of JSON's own syntax, keys and labels per token
_NUMBER = 8
_LEAST = 8
_ENTRY: Mapping[str, int] = {"zh": 50}
_ENTRY_ELSE = 120
"""Characters allowed for an entry of an open list, such as a claim."""

LONGEST = 1_000
"""Maximum length of a text in characters, such as a reason, whatever the token limit."""
MOST = 200
"""Maximum number of entries of an open list."""
DOUBTFUL = 16
"""Characters before a text's limit within which a constrained judge may have ended it for want of a fitting token.

A claim that ends there with a full stop is whole."""
_STOPS = (".", "!", "?", "…", "。", "！", "？", "؟", "।", '"', "”", "»")


def hold_by_token(language: str) -> float:
    """Return the characters of a language's text that a token holds at least."""
    return CHARACTERS.get(language, _OTHER)


def limit_reply(schema: Mapping[str, Any], tokens: int, language: str) -> dict[str, Any]:
    """Return the schema with a bound on every text and list that has none or a wider one, in the same order.

    `tokens` is the reply's limit. An open list has as many entries as fit with `_ENTRY` characters each; without
    open lists the texts share what the fixed parts leave over. A schema that bounds everything stays as it is.
    """
    if not _is_unbounded(schema):
        return dict(schema)
    per_token = hold_by_token(language)
    # Lists first: what they leave over, texts may have.
    if _has_open_list(schema):
        length = _ENTRY.get(language, _ENTRY_ELSE)
        extra = bisect(range(2, MOST + 1), tokens, key=lambda n: _estimate_tokens(schema, length, n, per_token))
        return _limit_schema(schema, length, 1 + extra)
    extra = bisect(
        range(_LEAST + 1, LONGEST + 1), tokens, key=lambda n: _estimate_tokens(schema, n, MOST, per_token)
    )
    return _limit_schema(schema, _LEAST + extra, MOST)


def widen(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema whose lists have room for all that a judge can list, however few tokens it has.

    What does not fit is then cut at the token limit, which the server tells; a full list would not.
    """
    wide = dict(schema)
    if schema.get("type") == "array" and not _is_fixed(schema):
        wide["maxItems"] = MOST
        wide["items"] = dict(schema["items"])
        if wide["items"].get("type") == "string" and "enum" not in wide["items"]:
            wide["items"]["maxLength"] = LONGEST
    if "properties" in schema:
        wide["properties"] = {name: widen(part) for name, part in schema["properties"].items()}
    return wide


def find_cut(schema: Mapping[str, Any], value: Any) -> str:
    """Return how a reply's value was cut by the schema that was sent: a full list, or an entry at its limit.

    '' if it was not. A list that is longer than its bound shows that the server did not enforce it.
    """
    if schema.get("type") == "array" and isinstance(value, list) and not _is_fixed(schema):
        limit = schema.get("items", {}).get("maxLength", 0)
        if len(value) == schema.get("maxItems"):
            return f"its list is full ({len(value)} entries): what else there is would be missing"
        cut = [entry for entry in value if isinstance(entry, str) and limit and _is_cut(entry, limit)]
        return f"an entry ends at the limit of {limit} characters: …{cut[0][-40:]}" if cut else ""
    if isinstance(value, Mapping):
        cuts = (find_cut(part, value.get(name)) for name, part in schema.get("properties", {}).items())
        return next(filter(None, cuts), "")
    return ""


def _is_cut(text: str, limit: int) -> bool:
    if len(text) == limit:
        return True
    return limit - DOUBTFUL <= len(text) < limit and not text.rstrip().endswith(_STOPS)


def _is_fixed(schema: Mapping[str, Any]) -> bool:
    """Return whether a list has a known number of entries."""
    return "maxItems" in schema and schema.get("minItems") == schema["maxItems"]


def _is_unbounded(schema: Mapping[str, Any]) -> bool:
    """Return whether the schema has a text or a list without a maximum."""
    if "enum" in schema:
        return False
    kind = schema.get("type")
    if kind == "string":
        return "maxLength" not in schema
    if kind == "array":
        return "maxItems" not in schema or _is_unbounded(schema.get("items", {}))
    return any(map(_is_unbounded, _list_parts(schema)))


def _list_parts(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [part for part in schema.get("properties", {}).values() if isinstance(part, Mapping)]


def _has_open_list(schema: Mapping[str, Any]) -> bool:
    """Return whether the schema has a list without a maximum."""
    if schema.get("type") == "array":
        return "maxItems" not in schema or _has_open_list(schema.get("items", {}))
    return any(map(_has_open_list, _list_parts(schema)))


def reason_length(schema: Mapping[str, Any], tokens: int, language: str) -> int:
    """Return the characters that each text of a reply may have: those that its fixed parts leave over."""
    per_token = hold_by_token(language)
    return bisect(range(1, LONGEST + 1), tokens, key=lambda n: _estimate_tokens(schema, n, MOST, per_token))


def _estimate_tokens(schema: Mapping[str, Any], length: int, entries: int, per_token: float) -> float:
    """Return the tokens of the longest reply, with texts of `length` characters and open lists of `entries`."""
    if "enum" in schema:
        return (max(len(str(label)) for label in schema["enum"]) + 2) / _FORM
    kind = schema.get("type")
    # Quotes, colons, commas and spaces are part of the form.
    if kind == "object":
        form = sum(len(name) + 6 for name in schema.get("properties", {})) + 2
        return form / _FORM + sum(
            _estimate_tokens(part, length, entries, per_token) for part in _list_parts(schema)
        )
    if kind == "array":
        number = min(int(schema.get("maxItems", entries)), max(entries, int(schema.get("minItems", 0))))
        return 1 + number * (1 + _estimate_tokens(schema.get("items", {}), length, entries, per_token))
    if kind == "string":
        return min(length, int(schema.get("maxLength", length))) / per_token + 1
    return _NUMBER / _FORM


def _limit_schema(schema: Mapping[str, Any], length: int, entries: int) -> dict[str, Any]:
    bounded = dict(schema)
    if "enum" in schema:
        return bounded
    kind = schema.get("type")
    if kind == "string":
        bounded["maxLength"] = min(length, int(schema.get("maxLength", length)))
    if kind == "array":
        if "items" in schema:
            bounded["items"] = _limit_schema(schema["items"], length, entries)
        bounded["maxItems"] = int(schema.get("maxItems", max(entries, int(schema.get("minItems", 0)))))
    if isinstance(schema.get("properties"), Mapping):
        bounded["properties"] = {
            name: _limit_schema(part, length, entries) for name, part in schema["properties"].items()
        }
    return bounded
