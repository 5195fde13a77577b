"""Texts that a terminal or a page would obey, and what of them acts in a page."""

import re
from html.parser import HTMLParser
from typing import Any

from markdown_it import MarkdownIt

OBEYED = "\x1b]52;c;b3duZWQ=\x07\x1b[2J\x9b31m\u202e\x00\r"
LOADED = "<img src=http://evil.example/1.png> ![x](http://evil.example/2.png) [l](javascript:alert(1)) </td>"
HOSTILE = f"m{OBEYED} {LOADED} [/red]"
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Tags(HTMLParser):
    """Collects what a page would load, run or lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note tags that act."""
        if tag in {"img", "script", "iframe", "object", "embed", "svg", "style", "link", "a", "video", "audio"}:
            self.found.append((tag, attrs))


def acting(markdown: str) -> list[Any]:
    """Return what acts in a text that a page renders as Markdown with HTML in it."""
    tags = Tags()
    tags.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown))
    return tags.found
