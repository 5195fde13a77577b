"""Code blocks of the project's own pages, which tests run as they stand."""

import re

from tests.conftest import TOP


def blocks(page: str, language: str) -> list[str]:
    """Return a page's code blocks in a language, in order."""
    text = (TOP / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def block(page: str, language: str, holding: str) -> str:
    """Return the page's code block that holds a text."""
    return next(one for one in blocks(page, language) if holding in one)
