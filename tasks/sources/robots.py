"""Read robots.txt, and say what it allows.

Source: RFC 9309.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

_LINE = re.compile(r"^[ \t]*([A-Za-z-]{1,20})[ \t]*:([^#\n]*)", re.MULTILINE)
LONGEST = 2000
"""Signs of a rule; a longer one is skipped."""

_MOST = 5000
"""Rules that are read; more are none that people wrote."""


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules for us: (allowed, path pattern), and the seconds to leave between requests, where given."""

    rules: tuple[tuple[bool, str], ...] = ()
    delay_s: float = 0.0

    def allow(self, target: str) -> bool:
        """Tell whether a path with its query may be fetched: the longest pattern decides, a tie allows."""
        path = _normal(target)
        best, allowed = -1, True
        for allows, pattern in self.rules:
            longer = len(pattern) > best or (len(pattern) == best and allows)
            if longer and _matches(pattern, path):
                best, allowed = len(pattern), allows
        return allowed


def read_robots(text: str, product: str) -> Robots:
    """Read the groups that name the product, or else those of `*`; groups of one name are joined."""
    named: dict[str, list[tuple[bool, str]]] = {}
    delays: dict[str, float] = {}
    agents: list[str] = []
    fresh = True
    for found in list(_LINE.finditer(text.replace("\r", "\n")))[:_MOST]:
        key, value = found[1].lower(), found[2].strip()
        if key == "user-agent":
            agents = [value.lower()] if fresh else [*agents, value.lower()]
            fresh = False
            named.setdefault(value.lower(), [])
            continue
        fresh = key in {"allow", "disallow", "crawl-delay"} or fresh
        for agent in agents:
            if key in {"allow", "disallow"} and 0 < len(value) <= LONGEST:
                named[agent].append((key == "allow", _normal(value)))
            elif key == "crawl-delay" and re.fullmatch(r"[0-9]{1,5}(?:\.[0-9]{1,3})?", value):
                delays[agent] = float(value)
    ours = product if product in named else "*"
    return Robots(tuple(named.get(ours, ())), delays.get(ours, 0.0))


def _normal(path: str) -> str:
    """Return a path with one form of percent-encoding."""
    return quote(unquote(path), safe="/%*$?&=:@!'()+,;~-._#")


def _matches(pattern: str, path: str) -> bool:
    """Match a pattern with `*` and a closing `$`; each piece is looked for once, so the time is bounded."""
    anchored = pattern.endswith("$")
    pieces: Sequence[str] = pattern.removesuffix("$").split("*")
    if not path.startswith(pieces[0]):
        return False
    at = len(pieces[0])
    if len(pieces) == 1:
        return not anchored or at == len(path)
    last = pieces[-1] if anchored else ""
    for piece in pieces[1 : -1 if anchored else None]:
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return path.endswith(last) and len(path) - len(last) >= at
