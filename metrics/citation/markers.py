"""Find the citation markers of an answer: bracketed, superscript, or said in the sentence (`Document 3 states`)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from metrics.citation.marker_forms import (
    ADDRESS,
    BOLD,
    BRACKET,
    CALCULATED,
    CORE,
    ESCAPED,
    FORMULA,
    INTRODUCED,
    MARKER,
    MATH,
    MEASURED,
    MEASURED_ZH,
    MORE,
    NAMED,
    OF,
    POINTED,
    PREPOSED,
    RAISED_WORD,
    RANGE,
    ROUND,
    SPREAD,
    STATED,
    STOPPED,
    SUPER,
    TITLED,
    TO_DIGITS,
    wrapped,
)
from metrics.citation.source_lists import LINK, trim_url

WIDEST = 50
"""Numbers in a range `[a-b]`; of a wider one, or one that runs backwards, only the two ends are taken."""

LARGEST = 10**9

_BEFORE, _LONGEST = 48, 20
"""Characters before a marker in which its introduction stands; numbers that one said marker lists."""

_POWERS = frozenset({"2", "3"})
_CLOSING = 1000
"""Characters at the end of an answer in which a list of nothing but numbers stands."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A marker: where it stands, as written, and what it cites.

    `said`: it is part of its sentence's grammar. `name`, `link`: a Markdown link's, which has no numbers.
    """

    start: int
    end: int
    label: str
    numbers: tuple[int, ...] = ()
    said: bool = False
    url: str = ""
    name: str = ""
    link: str = ""


def numbers_of(marker: str) -> Iterator[int]:
    """Yield the numbers of a marker's inside such as `1`, `1, 2`, `1-3`; a wide range gives its ends."""
    for found in RANGE.finditer(marker):
        low = min(int(found[1][:10]), LARGEST)
        high = min(int(found[2][:10]), LARGEST) if found[2] else low
        yield from range(low, high + 1) if 0 <= high - low < WIDEST else (low, high)


def unescape(text: str) -> str:
    r"""Return a text whose markers have lost the backslashes of Markdown (`\[8\]`); a formula keeps its own."""
    return ESCAPED.sub(r"[\1]", text) if "\\[" in text else text


def unwrap(body: str) -> str:
    """Return a body whose markers have lost what only wraps them: brackets, bold, a range's second brackets."""
    plain = BOLD.sub(r"\1\2", body) if "*" in body else body
    return SPREAD.sub(r"[\1\2\3]", wrapped().sub(lambda m: m[m.lastindex or 0], plain))


def join_pointers(text: str) -> str:
    """Return the text with a closing `Sources: [1], [3]`, which names only numbers, as one marker of its body.

    Where the body has markers of its own it only sums them up, and stays.
    """
    found = POINTED.search(text, max(0, len(text) - _CLOSING))
    if found is None or "://" in found["marks"] or marks(unwrap(text[: found.start()])):
        return text
    return f"{text[: found.start()]} [{', '.join(map(str, numbers_of(found['marks'])))}]"


