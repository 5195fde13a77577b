"""Hide keys in whatever comes from outside, before it is kept, verified or shown.

A reply, a reason, a page or an error may repeat the key that its request carried (an application that echoes its
headers). Every key that this process has read is looked for in the forms in which it may come back: plain, upper or
lower case, reversed, percent-encoded once or twice, escaped for HTML or JSON, in hexadecimal and in base64; whole,
or cut at either end to `LEAST` characters of its random part.
"""

import html
import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from data.patterns import pattern
from data.records import HIDDEN_KEYS, Reply

HIDDEN = "[key hidden]"
"""What stands in a key's place."""
LEAST = 12
"""Characters of a key's random part that are looked for at least: fewer may stand anywhere by chance."""
SHORTEST = 16
"""Characters of a key: what is shorter (`EMPTY`, `none`) is none."""
VARIETY = 6
"""Different characters of a key's random part, at least: a placeholder such as xxxxxxxxxxxxxxxx is none."""
_COMMON = pattern(
    r"(?:sk-(?:proj-|svcacct-|admin-|ant-(?:api\d+-)?|or-(?:v\d+-)?)?|github_pat_|gh[pousr]_|glpat-|hf_|gsk_|r8_|nvapi-"
    r"|pplx-|xox[a-z]-|AIza|AKIA|eyJ[\w-]+\.)"
)
"""What all keys of a kind begin with: no secret."""


@dataclass(frozen=True, slots=True)
class _Form:
    """A key as it may be spelt: in pieces. The first `common` are no secret, and `least` running ones tell it."""

    pieces: tuple[str, ...]
    common: int
    least: int

    def grams(self) -> Iterator[tuple[int, str]]:
        """Yield the pieces in which any `least` running ones hold a whole gram, and where each begins."""
        size = self.least // 2
        for at in range(self.common, len(self.pieces) - size + 1, size):
            yield at, "".join(self.pieces[at : at + size])

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where a text holds enough of the key."""
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
        # Six bits a character: those that neighbours share are left out.
        first, past = -(-8 * before // 6), 8 * len(raw) // 6
        known = max(-(-8 * (before + common) // 6) - first, 0)
        for encode in (b64encode, urlsafe_b64encode):
            yield _Form(tuple(encode(raw).decode()[first:past]), known, -(-LEAST * 8 // 6))


def is_key(value: str) -> bool:
    """Say whether a value can be a key: long, and with a random part."""
    found = _COMMON.match(value)
    random = value[found.end() if found else 0 :]
    return len(value) >= SHORTEST and len(random) >= LEAST and len(set(random)) >= VARIETY


_known: dict[str, tuple[_Form, ...]] = {}
_quick: re.Pattern[str] | None = None


def know(key: str) -> None:
    """Have a key hidden from now on in all that this process is sent."""
    global _quick  # noqa: PLW0603 - one list for the process, as its environment is
    if key in _known or not is_key(key):
        return
    _known[key] = tuple({form.pieces: form for form in _forms(key)}.values())
    grams = {gram for forms in _known.values() for form in forms for _, gram in form.grams()}
    _quick = re.compile("|".join(map(re.escape, sorted(grams))))


def hide(text: str) -> tuple[str, int]:
    """Return a text with `HIDDEN` in the place of keys, and how many it held."""
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
    """Return a JSON value with keys hidden in its texts, names included, and how many."""
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
    text, n = hide(reply.text)
    reasoning, m = hide(reply.reasoning)
    reason, k = hide(reply.finish_reason)
    extra, j = _within(dict(reply.extra)) if reply.extra else (reply.extra, 0)
    total = n + m + k + j
    if not total:
        return reply
    extra = {**extra, HIDDEN_KEYS: total}
    return replace(reply, text=text, reasoning=reasoning, finish_reason=reason, extra=extra)
