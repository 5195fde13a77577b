"""Parser for cited answers: sentences, citations with the claims they support, and sources."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

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
    """Adjacent markers: their position in the text without markers, and each number cited with its marker.

    `length_in_words` is the length of a marker that stays in the text as part of its sentence's grammar, else 0.
    """

    position: int
    labels: dict[int, str]
    length_in_words: int = 0


def _unwrap_response(response: str, n_passages: int) -> tuple[str, dict[int, ListedSource]]:
    """Return an answer's body without its list of sources, and the sources; also of an answer in JSON."""
    text, list_value = split(response)[0], None
    answers: Iterable[Mapping[str, Any]] = ()
    if _JSON.match(text):
        answers = find_objects(text)
    # A whole answer in JSON has its text and its sources under keys.
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
    # Numbers in round brackets are markers only where there are no others.
    if n_passages and not body_marks:
        body = mark_rounded(body, n_passages)
        body_marks = marks(body, n_passages)
    pieces: list[str] = []
    groups: list[_Group] = []
    end = length = 0
    for mark, labels in zip(body_marks, _list_cited(body_marks, sources, n_passages), strict=True):
        before = body[end : mark.start]
        words = _get_words(mark, body)
        is_adjacent = bool(groups) and end > 0 and "\n" not in before and _BETWEEN.fullmatch(before) is not None
        if is_adjacent and not words and not groups[-1].length_in_words:
            groups[-1].labels |= labels
        else:
            piece = before + words
            if not words:
                piece = _close_gap(body, before, mark.end)
            pieces.append(piece)
            length += len(piece)
            groups.append(_Group(length, labels, len(mark.label) if mark.in_words else 0))
        end = mark.end
    pieces.append(body[end:])
    return "".join(pieces), groups


def _get_words(mark: Mark, body: str) -> str:
    """Return the text of a marker that stays in its sentence; '' of one that goes."""
    if mark.in_words:
        return mark.label
    if _is_part(mark, body):
        return mark.name
    return ""


