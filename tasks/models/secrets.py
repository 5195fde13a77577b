"""Keys: where they come from, and how they are removed from everything stored, verified, shown or logged.

A reply, a reason, a page or an error may repeat the key that its request carried (an application that echoes its
headers). Every key that this process has read is searched for in the forms in which it may come back: plain, upper
or lower case, reversed, percent-encoded once or twice, escaped for HTML or JSON, in hexadecimal and in base64;
whole, or cut at either end to `LEAST` characters of its random part.
"""

import html
import json
import logging
import os
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, quote_plus, unquote, urlsplit, urlunsplit

from config.settings import Model
from data.characters import visible
from data.errors import InputError
from data.patterns import pattern
from data.records import HIDDEN_KEYS, Reply

HIDDEN = "[key hidden]"
"""The replacement of a key."""
LEAST = 12
"""Minimum length of a fragment of a key's random part that is searched for: a shorter one may occur by chance."""
SHORTEST = 16
"""Minimum length of a key: shorter values (`EMPTY`, `none`) are not keys."""
VARIETY = 6
"""Minimum number of different characters in a key's random part: xxxxxxxxxxxxxxxx is no key."""
_COMMON = pattern(
    r"(?:sk-(?:proj-|svcacct-|admin-|ant-(?:api\d+-)?|or-(?:v\d+-)?)?|github_pat_|gh[pousr]_|glpat-|hf_|gsk_|r8_|nvapi-"
    r"|pplx-|xox[a-z]-|AIza|AKIA|eyJ[\w-]+\.)"
)
"""Prefixes shared by all keys of a kind: not secret."""


@dataclass(frozen=True, slots=True)
class _Form:
    """One spelling of a key, in pieces. The first `common` are not secret; `least` consecutive ones identify it."""

    pieces: tuple[str, ...]
    common: int
    least: int

    def grams(self) -> Iterator[tuple[int, str]]:
        """Yield (position, gram): any `least` consecutive pieces contain a whole gram."""
        size = self.least // 2
        for at in range(self.common, len(self.pieces) - size + 1, size):
            yield at, "".join(self.pieces[at : at + size])

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the spans where a text contains enough of the key."""
        for at, gram in self.grams():
            start = text.find(gram)
            while start >= 0:
                first, last, low, high = at, at + self.least // 2, start, start + len(gram)
                while first and text.endswith(self.pieces[first - 1], 0, low):
                    first, low = first - 1, low - len(self.pieces[first - 1])
                while last < len(self.pieces) and text.startswith(self.pieces[last], high):
                    high, last = high + len(self.pieces[last]), last + 1
                if last - max(first, self.common) >= self.least:
                    yield low, high
                start = text.find(gram, max(high, start + 1))


def _forms(key: str) -> Iterator[_Form]:
    found = _COMMON.match(key)
    common = found.end() if found else 0
    spelt: Sequence[Callable[[str], str]] = (
        str, str.upper, str.lower,
        lambda c: quote(c, safe=""), lambda c: quote(quote(c, safe=""), safe=""),
        lambda c: f"%{ord(c):02X}", lambda c: f"%{ord(c):02x}",
        lambda c: f"%25{ord(c):02X}", lambda c: f"%25{ord(c):02x}",
        html.escape, lambda c: f"&#{ord(c)};", lambda c: f"&#x{ord(c):x};", lambda c: f"&#x{ord(c):X};",
        lambda c: json.dumps(c)[1:-1], lambda c: "\\/" if c == "/" else c,
        lambda c: f"\\u{ord(c):04x}", lambda c: f"\\u{ord(c):04X}",
        lambda c: f"{ord(c):02x}", lambda c: f"{ord(c):02X}",
    )  # fmt: skip
    for spell in spelt:
        yield _Form(tuple(map(spell, key)), common, LEAST)
    yield _Form(tuple(reversed(key)), 0, LEAST)
    for before in range(3):
        raw = b"\0" * before + key.encode()
        # Six bits per character: those shared with neighbours are left out.
        first, past = -(-8 * before // 6), 8 * len(raw) // 6
        known = max(-(-8 * (before + common) // 6) - first, 0)
        for encode in (b64encode, urlsafe_b64encode):
            yield _Form(tuple(encode(raw).decode()[first:past]), known, -(-LEAST * 8 // 6))


def is_key(value: str) -> bool:
    """Return whether a value can be a key: long, and with a random part."""
    found = _COMMON.match(value)
    random = value[found.end() if found else 0 :]
    return len(value) >= SHORTEST and len(random) >= LEAST and len(set(random)) >= VARIETY


_known: dict[str, tuple[_Form, ...]] = {}
_quick: re.Pattern[str] | None = None


def know(key: str) -> None:
    """Hide a key from now on in everything this process receives."""
    global _quick  # noqa: PLW0603 - one list for the process, as its environment is
    if key in _known or not is_key(key):
        return
    _known[key] = tuple({form.pieces: form for form in _forms(key)}.values())
    grams = {gram for forms in _known.values() for form in forms for _, gram in form.grams()}
    _quick = re.compile("|".join(map(re.escape, sorted(grams))))


def hide(text: str) -> tuple[str, int]:
    """Return a text with keys replaced by `HIDDEN`, and their number."""
    if _quick is None or _quick.search(text) is None:
        return text, 0
    spans = sorted(span for forms in _known.values() for form in forms for span in form.spans(text))
    kept, end, n = [], 0, 0
    for low, high in spans:
        if low >= end:
            kept += [text[end:low], HIDDEN]
            n += 1
        end = max(end, high)
    return "".join([*kept, text[end:]]), n


def _within(value: Any) -> tuple[Any, int]:
    """Return a JSON value with keys hidden in its strings, names included, and their number."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, dict):
        named = [(*hide(str(name)), *_within(one)) for name, one in value.items()]
        return {name: one for name, _, one, _ in named}, sum(n + m for _, n, _, m in named)
    if isinstance(value, list | tuple):
        found = [_within(one) for one in value]
        return [one for one, _ in found], sum(n for _, n in found)
    return value, 0


