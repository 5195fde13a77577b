"""Read lists of entities out of the JSON values of a reply, by our keys or by their types."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from data.patterns import pattern
from generators.data_extraction.letters import KINDS

_TYPE_KEYS = frozenset({"type", "kind", "category", "label", "entity_type", "тип", "вид"})
_VALUE_KEYS = frozenset(
    {"value", "values", "text", "entity", "content", "normalized", "normalised", "original", "raw", "iso", "e164"}
    | {"email", "address", "phone", "number", "date", "значение", "текст"}
)
_TYPES = {"mail": "emails", "почт": "emails", "phone": "phones", "tel": "phones", "тел": "phones", "date": "dates"}
_TYPES["дат"] = "dates"
_NAMES = {
    "emails": "email|e mail|mail|email address|e mail address|emails|e mails|mails|email addresses|"
    "e mail addresses|почта|почты|электронная почта|электронные почты|адрес электронной почты|"
    "адреса электронной почты|электронный адрес|электронные адреса|почтовые адреса|имейл|имейлы|емейл|емейлы|"
    "email адрес|email адреса|e mail адрес|e mail адреса",
    "phones": "phone|phones|phone number|phone numbers|telephone|telephones|telephone number|telephone numbers|tel|"
    "телефон|телефоны|номер телефона|номера телефонов|номера телефона|телефонный номер|телефонные номера",
    "dates": "date|dates|дата|даты",
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names.split("|")}
_NUMBERED = pattern(r"[\W_]*\d{0,2}$")
_GAP = pattern(r"[\W_]+")
_PARTS = ({"year", "month", "day"}, {"год", "месяц", "день"})


def _kind(key: str) -> str:
    """Return the kind that a key names, singular or plural, English or Russian; else the key in lower case."""
    said = key.strip().lower()
    return said if said in KINDS else _KINDS.get(_GAP.sub(" ", _NUMBERED.sub("", said)).strip(), said)


def _kinds(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object's values by the kinds that its keys name, listed where several name one."""
    named: dict[str, Any] = {}
    for key, part in value.items():
        kind = _kind(key)
        named[kind] = [named[kind], part] if kind in named else part
    return named


def _date(value: Mapping[str, Any]) -> str | None:
    """Return the date of `{"year": …, "month": …, "day": …}` as a text."""
    parts = {key.strip().lower(): part for key, part in value.items()}
    for names in _PARTS:
        if parts.keys() == names and all(isinstance(part, str) for part in parts.values()):
            year, month, day = (parts[name].strip() for name in sorted(names, key=_ORDER.index))
            return f"{year}-{month}-{day}" if month.isdigit() else f"{day} {month} {year}"
    return None


_ORDER = ("year", "год", "month", "месяц", "day", "день")


def strings(value: Any, depth: int = 3) -> Iterator[str]:
    """Yield the strings in a JSON value, nested at most three deep; of an object with a value, only that.

    An object of year, month and day is one string.
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and (when := _date(value)):
        yield when
    elif isinstance(value, (list, dict)) and depth:
        parts = value
        if isinstance(value, dict):
            parts = [part for key, part in value.items() if key.lower() in _VALUE_KEYS] or [*value.values()]
        for part in parts:
            yield from strings(part, depth - 1)


def typed(value: Any) -> tuple[str, Any] | None:
    """Return (kind, value) of `{"type": "email", "value": …}`; the kind is '' where it is none of ours."""
    if not isinstance(value, dict):
        return None
    parts = {key.strip().lower(): part for key, part in value.items()}
    said = next((part for key, part in parts.items() if key in _TYPE_KEYS and isinstance(part, str)), None)
    if said is None or parts.keys().isdisjoint(_VALUE_KEYS):
        return None
    return next((kind for part, kind in _TYPES.items() if part in said.lower()), ""), value


def named_object(value: Any, depth: int = 2) -> dict[str, Any] | None:
    """Return the object that has a key of ours: this one, or one inside it; keys as kinds.

    A list of typed values counts as one, and so does a list of objects that each have a key of ours.
    """
    if isinstance(value, list):
        entries = [_entry(part) for part in value]
        if entries and all(entries):
            merged: dict[str, Any] = {}
            for kind, part in (pair for entry in entries for pair in entry or ()):
                merged.setdefault(kind, []).append(part)
            return merged
        inside = value[-1:]
    else:
        named = _kinds(value)
        if not named.keys().isdisjoint(KINDS):
            return named
        inside = [*value.values()]
    for part in inside if depth else ():
        if isinstance(part, (dict, list)) and (inner := named_object(part, depth - 1)):
            return inner
    return None


def _entry(value: Any) -> list[tuple[str, Any]] | None:
    """Return the kinds and values of an entry of a list: a typed value, or an object with keys of ours."""
    if one := typed(value):
        return [one]
    if not isinstance(value, dict) or (named := _kinds(value)).keys().isdisjoint(KINDS):
        return None
    return [*named.items()]


def _is_line(value: Any) -> bool:
    """Tell whether an object is one of several that make a list: a typed value, or one key of ours alone."""
    return isinstance(value, dict) and (typed(value) is not None or (len(value) == 1 and _kind(*value) in KINDS))


def last_first(values: Sequence[Any]) -> Iterator[Any]:
    """Yield JSON values, the last first; typed objects, or such of one key, one after the other are a list."""
    run: list[Any] = []
    for value in reversed(values):
        if _is_line(value):
            run.insert(0, value)
            continue
        if run:
            yield run
            run = []
        if isinstance(value, dict) or any(isinstance(part, dict) for part in value):
            yield value
    if run:
        yield run
