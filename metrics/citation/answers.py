"""Parser for cited answers: sentences, citations with the claims they support, and sources."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from rapidfuzz import fuzz, process

from basic_control.data.json_reply import find_objects
from basic_control.data.patterns import pattern
from basic_control.data.reading.thinking import split
from basic_control.data.sentences import count_words, split_sentences
from basic_control.metrics.citation.markers import (
    LARGEST,
    Mark,
    mark_rounded,
    marks,
    points,
    split_in_words,
    unwrap,
    write_common,
)
from basic_control.metrics.citation.source_lists import ListedSource, read_json_sources, read_sources, split_sources

CLAIM_WORDS = 4
"""Minimum number of words of a sentence that needs a citation, and of a clause that is a claim."""

_TIED, _TIED_SIGNS, _SAME = 100, 1000, 80
# What may stand between two markers of one group: ", "
_BETWEEN = pattern(r"[\s,;，、；]*+")
# A reply in JSON, perhaps fenced: "```json {"
_JSON = pattern(r"\s*+(?:```[a-z]{0,10}+\s++)?+\{")
_TEXT_KEYS = ("answer", "text", "response", "model_answer", "ответ", "回答", "答案")
_LIST_KEYS = ("citations", "sources", "references", "источники", "来源", "引用")
_LEADING = " \t\n,;:.)，、；。：…—–-*_>•#"
_TRAILING = " \t\n,;:，、；：—–-*_"
_SOURCE_NAMES = frozenset(
    """source link ref reference citation here wiki wikipedia see page article website site
    источник ссылка тут здесь вики википедия статья сайт 来源 來源 链接 鏈接 出处 维基百科 維基百科""".split()  # noqa: SIM905 - words read as words
)
# A line that is a title or a link's name: "Ship - Encyclopedia"
_TITLE = pattern(r"^\W*\d*\W*$| [-–—|·] |\w\.\w")
"""Features of a source's name: no letters, a dash or bar between two parts, a dot as in a host."""

# The end of a question: "?"
_QUESTION = pattern(r"[?？][\"'”’»)*_]{0,4}+$")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence without its markers. `counted`: it is a claim that needs a citation; `cited`: it has one."""

    text: str
    counted: bool
    cited: bool


@dataclass(frozen=True, slots=True)
class Citation:
    """One marker's number, the claim that it supports, the index of its sentence, and the marker as written."""

    number: int
    claim: str
    sentence: int
    label: str


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """A parsed answer; `text` is the body without markers and without the list of sources."""

    text: str
    sentences: tuple[Sentence, ...] = ()
    citations: tuple[Citation, ...] = ()
    sources: Mapping[int, ListedSource] = field(default_factory=dict)


@dataclass(slots=True)
class _Group:
    """Adjacent markers: their position in the text without markers, and their numbers."""

    position: int
    numbers: dict[int, str]
    in_words: int = 0
    """Length of the marker in the text, if it is part of its sentence's grammar."""


def _unwrap(response: str, n_passages: int) -> tuple[str, dict[int, ListedSource]]:
    text, list_value = split(response)[0], None
    # A whole answer in JSON has its text and its sources under keys.
    answers = find_objects(text) if _JSON.match(text) else ()
    for answer in answers:
        bodies = [answer[key] for key in _TEXT_KEYS if isinstance(answer.get(key), str)]
        if bodies:
            list_key = next(filter(answer.__contains__, _LIST_KEYS), "")
            text, list_value = bodies[0], answer.get(list_key)
            break
    body, tail = split_sources(write_common(text, n_passages))
    return body, read_sources(tail) | read_json_sources(list_value)


