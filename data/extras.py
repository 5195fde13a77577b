"""Extras: installing optional dependencies by package, since no distribution of ours is published."""

import re
import shlex
from importlib.metadata import PackageNotFoundError, requires

DISTRIBUTION = "basic-control"
# A requirement of an extra, such as: openai>=1.0; extra == "openai"
_LINE = re.compile(r"([^;]+?)\s*;\s*extra\s*==\s*['\"]([\w-]+)['\"]")


def list_packages(extra: str) -> list[str]:
    """Return the packages of an extra with their versions, as declared by the installed copy."""
    try:
        lines = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return []
    requirements = filter(None, map(_LINE.fullmatch, lines))
    return [requirement[1] for requirement in requirements if requirement[2] == extra]


def format_install(extra: str) -> str:
    """Return the command that installs an extra's packages, for messages.

    A copy that is not installed does not know them: then the text names the extra in pyproject.toml.
    """
    names = list_packages(extra)
    if not names:
        return f"the packages of the extra `{extra}` in pyproject.toml"
    return f"pip install {' '.join(map(shlex.quote, names))}"
