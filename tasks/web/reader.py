"""Parse pages in a separate process: `python -m tasks.web.reader`.

Hostile markup may take any time and memory: the parent kills this process on a timeout. A job is a line of JSON
(`length`, `kind`, `charset`, `asks`) and then as many bytes; its reply is a line of JSON.
"""

import contextlib
import json
import re
import resource
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import lru_cache
from html.parser import HTMLParser
from typing import Any

from basic_control.data.characters import make_storable
from basic_control.metrics.citation.sources import judge_outcome, judge_page
from basic_control.metrics.citation.urls import Finding

MEMORY_BYTES = 2_000_000_000
# UTF-8, windows-1251, iso-8859-5, koi8-r, Shift_JIS and the like.
_CHARSETS = re.compile(
    r"utf-?8|utf-?16(?:le|be)?|us-ascii|ascii|latin-?1|windows-?\d{3,4}|cp-?\d{3,4}|x-cp\d{4}|iso-?8859-?\d{1,2}|"
    r"koi8-[ru]|gb2312|gbk|gb18030|big5(?:-hkscs)?|shift[_-]jis|sjis|euc-(?:jp|kr)|iso-2022-jp|tis-620",
    re.IGNORECASE,
)
"""Allowed charsets of pages; Python knows others (idna, unicode_escape) that are slow or harmful."""

_BLOCKS = frozenset(
    """address article aside blockquote body br caption dd details div dl dt fieldset figcaption figure footer form
    h1 h2 h3 h4 h5 h6 head header hr li main nav ol option p pre section summary table tbody td tfoot th thead
    title tr ul""".split()  # noqa: SIM905 - words read as words
)
_HIDDEN = frozenset({"script", "style", "noscript", "template"})
# A page's own word about its charset: <meta charset="utf-8">, or <meta … content="text/html; charset=koi8-r">.
_META = re.compile(rb"<meta[^>]{0,200}?charset\s{0,4}=\s{0,4}[\"']?([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)


def decode(body: bytes, charset: str) -> str:
    """Decode a page: by its byte order mark, its stated charset, UTF-8, or the most likely one."""
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return body.decode("utf-16", "replace")
    match = _META.search(body[:4096])
    stated = match[1].decode("ascii") if match else ""
    for name in (charset, stated, "utf-8"):
        if name and _CHARSETS.fullmatch(name):
            with contextlib.suppress(UnicodeDecodeError, LookupError):
                return body.decode(name.lower().replace("x-cp", "cp")).removeprefix("\ufeff")
    if not _CHARSETS.fullmatch(charset):
        charset = "cp1252"
    try:
        return body.decode(charset, "replace")
    except LookupError:
        return body.decode("cp1252", "replace")


class TextParser(HTMLParser):
    """Collects all text of a page, without a tree: markup may be nested to any depth."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._pieces: list[str] = []
        self._hidden = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - its interface
        """Begin a line at a block, and skip what is not shown."""
        if tag in _BLOCKS:
            self._pieces.append("\n")
        if tag in _HIDDEN and not self._hidden:
            self._hidden = tag

    def handle_endtag(self, tag: str) -> None:
        """End a line at a block."""
        if tag in _BLOCKS:
            self._pieces.append("\n")
        if tag == self._hidden:
            self._hidden = ""

    def handle_data(self, data: str) -> None:
        """Keep text."""
        if not self._hidden:
            self._pieces.append(" ".join(data.split("\n")))

    def join_lines(self) -> str:
        """Return the text so far, one block per line."""
        lines = (" ".join(line.split()) for line in "".join(self._pieces).split("\n"))
        return "\n".join(line for line in lines if line)


def extract_text(page: str) -> str:
    """Return all text of a page, one block per line."""
    parser = TextParser()
    # What the parser raises on some broken declarations.
    with contextlib.suppress(AssertionError):
        parser.feed(page)
        parser.close()
    return parser.join_lines()


@lru_cache(maxsize=1)
def extract_article(page: str) -> str:
    """Return a page's main text, without menus and the like; '' if none is found."""
    # Whatever hostile markup provokes in a parser: no article.
    with contextlib.suppress(Exception):
        import trafilatura

        return trafilatura.extract(page, fast=True, favor_recall=True, include_comments=False) or ""
    return ""


def judge_citation(ask: Mapping[str, Any], everything: str, page: str) -> Finding:
    """Judge one citation: a quote by all the text; claims by the article of a page, or else by all the text."""
    if not everything:
        return judge_outcome("the page cannot be read")
    finding = judge_page(everything, **ask)
    if finding.reason not in {"page found, nothing quoted", "the claim's words found"} or everything is page:
        return finding
    article = extract_article(page)
    if not article:
        return finding
    in_article = judge_page(article, **ask)
    # The words of a claim may stand where an article is not found.
    if finding.verdict == "VERIFIED" != in_article.verdict:
        return finding
    return in_article


def answer(job: Mapping[str, Any], body: bytes) -> list[dict[str, Any]]:
    """Return a finding for each ask of a job."""
    page = decode(body, job["charset"])
    everything = page if job["kind"] == "text/plain" else extract_text(page)
    findings = [judge_citation(ask, everything, page) for ask in job["asks"]]
    return [asdict(replace(finding, span=make_storable(finding.span))) for finding in findings]


def main() -> None:
    """Answer jobs until standard input ends."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    jobs, replies = sys.stdin.buffer, sys.stdout.buffer
    # What a library prints is no reply.
    sys.stdout = sys.stderr
    while line := jobs.readline():
        job = json.loads(line)
        body = jobs.read(job["length"])
        try:
            rows: list[dict[str, Any]] | None = answer(job, body)
        except (MemoryError, RecursionError):
            rows = None
        replies.write(json.dumps(rows).encode() + b"\n")
        replies.flush()


if __name__ == "__main__":
    main()