def masked(reply: Reply) -> Reply:
    """Return a reply without the keys that it repeats; its `extra` says how many were hidden."""
    texts, n = _within([reply.text, reply.reasoning, reply.finish_reason])
    extra, m = _within(dict(reply.extra))
    if not n + m:
        return reply
    text, reasoning, finish_reason = texts
    extra = {**extra, HIDDEN_KEYS: n + m}
    return replace(reply, text=text, reasoning=reasoning, finish_reason=finish_reason, extra=extra)


def _shorten(record: logging.LogRecord) -> bool:
    """Remove user, password and query from the URLs that HTTP packages log with every call."""
    if isinstance(record.args, tuple):
        record.args = tuple(bare(str(arg)) if type(arg).__name__ == "URL" else arg for arg in record.args)
    return True


for _name in ("httpx", "httpx2"):
    logging.getLogger(_name).addFilter(_shorten)

_BEARER = re.compile(r"\b(bearer|basic)\s+[\w.~+/=*-]{4,}", re.IGNORECASE)
_LONGEST = 400
_USUAL = {"openai": "OPENAI_API_KEY", "azure": "AZURE_OPENAI_API_KEY"}


def key_variable(model: Model) -> str:
    """Return the environment variable of a model's key; '' if it needs none."""
    # OpenAI's own key is not for other servers.
    usual = "" if model.provider == "openai" and model.base_url else _USUAL.get(model.provider, "")
    return model.api_key_env or usual


def find_key(model: Model) -> str:
    """Return the model's key from the environment; '' if it needs none.

    Raises:
        InputError: its variable is not set.
    """
    variable = key_variable(model)
    key = os.environ.get(variable, "").strip() if variable else ""
    if key and not (key.isascii() and key.isprintable()):
        raise InputError(
            f"model {model.name!r}: the key in {variable} contains characters not allowed in a header; "
            "set it again, without line breaks or typographic quotation marks"
        )
    know(key)
    if key or not variable:
        return key
    named, other = f"provider {model.provider} reads its key from", ", or name another variable in `api_key_env`"
    if model.api_key_env:
        named, other = "api_key_env names", ""
    raise InputError(
        f"model {model.name!r}: {named} the environment variable {variable}, which is not set; set it "
        f"(export {variable}=…){other}; never write the key itself in the configuration"
    )


def carriers(model: Model, key: str, headers: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return (headers, query) that carry the key, where configured or as a bearer token; without one, `headers`."""
    if not key:
        return headers, {}
    if model.api_key_query:
        return {}, {model.api_key_query: key}
    return {model.api_key_header: key} if model.api_key_header else {"Authorization": f"Bearer {key}"}, {}


def bare(url: str) -> str:
    """Return an address without user, password, query and fragment, safe to write down."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))


def read_address(model: Model, url: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """Split an address into its bare form, the header for its user info, and its query.

    Raises:
        InputError: the address is invalid.
    """
    parts = urlsplit(url)
    try:
        wrong = bool(url) and (parts.scheme not in {"", "http", "https"} or not parts.hostname or parts.port == 0)
    except ValueError:
        wrong = True
    if wrong:
        found = url.rpartition("@")[2].partition("?")[0]
        raise InputError(
            f"model {model.name!r}: found base_url {found!r}, expected an address such as http://127.0.0.1:8000/v1"
        )
    headers = {"Authorization": f"Basic {_pair(parts)}"} if parts.password or parts.username else {}
    return bare(url), headers, dict(parse_qsl(parts.query, keep_blank_values=True))


def _pair(parts: SplitResult) -> str:
    """Return user and password as HTTP Basic credentials."""
    return b64encode(f"{unquote(parts.username or '')}:{unquote(parts.password or '')}".encode()).decode()


class Secrets:
    """Values that must never be written down: a key, and an address's secrets (user:password, query values)."""

    def __init__(self, key: str = "", url: str = "") -> None:
        parts = urlsplit(url)
        hidden = {key, *(part.partition("=")[2] for part in parts.query.split("&"))}
        for one in hidden:
            know(one)
        if parts.password:
            hidden |= {parts.password, unquote(parts.password), _pair(parts)}
        # As it may appear in a query: packages differ in what they escape.
        ways = (str, quote, quote_plus, partial(quote, safe=""), partial(quote, safe="!$'()*,:;@/?"))
        spelt = {form for one in hidden for form in (*(way(one) for way in ways), json.dumps(one)[1:-1])}
        self._spelt = sorted((form for form in spelt if len(form) > 3), key=len, reverse=True)  # noqa: PLR2004 - a shorter one is no secret, and would tear words apart

    def clean(self, text: str) -> str:
        """Return an error's text without secrets and control characters, as one line of bounded length."""
        for spelt in self._spelt:
            text = text.replace(spelt, "[key]")
        text = hide(text)[0].replace(HIDDEN, "[key]")
        text = visible(" ".join(_BEARER.sub(r"\1 [key]", text[: 64 * _LONGEST]).split()))
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