def _list_cited(
    body_marks: list[Mark], sources: dict[int, ListedSource], n_passages: int
) -> Iterator[dict[int, str]]:
    """Yield the numbers that each marker or link cites, each with the marker as written.

    A URL without a number gets its source's, or one above all numbers in the answer. Sources that are not listed
    are added to `sources`.
    """
    number_by_link = {source.url: source.number for source in sources.values() if source.url}
    used = [number for mark in body_marks for number in mark.numbers if number < LARGEST // 1000]
    unused = max((n_passages, *sources, *used), default=0) + 1
    for mark in body_marks:
        if mark.link and mark.link not in number_by_link:
            number_by_link[mark.link] = unused
            sources[unused] = ListedSource(unused, mark.name.strip(), mark.link, text=mark.label[:500])
            unused += 1
    for mark in body_marks:
        numbers = mark.numbers
        if mark.link:
            numbers = [number_by_link[mark.link]]
        if mark.url:
            for number in numbers:
                sources.setdefault(number, ListedSource(number, url=mark.url, text=mark.label[:500]))
        yield dict.fromkeys(numbers, mark.label[:80])


def _close_gap(body: str, before: str, end: int) -> str:
    """Return the text before a marker, which ends at `end`, as it reads without the marker.

    A marker at the start of a line belongs to the sentence after it, so its line break stays. A marker alone on its
    line belongs to the text above.
    """
    text = before.rstrip()
    gap = before[len(text) :]
    next_character = body[end : end + 1]
    if "\n" in gap and next_character not in {"", "\n"}:
        return before
    is_word_next = next_character.isalnum() or next_character in _OPENING
    if gap and is_word_next:
        return f"{text} "
    return text


_OPENING = frozenset("(\"'«“")


def _is_part(mark: Mark, body: str) -> bool:
    """Return whether a mark is a link whose label is part of its sentence, not only the name of its source.

    If in doubt it is: an extra name in a claim does less harm than a missing word.
    """
    if not mark.link:
        return False
    before = body[max(0, mark.start - 8) : mark.start].rstrip(" \t")
    following = body[mark.end : mark.end + 8].lstrip(" \t")
    label = "".join(filter(str.isalnum, mark.name.lower()))
    is_bracketed = before.endswith(("(", "（")) and following.startswith((")", "）"))
    if is_bracketed or label in _SOURCE_NAMES or _TITLE.search(mark.name):
        return False
    if following[:1].isalpha() and not following[:1].isupper():
        return True
    # After the beginning of a sentence a label is its grammar's, unless it names the site.
    host = mark.link.partition("://")[2].partition("/")[0].lower().replace("-", "")
    return bool(before.strip()) and before[-1] not in ".!?…。！？\n" and label not in host


def _assign_groups(groups: Iterable[_Group], text: str) -> list[tuple[tuple[int, int], list[_Group]]]:
    """Return each sentence's span with its groups: inside it, at its end, or opening it at a line's start.

    Citations of a sentence that only points to a source go to the sentence before it.
    """
    spans = list(split_sentences(text))
    if not spans:
        return []
    groups_by_span: list[list[_Group]] = [[] for _ in spans]
    index = 0
    for group in groups:
        # A group at the end of a line is its last sentence's, one after the line break the next one's.
        while index + 1 < len(spans) and (
            group.position > spans[index + 1][0] or "\n" in text[spans[index][1] : group.position]
        ):
            index += 1
        groups_by_span[index].append(group)
    sentences: list[tuple[tuple[int, int], list[_Group]]] = []
    for span, span_groups in zip(spans, groups_by_span, strict=True):
        if sentences and span_groups and points(text[slice(*span)]):
            (_, end), previous_groups = sentences[-1]
            previous_groups += [replace(group, position=end, length_in_words=0) for group in span_groups]
        else:
            sentences.append((span, span_groups))
    return sentences


def _strip_clause(clause: str, sentence: str) -> str:
    """Return the claim that a group ends: its clause, or its sentence if that is too short to be a claim."""
    claim = clause.lstrip(_LEADING).rstrip(_TRAILING).removesuffix("(").rstrip()
    if count_words(claim) < CLAIM_WORDS:
        return sentence
    return claim


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
    body, sources = _unwrap_response(response, n_passages)
    text, groups = _strip_markers(body, sources, n_passages)
    sentences: list[Sentence] = []
    citations: dict[tuple[int, str, int], Citation] = {}
    for index, (span, span_groups) in enumerate(_assign_groups(groups, text)):
        sentence = text[slice(*span)]
        is_claim = count_words(sentence) >= CLAIM_WORDS and not _QUESTION.search(sentence[-6:])
        sentences.append(Sentence(sentence, is_claim and not sentence.startswith("#"), bool(span_groups)))
        claims = _list_claims(text, span, span_groups)
        for claim, group in zip(claims, span_groups, strict=True):
            for number, label in group.labels.items():
                citations.setdefault((number, claim, index), Citation(number, claim, index, label))
    if citations or not any(source.claim for source in sources.values()):
        return CitedAnswer(text.strip(), tuple(sentences), tuple(citations.values()), sources)
    return _tie_claims(text.strip(), sentences, sources)


def _list_claims(text: str, span: tuple[int, int], groups: Sequence[_Group]) -> Iterator[str]:
    """Yield the claim of each group of a sentence: the clause before it, or of a marker in words its own."""
    start, end = span
    sentence = text[start:end].lstrip("-*•#>_ ").rstrip(_TRAILING)
    marker_spans = [
        (group.position - group.length_in_words, group.position) for group in groups if group.length_in_words
    ]
    claims_in_words: Iterator[str] = iter(())
    if marker_spans:
        claims_in_words = iter(split_in_words(text, span, marker_spans))
    for group in groups:
        if group.length_in_words:
            clause = next(claims_in_words)
        else:
            clause = text[start : min(group.position, end)]
            start = max(start, group.position)
        yield _strip_clause(clause, sentence)


def _tie_claims(text: str, sentences: list[Sentence], sources: Mapping[int, ListedSource]) -> CitedAnswer:
    """Build an answer from JSON that ties claims to sources instead of markers; a claim cites its sentence."""
    citations: list[Citation] = []
    sentence_texts = [sentence.text[:_TIED_SIGNS].lower() for sentence in sentences[:_TIED]]
    for source in list(sources.values())[:_TIED]:
        if not source.claim:
            continue
        claim = source.claim[:_TIED_SIGNS].lower()
        best = process.extractOne(claim, sentence_texts, scorer=fuzz.partial_ratio, score_cutoff=_SAME)  # pyrefly: ignore[no-matching-overload] # its own scorer
        index = best[2] if best else -1
        citations.append(Citation(source.number, source.claim, index, f"[{source.number}]"))
    cited = {citation.sentence for citation in citations}
    cited_sentences = [replace(sentence, cited=index in cited) for index, sentence in enumerate(sentences)]
    return CitedAnswer(text, tuple(cited_sentences), tuple(citations), sources)