def _strip_markers(body: str, sources: dict[int, ListedSource], n_passages: int) -> tuple[str, list[_Group]]:
    """Remove the markers from the body and return their positions; links become separate sources.

    A marker that is part of its sentence's grammar stays in the text.
    """
    body = unwrap(body)
    body_marks = marks(body, n_passages)
    if n_passages and not body_marks:
        body = mark_rounded(body, n_passages)
        body_marks = marks(body, n_passages)
    pieces: list[str] = []
    groups: list[_Group] = []
    at = length = 0
    for mark, numbers in zip(body_marks, _list_cited(body_marks, sources, n_passages), strict=True):
        before = body[at : mark.start]
        label = ""
        if mark.in_words:
            label = mark.label
        elif _is_part(mark, body):
            label = mark.name
        joins = groups and at and "\n" not in before and _BETWEEN.fullmatch(before)
        if joins and not label and not groups[-1].in_words:
            groups[-1].numbers |= numbers
        else:
            piece = f"{before}{label}" if label else _keep(body, before, mark.end)
            pieces.append(piece)
            length += len(piece)
            groups.append(_Group(length, numbers, len(mark.label) if mark.in_words else 0))
        at = mark.end
    pieces.append(body[at:])
    return "".join(pieces), groups


def _list_cited(
    body_marks: list[Mark], sources: dict[int, ListedSource], n_passages: int
) -> Iterator[dict[int, str]]:
    """Yield the numbers that each marker or link cites, each with the marker as written.

    A URL without a number gets its source's, or one above all numbers in the answer.
    """
    linked = {source.url: source.number for source in sources.values() if source.url}
    used = [n for mark in body_marks for n in mark.numbers if n < LARGEST // 1000]
    free = max((n_passages, *sources, *used), default=0) + 1
    for mark in body_marks:
        if mark.link and mark.link not in linked:
            linked[mark.link] = free
            sources[free] = ListedSource(free, mark.name.strip(), mark.link, text=mark.label[:500])
            free += 1
    for mark in body_marks:
        numbers = [linked[mark.link]] if mark.link else mark.numbers
        for number in numbers if mark.url else ():
            sources.setdefault(number, ListedSource(number, url=mark.url, text=mark.label[:500]))
        yield dict.fromkeys(numbers, mark.label[:80])


def _keep(body: str, before: str, end: int) -> str:
    """Return the text before a marker as it reads without the marker.

    A marker at the start of a line belongs to the sentence after it, so its line break stays. A marker alone on its
    line belongs to the text above.
    """
    bare = before.rstrip()
    gap = before[len(bare) :]
    following = body[end : end + 1]
    if "\n" in gap and following not in {"", "\n"}:
        return before
    return f"{bare} " if gap and (following.isalnum() or following in set("(\"'«“")) else bare


def _is_part(mark: Mark, body: str) -> bool:
    """Return whether a mark is a link whose label is part of its sentence, not only the name of its source.

    If in doubt it is: an extra name in a claim does less harm than a missing word.
    """
    if not mark.link:
        return False
    before = body[max(0, mark.start - 8) : mark.start].rstrip(" \t")
    following = body[mark.end : mark.end + 8].lstrip(" \t")
    label = "".join(filter(str.isalnum, mark.name.lower()))
    bracketed = before.endswith(("(", "（")) and following.startswith((")", "）"))
    if bracketed or label in _SOURCE_NAMES or _TITLE.search(mark.name):
        return False
    if following[:1].isalpha() and not following[:1].isupper():
        return True
    host = mark.link.partition("://")[2].partition("/")[0].lower().replace("-", "")
    return bool(before.strip()) and before[-1] not in ".!?…。！？\n" and label not in host


def _place(groups: Iterable[_Group], text: str) -> Iterator[tuple[tuple[int, int], list[_Group]]]:
    """Yield each sentence's span with its groups: inside it, at its end, or opening it at a line's start.

    Citations of a sentence that only points to a source go to the sentence before it.
    """
    spans = list(split_sentences(text))
    placed: list[list[_Group]] = [[] for _ in spans]
    index = 0
    for group in groups if spans else ():
        while index + 1 < len(spans) and (
            group.position > spans[index + 1][0] or "\n" in text[spans[index][1] : group.position]
        ):
            index += 1
        placed[index].append(group)
    with_groups: list[tuple[tuple[int, int], list[_Group]]] = []
    for span, inside in zip(spans, placed, strict=True):
        if with_groups and inside and points(text[slice(*span)]):
            end = with_groups[-1][0][1]
            with_groups[-1][1].extend(replace(group, position=end, in_words=0) for group in inside)
        else:
            with_groups.append((span, inside))
    yield from with_groups


def _claim(clause: str, whole: str) -> str:
    """Return the clause that a group ends, or its sentence if the clause is too short to be a claim."""
    clause = clause.lstrip(_LEADING).rstrip(_TRAILING).removesuffix("(").rstrip()
    return clause if count_words(clause) >= CLAIM_WORDS else whole


@lru_cache(maxsize=1024)  # several steps parse the answers of a batch in turn
def parse_answer(response: str, n_passages: int = 0) -> CitedAnswer:
    """Parse a model's answer.

    Markers: `[1]`, `[1, 2]`, `[1 and 2]`, `[1][3]`, `[1-3]`, `[1]–[3]`, `[0]`, `[^1]`, `【1:0†source】`, `［1］`,
    `[Passage 1: Title]`, `[1, p. 12]`, `[1](url)`, `(Document 1)`, `（文档1）`, `¹`, also in brackets or bold, on
    either side of the full stop, and the rarer forms of `markers.write_common`; a number that points nowhere
    is still a citation. `According to Document 10` and similar are read up to `n_passages`, and stay in the
    text; their claim is the sentence. Citations of a sentence that only points to a source (`See Document 5.`) go
    to the one before it. A link without a number, Markdown's or bare, is a citation of a separate source, numbered
    above all others and above `n_passages`; a label that is part of its sentence stays in the text. Any other claim
    is the clause that the marker ends, or its sentence if the clause has fewer than four words. Linear in the
    text's length.

    Source: SPEC 4; peers' traps (ALCE loses 2 in `[1, 2]` and reads `[0]` as the last document).
    """
    body, sources = _unwrap(response, n_passages)
    text, groups = _strip_markers(body, sources, n_passages)
    sentences: list[Sentence] = []
    citations: dict[tuple[int, str, int], Citation] = {}
    for index, (span, inside) in enumerate(_place(groups, text)):
        previous, end = span
        piece = text[previous:end]
        claims = count_words(piece) >= CLAIM_WORDS and not _QUESTION.search(piece[-6:])
        sentences.append(Sentence(piece, claims and not piece.startswith("#"), bool(inside)))
        whole = piece.lstrip("-*•#>_ ").rstrip(_TRAILING)
        places = [(group.position - group.in_words, group.position) for group in inside if group.in_words]
        # Each marker in words has a claim of its own.
        word_claims = iter(split_in_words(text, span, places) if places else ())
        for group in inside:
            clause = next(word_claims) if group.in_words else text[previous : min(group.position, end)]
            previous = previous if group.in_words else max(previous, group.position)
            claim = _claim(clause, whole)
            for number, label in group.numbers.items():
                citations.setdefault((number, claim, index), Citation(number, claim, index, label))
    if citations or not any(source.claim for source in sources.values()):
        return CitedAnswer(text.strip(), tuple(sentences), tuple(citations.values()), sources)
    return _tie_claims(text.strip(), sentences, sources)


def _tie_claims(text: str, sentences: list[Sentence], sources: Mapping[int, ListedSource]) -> CitedAnswer:
    """Build an answer from JSON that ties claims to sources instead of markers; a claim cites its sentence."""
    tied: list[Citation] = []
    texts = [sentence.text[:_TIED_SIGNS].lower() for sentence in sentences[:_TIED]]
    for source in list(sources.values())[:_TIED]:
        if not source.claim:
            continue
        claim = source.claim[:_TIED_SIGNS].lower()
        best = process.extractOne(claim, texts, scorer=fuzz.partial_ratio, score_cutoff=_SAME)  # pyrefly: ignore[no-matching-overload] # its own scorer
        index = best[2] if best else -1
        tied.append(Citation(source.number, source.claim, index, f"[{source.number}]"))
    cited = {citation.sentence for citation in tied}
    marked = [replace(sentence, cited=index in cited) for index, sentence in enumerate(sentences)]
    return CitedAnswer(text, tuple(marked), tuple(tied), sources)
