"""Parser for the source list at the end of a cited answer, in the layouts that models use."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from basic_control.data.patterns import pattern
from basic_control.data.sentences import count_words

MOST_SOURCES = 1000
MOST_SIGNS = 2000
"""Maximum length in characters of a source's entry, title or URL."""

QUOTE_WORDS = 5
"""Minimum number of words for an unlabelled quotation to be a quoted passage rather than a title."""

HEADINGS = (
    "sources?(?: cited| used)?|references?|citations?|bibliography|works cited|footnotes?|"
    "источники?|ссылки|список (?:литературы|источников)|литература|использованные источники|примечания|"
    "来源|來源|参考(?:文献|资料|来源)?|參考(?:文獻|資料|來源)?|引用(?:来源|來源)?|资料来源|資料來源|出处|出處"
)
# The heading of a list: "**Sources:**"
_HEADING = pattern(
    rf"^[ \t#>*_]{{0,8}}+(?:{HEADINGS})[ \t*_]{{0,6}}+(?P<colon>[:：]?)[ \t*_]{{0,6}}+(?P<rest>[^\n]*+)$",
    re.IGNORECASE | re.MULTILINE,
)
# An entry: "[1] Title", "2. Title", "- Title"
_ENTRY = pattern(
    r"^[ \t]{0,12}+(?P<bullet>[-*•–][ \t]{1,4}+)?(?:\*\*)?"
    r"(?:[\[【［]\^?(?P<bracket>[0-9]{1,9})[\]】］]|(?P<plain>[0-9]{1,4})[.)、]|\((?P<round>[0-9]{1,4})\))?+"
    r"(?:\*\*)?[ \t]{0,4}+[:.：–—-]?[ \t]{0,4}+(?P<body>[^\n]*+)$"
)
# What is between two entries on one line: "; [2]"
_INNER_ENTRY = pattern(r"(?<=[^\s\[【])[ \t;,]{1,8}+(?=[\[【]\^?[0-9]{1,9}[\]】][ :(])")
# A footnote: "[^1]: Title"
_DEFINITION = pattern(r"^[ \t]{0,12}+(?:[-*•][ \t]{1,4}+)?[\[【]\^?[0-9]{1,9}[\]】](?P<colon>:?)(?P<body>[^\n]*+)$")
# A link in Markdown: "[Title](https://example.org)"
LINK = pattern(
    r"\[(?P<label>[^\[\]\n]{1,300})\]\((?P<link>[a-z][a-z0-9+.-]{1,12}+://[^\s()<>]*+(?:\([^\s()<>]*+\)[^\s()<>]*+)*+)\)",
    re.IGNORECASE,
)
# A URL: "https://example.org"
_URL = pattern(r"(?:\b[a-z][a-z0-9+.-]{1,12}://|\bwww\.)[^\s<>\"“”«»「」，。；]++", re.IGNORECASE)
# A text in quotation marks: "«so it is»"
_QUOTED = pattern(r"\"([^\"\n]{1,8000}+)\"|“([^”\n]{1,8000}+)”|«([^»\n]{1,8000}+)»|「([^」\n]{1,8000}+)」")
# A quotation with a label: "Quote: so it is"
_LABELLED = pattern(
    r"(?:^|[\s(;,.—–-])\*{0,2}(?:quote|quotation|quoted passage|passage|excerpt|snippet|"
    r"цитата|отрывок|引文|引用|原文|摘录)"
    r"\*{0,2}[ \t]?[:：]\*{0,2}[ \t]{0,4}+(?P<quote>[^\n]++)",
    re.IGNORECASE,
)
# A line of a block quote: "> so it is"
_BLOCK = pattern(r"^[ \t]{0,12}+>[ \t]?(?P<quote>[^\n]++)$", re.MULTILINE)
# A label before a title: "Title: "
_LABEL = pattern(r"^\W{0,4}(?:title|name|название|заголовок|标题|題名)[ \t]?[:：]", re.IGNORECASE)
_NO_QUOTES = dict.fromkeys(map(ord, '"“”«»「」'))
_EDGES = " \t\n.,;:，。；：|–—-*_()[]<>\"“”«»'>"


@dataclass(frozen=True, slots=True)
class ListedSource:
    """One entry of an answer's source list; `text` is the entry as written, `claim` the claim JSON ties to it."""

    number: int
    title: str = ""
    url: str = ""
    quote: str = ""
    text: str = ""
    claim: str = ""


def trim_url(url: str) -> str:
    """Remove trailing sentence punctuation from a URL."""
    url = url[:MOST_SIGNS].rstrip(".,;:!?'*_")
    while url.endswith((")", "]")) and url.count(url[-1]) > url.count({")": "(", "]": "["}[url[-1]]):
        url = url[:-1].rstrip(".,;:!?'*_")
    return url


def split_sources(text: str) -> tuple[str, str]:
    """Split an answer into its body and its list of sources ('' if it has none).

    The list begins at a heading (Sources, References, Источники, 来源, …) followed by an entry, or consists of the
    answer's last lines if each is `[n] …` with a URL, or a footnote `[^n]: …`.
    """
    for heading in _HEADING.finditer(text):
        inline = heading["rest"].strip()
        if inline and not heading["colon"]:
            continue
        after = inline or text[heading.end() : heading.end() + MOST_SIGNS].strip()
        first = _ENTRY.match(after.split("\n", 1)[0])
        if first and (first["bullet"] or _number(first) is not None or _URL.search(first["body"][:MOST_SIGNS])):
            return text[: heading.start()], text[heading.start("rest") :]
    lines = text.rstrip().split("\n")
    at = len(lines)
    while at and (not lines[at - 1].strip() or _defines(lines[at - 1])):
        at -= 1
    return "\n".join(lines[:at]), "\n".join(lines[at:])


