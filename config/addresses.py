"""Detect secrets in a configuration's addresses and parameters, and mask them in messages."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any
from urllib.parse import unquote_plus

from basic_control.data.patterns import pattern

_HOLDS_KEY = (
    r"(?:api|access|secret|private|subscription)[-_]?key|(?:access|auth|bearer)[-_]?token|authorization|password"
    r"|(?:client[-_]?)?secret"
)
"""Names whose value is always a secret."""
_NAMES = pattern(
    rf"(?:^|[^a-z])(?:(?:{_HOLDS_KEY}|(?:account|shared|function)?key|credential)s?|[a-z]*token|sig|signature|jwt|auth|"
    r"bearer|pass|passwd|pwd|code)(?:$|[^a-z])"
)
"""Secret names in a query. In requests they would also match `eos_token` and `prompt_cache_key`."""
_PARAMETERS = pattern(_HOLDS_KEY, re.IGNORECASE)
_GIVEN = pattern(rf"(?<!\w)((?:{_HOLDS_KEY})['\"]?:\s*['\"]?)[^\s'\",{{}}]+", re.IGNORECASE)
_BEGINNINGS = r"sk-|AIza|gh[pousr]_|hf_|eyJ|xox[a-z]-|AKIA"
"""Prefixes of known services' keys."""
_VALUES = pattern(rf"{_BEGINNINGS}|(?i:bearer|basic)\b")
_KEYS = pattern(rf"(?<![\w-])(?:{_BEGINNINGS}|(?i:bearer\s+))[\w~+/=.-]{{6,}}")
_IN_TEXT = pattern(
    rf"(?<![\w-])(?:{_BEGINNINGS}|(?i:bearer|basic)\s+)(?=[\w~+/=.-]{{0,200}}\d)(?=[\w~+/=.-]{{0,200}}[A-Za-z])[\w~+/=.-]{{16,}}"
)
"""What looks like a key amid words: longer than any word with that prefix, and with digits in it."""
_SCHEME = pattern(r"\s*([A-Za-z][A-Za-z0-9+.-]*):(?!\d{1,5}(?:/|$))")
_UUID = pattern(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_RANDOM = pattern(r"(?=\D*\d)(?=[^A-Za-z]*[A-Za-z])[\w~+/=.-]{32,}")
_USER = pattern(r"(://)[^/@\s'\"]{1,500}@|(://[^/@\s:]{0,500}:)[^@\s]{1,500}@")
_QUERY = pattern(r"(://[^\s'\"?#]{0,2000}[?#]|[?#][^\s'\"=&#]{1,200}=)[^\s'\"]+")

_LEAST = 16
"""Minimum characters of a key: shorter values of its variable, such as EMPTY, are none."""
ADVICE = (
    "remove it, name its variable in `api_key_env`, and say where it goes with `api_key_query` or `api_key_header`"
)


def find_secret_part(url: str) -> str:
    """Return the name of the part of an address's query or fragment that holds a secret; '' if none does.

    It is recognised by its name (`key`, `api-key`, `sig`, `access_token` …), or by a value that looks like a key.
    """
    query = url.replace("#", "?").partition("?")[2]
    for part in re.split(r"[?&;]", query):
        name, _, value = (unquote_plus(side).strip() for side in part.partition("="))
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()
        # A part without a name is its value.
        content = value or name
        is_random = _RANDOM.fullmatch(content) and not _UUID.fullmatch(content)
        if (value and _NAMES.search(words)) or _VALUES.match(content) or is_random:
            return name if value else "…"
    return ""


def find_secret_parameter(parameters: Mapping[str, Any]) -> str:
    """Return the dotted name of a request parameter, at any depth, that holds a secret; '' if none does."""
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            inner_name = find_secret_parameter(value)
            if inner_name:
                return f"{name}.{inner_name}"
        elif isinstance(value, str) and value and (_PARAMETERS.fullmatch(str(name)) or _KEYS.match(value)):
            return str(name)
    return ""


def holds_key(text: str, keys: Collection[str] = ()) -> bool:
    """Return whether a text for models contains one of the `known` keys, or what looks like a key."""
    return any(len(key) >= _LEAST and key in text for key in keys) or _IN_TEXT.search(text) is not None


def walk_texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text in a configuration, also names of keys, each with its dotted place."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield path, str(name)
            yield from walk_texts(inner, f"{path}.{name}".removeprefix("."))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from walk_texts(inner, f"{path}.{index}")


def find_other_scheme(url: str) -> str:
    """Return an address's scheme if it is neither http nor https (`file`, `ftp` …); else ''."""
    match = _SCHEME.match(url)
    if match is None or match[1].lower() in {"http", "https"}:
        return ""
    return match[1]


def holds_user(url: str) -> bool:
    """Return whether an address has a user or a password before its host."""
    return "@" in re.split(r"[/?#]", url.partition("://")[2] or url, maxsplit=1)[0]


def mask_secrets(text: str) -> str:
    """Return a message with keys, and addresses' passwords and query values, masked."""
    text = _GIVEN.sub(r"\1***", text)
    return _KEYS.sub("***", _QUERY.sub(r"\1***", _USER.sub(r"\1\2***@", text)))


# Names of models that only their maker serves: gpt-4o and o3-mini, but not gpt-oss; claude-sonnet-4.
_HOSTED = {
    "openai": re.compile(r"(?:chat)?gpt-?(?!oss)[\d.].*|chatgpt-.*|o[134](?:-.*)?|text-davinci.*", re.IGNORECASE),
    "anthropic": re.compile(r"claude-.*", re.IGNORECASE),
}


def find_host(name: str) -> str:
    """Return the provider that alone serves a model of this name; '' if others may."""
    return next((provider for provider, pattern in _HOSTED.items() if pattern.fullmatch(name)), "")