def marks(body: str, n_passages: int = 0) -> list[Mark]:
    """Return the markers and Markdown links of an unwrapped body, in order, none within another.

    A number that is no citation stays text: an exponent (`m²`), a bare number in round brackets (`World War (2)`),
    a named thing of something else (`Document 3 of the treaty`), a year. Linear in the body's length.
    """
    found = [*_said(body, n_passages), *_bracketed(body), *_round(body), *_raised(body, n_passages), *_links(body)]
    kept: list[Mark] = []
    for one in sorted(found, key=lambda mark: (mark.start, -mark.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def _bracketed(body: str) -> Iterator[Mark]:
    for found in MARKER.finditer(body):
        if found["title"] and not NAMED.search(found["numbers"]):
            continue
        said = PREPOSED.search(body, max(0, found.start() - _BEFORE), found.start()) is not None
        said = said or (_opens(body, found.start()) and STATED.match(body, found.end()) is not None)
        url = trim_url(found["url"]) if found["url"] else ""
        yield Mark(found.start(), found.end(), found[0], tuple(numbers_of(found["numbers"])), said, url)


def _opens(body: str, start: int) -> bool:
    """Say whether nothing of its sentence stands before a place."""
    return body[max(0, start - 4) : start].strip(" *_")[-1:] in {"", ".", "!", "?", "。", "\n", ",", "，"}


def _round(body: str) -> Iterator[Mark]:
    for found in ROUND.finditer(body):
        yield Mark(found.start(), found.end(), found[0], tuple(numbers_of(found["numbers"])))


def _links(body: str) -> Iterator[Mark]:
    for found in LINK.finditer(body):
        yield Mark(found.start(), found.end(), found[0], name=found["label"], link=found["link"])
    for bare in ADDRESS.finditer(body) if "://" in body or "www." in body else ():
        yield _bare(body, bare)


def _bare(body: str, found: re.Match[str]) -> Mark:
    """Return the mark of a bare URL, with the brackets that hold it; said where its sentence goes on after it."""
    url = trim_url(found["link"])
    start, end = found.start("link"), found.start("link") + len(url)
    close = BRACKET.match(body, end) if found["open"] else None
    if close:
        return Mark(found.start(), close.end(), body[found.start() : close.end()], link=url)
    return Mark(start, end, url, link=url, said=body[end : end + 2].lstrip(" ").islower())


def _raised(body: str, n_passages: int) -> Iterator[Mark]:
    """Find superscripts that stand where notes do: after a word, a year or a stop; not powers, units, isotopes."""
    for found in SUPER.finditer(body) if any(sign in body for sign in "¹²³⁴⁵⁶⁷⁸⁹^<") else ():
        before = body[max(0, found.start() - 40) : found.start()].rstrip(" ")
        if CALCULATED.match(body, found.end()) and not _cjk(body[found.end() : found.end() + 1]):
            continue
        math = found["math"] and ",".join(MATH.findall(found["math"]))
        text = math or (found["up"] or found["tag"] or found["caret"]).translate(TO_DIGITS).replace(" ", ",")
        if not (STOPPED.search(before) or is_noted(before, power=text.strip() in _POWERS)):
            continue
        run = text.isdigit() and n_passages and int(text) > n_passages
        apart = run and all(0 < int(digit) <= n_passages for digit in text)
        yield Mark(found.start(), found.end(), found[0], tuple(numbers_of(",".join(text) if apart else text)))


def _cjk(sign: str) -> bool:
    return "\u3400" <= sign <= "\u9fff"


def is_noted(before: str, *, power: bool) -> bool:
    """Say whether a note may stand after what ends in this: a word that is no unit and no variable, or a year.

    A unit has notes too, but where they may be its `power`.
    """
    found = RAISED_WORD.search(before)
    if found is None or FORMULA.search(before):
        return False
    if found["year"]:
        return True
    word = found["word"]
    if _cjk(word[-1]):
        return not power or word[-1] not in MEASURED_ZH
    return len(word) > 1 and word.lower() not in MEASURED


def _said(body: str, n_passages: int) -> Iterator[Mark]:
    """Find what is said in the sentence: `According to Document 10`, `Document 3 states`."""
    end = 0
    for core in CORE.finditer(body):
        if core.start() < end:
            continue
        bracketed = core[0].endswith(("]", "】")) or core["label"] is not None
        numbers, end = _listed(body, core)
        after = TITLED.match(body, end)
        before = body[max(0, core.start() - _BEFORE) : core.start()]
        stated = STATED.match(body, after.end() if after else end)
        said = core["label"] is None and bool(stated or INTRODUCED.search(before))
        if body[end : end + 2] in {": ", "： "} and body[core.start() - 1 : core.start()] in {"", "\n"}:
            yield Mark(
                core.start(), end + 1, body[core.start() : end], numbers
            )  # it leads its line, as `[3] …` does
            continue
        known = all(0 < number <= (n_passages or LARGEST) for number in numbers)
        if bracketed or (said and known and not OF.match(body, end)):
            yield Mark(core.start(), end, body[core.start() : end], numbers, said)


def _listed(body: str, core: re.Match[str]) -> tuple[tuple[int, ...], int]:
    """Return the numbers that a said marker lists, and where it ends: `Documents 1, 3 and 5`."""
    numbers, end, at = [*numbers_of(core[0])], core.end(), core.end()
    waiting = list[int]()
    for _ in range(_LONGEST):
        more = MORE.match(body, at)
        if more is None:
            break
        at = more.end()
        waiting += numbers_of(more[0])
        if more["named"] or more["join"].strip() not in {",", "、"}:
            numbers, end, waiting = numbers + waiting, at, []
            if not more["named"]:
                break
    if waiting and STATED.match(body, at):
        return (*numbers, *waiting), at
    return tuple(numbers), end


def split_said(text: str, span: tuple[int, int], said: Sequence[tuple[int, int]]) -> list[str]:
    """Return the claim of each marker that is said in the sentence at `span`: what stands with it, itself included.

    One: its whole sentence. Several: where the first opens the sentence, each with what follows it up to the next
    one's clause; else each with what stands before it.
    """
    start, end = span
    if len(said) == 1:
        return [text[start:end]]
    if said[0][0] - start <= _OPENING:
        cuts = [
            start,
            *(_clause(text, left[1], right[0]) for left, right in pairwise(said)),
            end,
        ]
    else:
        cuts = [start, *(right for _, right in said[:-1]), end]
    return [text[a:b] for a, b in pairwise(cuts)]


_OPENING = 24
"""Characters that an introduction such as `As stated in` takes before a marker."""


def _clause(text: str, left: int, right: int) -> int:
    """Return where the clause begins that holds a marker at `right`, after another one that ends at `left`."""
    return max(left, *(text.rfind(sign, left, right) + 1 for sign in ",;，；"))