def _defines(line: str) -> bool:
    match = _DEFINITION.match(line)
    return bool(match and (match["colon"] or _URL.search(match["body"][:MOST_SIGNS])))


def _number(entry: re.Match[str]) -> int | None:
    digits = entry["bracket"] or entry["plain"] or entry["round"]
    if not digits:
        return None
    return int(digits)


def _entries(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number, text) of each entry; lines without a number continue the previous entry."""
    number, lines = 0, list[str]()
    for line in _INNER_ENTRY.sub("\n", text).split("\n"):
        entry = _ENTRY.match(line)
        if entry is None:
            continue
        stated = _number(entry)
        if stated is None and lines and not (entry["bullet"] and _starts(entry["body"])):
            lines.append(line.strip())
            continue
        if stated is None and not _starts(entry["body"]):
            continue
        if lines:
            yield number, "\n".join(lines)
        number += 1
        if stated is not None:
            number = stated
        lines = [entry["body"].strip()]
    if lines:
        yield number, "\n".join(lines)


def _starts(body: str) -> bool:
    """Return whether an entry without a number names a new source, with a link or URL."""
    return bool(_URL.search(body[:MOST_SIGNS]))


def read_sources(text: str) -> dict[int, ListedSource]:
    """Parse a list of sources, by number; the first entry of a duplicate number is kept."""
    sources: dict[int, ListedSource] = {}
    for number, entry in islice(_entries(text), MOST_SOURCES):
        sources.setdefault(number, read_entry(number, entry[: 8 * MOST_SIGNS]))
    return sources


def read_entry(number: int, entry: str) -> ListedSource:
    """Parse one entry: title, URL and quoted passage, each '' if missing."""
    link, bare_url = LINK.search(entry), _URL.search(entry)
    url, at = "", len(entry)
    if link:
        url, at = trim_url(link["link"]), link.start()
    elif bare_url:
        url, at = trim_url(bare_url[0]), bare_url.start()
    quote, quote_at = _quote(entry, at if url else -1)
    title = entry[: min(at, quote_at)]
    if link and not title.strip(_EDGES) and not link["label"].isdigit():
        title = link["label"]
    title = _LABEL.sub("", title.split("\n")[0]).strip(_EDGES)
    title = re.sub(r"[\s(]*\b(?:URL|link|ссылка|链接)$", "", title, flags=re.IGNORECASE).strip(_EDGES)
    title = title.translate(_NO_QUOTES)
    return ListedSource(number, title[:MOST_SIGNS], url, quote.strip(), entry[:MOST_SIGNS])


def _quote(entry: str, url_at: int) -> tuple[str, int]:
    """Return the quoted passage and its start: labelled, a block quote, or a text in quotation marks.

    A text in quotation marks that opens the entry before a URL is its title.
    """
    labelled = _LABELLED.search(entry)
    if labelled:
        return labelled["quote"].strip().strip('"“”«»「」'), labelled.start()
    block = _BLOCK.search(entry)
    if block:
        return "\n".join(_BLOCK.findall(entry)), block.start()
    for quoted in reversed(list(_QUOTED.finditer(entry))):
        text = next(filter(None, quoted.groups()))
        titled = not entry[: quoted.start()].strip(_EDGES) and quoted.start() < url_at
        if count_words(text) >= QUOTE_WORDS and not titled:
            return text, quoted.start()
    return "", len(entry)


_JSON_KEYS = {
    "url": ("url", "link", "href", "source_url"),
    "title": ("title", "name", "source"),
    "quote": ("quote", "quoted_passage", "passage", "excerpt", "snippet", "evidence", "text"),
    "claim": ("claim", "statement"),
}
_JSON_NUMBERS = ("number", "id", "index", "n", "ref", "citation", "marker")


def read_json_sources(value: Any) -> dict[int, ListedSource]:
    """Parse the sources of a JSON answer: a list of objects or texts, or an object by number."""
    pairs: Iterable[tuple[object, Any]] = ()
    if isinstance(value, Mapping):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value, 1)
    sources: dict[int, ListedSource] = {}
    for key, entry in islice(pairs, MOST_SOURCES):
        fields = entry if isinstance(entry, Mapping) else {}
        number = _json_number(fields, key, len(sources) + 1)
        if isinstance(entry, str):
            sources.setdefault(number, read_entry(number, entry[: 8 * MOST_SIGNS]))
        elif fields:
            texts = {name: _read_text(fields, keys) for name, keys in _JSON_KEYS.items()}
            if not texts["url"] and "://" in texts["title"]:
                texts["url"], texts["title"] = texts["title"], ""
            sources.setdefault(number, ListedSource(number, text="", **texts))
    return sources


def _json_number(fields: Mapping[str, Any], key: object, default: int) -> int:
    for value in (*map(fields.get, _JSON_NUMBERS), key):
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        # As a text it may be a marker: "[3]".
        digits = value.strip("[]^【】 ") if isinstance(value, str) else ""
        if digits.isascii() and digits.isdigit():
            return int(digits[:9])
    return default


def _read_text(fields: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    for text in map(fields.get, keys):
        if isinstance(text, str):
            return text[: 4 * MOST_SIGNS].strip()
    return ""
