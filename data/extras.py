"""Extras: installing optional dependencies by package, since no distribution of ours is published."""

import re
import shlex
from importlib.metadata import PackageNotFoundError, requires

DISTRIBUTION = "basic-control"
_LINE = re.compile(r"([^;]+?)\s*;\s*extra\s*==\s*['\"]([\w-]+)['\"]")


def packages(extra: str) -> list[str]:
    """Return the packages of an extra with their versions, as declared by the installed copy."""
    try:
        lines = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return []
    return [found[1] for line in lines if (found := _LINE.fullmatch(line)) and found[2] == extra]


def installing(extra: str) -> str:
    """Return the command that installs an extra's packages, for messages.

    A copy that is not installed does not know them: then the text names the extra in pyproject.toml.
    """
    named = packages(extra)
    if not named:
        return f"the packages of the extra `{extra}` in pyproject.toml"
    return f"pip install {' '.join(map(shlex.quote, named))}"
