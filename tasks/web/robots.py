"""Read robots.txt.

Source: RFC 9309, as protego reads it.
"""

import re

from protego import Protego

_AGENT = re.compile(r"\s*user[\s-]*agent[\s:]+([^#]*)", re.IGNORECASE)
_MOST = 5000
"""Lines that are read; more are none that people wrote."""


def read_robots(text: str, product: str) -> Protego:
    """Read the groups that name the product, and those of `*`; groups of one name are joined."""
    return Protego.parse("\n".join(_ours(line, product) for line in text.splitlines()[:_MOST]))


def _ours(line: str, product: str) -> str:
    """Give all other agents one name: a part of our name is not ours, and rules times agents would be too many."""
    found = _AGENT.match(line)
    return line if found is None or found[1].strip().lower() in {"*", product} else "User-agent: other"
