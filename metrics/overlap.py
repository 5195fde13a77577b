"""Judging by overlap: decides judged steps by the words, numbers and names that two texts share, without a model.

A claim is supported if one to three neighbouring sentences of the source, and the source as a whole, hold most of
its content. A word's weight comes from the table beside this module, never from other rows: equal questions have
equal answers. The constants were tuned on halves of RefChecker, WiCE and BEGIN. Source: ours.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from basic_control.data.beside import read_beside
from basic_control.data.number_words import find_han, find_words
from basic_control.data.numerals import find_numbers
from basic_control.data.reading.texts import unify
from basic_control.data.sentences import split_sentences
from basic_control.data.typed import NO, YES
from basic_control.metrics.contains import holds
from basic_control.metrics.judging import UNSURE

# Coverage from which on a claim is supported; how near to that it is unsure; coverage by a passage from which on
# another number or name in it contradicts the claim.
_LINE, _DOUBT, _PARALLEL = 0.63, 0.08, 0.6
_NO_NUMBER, _NO_NAME = 0.25, 0.1
"""What a number, or a name, that the source lacks takes off the coverage."""
_COMMON, _HALF = 0.5, 0.5
"""The weight of a common word; the share of sentences, or of a gold answer, that is right in part."""
_WINDOW, _LETTERS, _FEWEST, _THOUSAND = 3, 6, 3, 1000
"""The most sentences of a passage, and letters of a stem; the fewest letters that an ending leaves."""

# A run of Chinese characters, or a word (John's).
_TOKEN = re.compile(r"[\u3400-\u9fff]+|[^\W\d_\u3400-\u9fff]+(?:'[^\W\d_]+)?")
_WORD, _CLOSING = re.compile(r"\w"), "\"'”’»)*_ "
_IDEOGRAPH = re.compile(r"[\u3400-\u9fff]")
_DIGITS = re.compile(r"\d+")
_TABLE: Mapping[str, Any] = read_beside(__file__)
_ENDINGS = _TABLE["endings"].split()
_DENIAL = re.compile("|".join(_TABLE["denials"]), re.IGNORECASE)
_WHOLE_DENIAL = re.compile("|".join(_TABLE["whole_denials"]), re.IGNORECASE)
_EMPTY = dict.fromkeys(_TABLE["empty"].split(), 0.0)


@dataclass(frozen=True, slots=True)
class Content:
    """What a text says: its words as stems, those that are numbers or names, and whether it denies something."""

    stems: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    is_denied: bool

    def join(self, following: "Content") -> "Content":
        """Return what this text and the following one say."""
        stems, numbers = self.stems | following.stems, self.numbers | following.numbers
        return Content(stems, numbers, self.names | following.names, self.is_denied or following.is_denied)


class ClaimDecision(NamedTuple):
    """A decision on a claim: SUPPORTED, CONTRADICTED or NEUTRAL, and why."""

    label: str
    reason: str


def _cut(word: str) -> str:
    """Return a word's stem: without its ending, where three letters are left, and at most six letters."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _FEWEST:
            return word.removesuffix(ending)[:_LETTERS]
    return word[:_LETTERS]


_WEIGHTS = {**dict.fromkeys(map(_cut, _TABLE["common"].split()), _COMMON), **_EMPTY}


@cache
def _stem(word: str) -> str:
    """Return a lower-cased word's stem; of a month, its number."""
    word = word.removesuffix("'s")
    if word in _EMPTY:
        return word
    return str(_TABLE["months"].get(_cut(word), _cut(word)))


@cache
def _weigh(stem: str) -> float:
    """Return how much a stem says, from 0 to 1."""
    if _IDEOGRAPH.match(stem):
        return 1 - sum(map(_EMPTY.__contains__, stem)) / len(stem)
    return _WEIGHTS.get(stem, 1.0)


def _read_numbers(text: str) -> set[str]:
    """Return the numbers of a text; in words those from two on; of a date such as 17.07.2024 its parts."""
    values = {number.value for number in find_numbers(text)}
    values.update(word.value for word in (*find_words(text), *find_han(text)) if 1 < word.value < _THOUSAND)
    parts = _DIGITS.findall(text) if None in values else ()
    return {*map(str, values - {None}), *map(str, map(int, parts))}


def read_content(text: str) -> Content:
    """Return what a text says; Chinese is read as pairs of characters, and a month by its number."""
    amounts, stems, names = _read_numbers(text), set[str](), set[str]()
    for match in _TOKEN.finditer(text):
        word = match[0]
        if "\u3400" <= word[0] <= "\u9fff":
            stems.update(word[start : start + 2] for start in range(max(1, len(word) - 1)))
            continue
        stem = _stem(word.lower())
        stems.add(stem)
        if stem.isdigit():
            amounts.add(stem)
        # The first word has a capital, whatever it is.
        elif word[0].isupper() and match.start() > 0 and _weigh(stem):
            names.add(stem)
    return Content(frozenset(stems | amounts), frozenset(amounts), frozenset(names), bool(_DENIAL.search(text)))


def _list_sentences(text: str, *, is_running: bool = False) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text, wrapped=is_running)]


@lru_cache(256)
def _read_source(text: str) -> tuple[Content, tuple[Content, ...]]:
    """Return a source as a whole, and its passages of one to three sentences; it is read once for all claims."""
    sentences = [*map(read_content, _list_sentences(unify(text), is_running=True))]
    passages, longest = [*sentences], sentences
    for length in range(1, _WINDOW):
        longest = [passage.join(sentence) for passage, sentence in zip(longest, sentences[length:], strict=False)]
        passages += longest
    parts = map(attrgetter("stems", "numbers", "names"), sentences)
    whole = [frozenset[str]().union(*sets) for sets in zip(*parts, strict=True)] or [frozenset[str]()] * 3
    return Content(*whole, is_denied=False), tuple(passages)


def _measure(stems: frozenset[str], content: frozenset[str]) -> float:
    """Return the share of stems, by weight, that a content has; by count, where all say nothing."""
    total = sum(map(_weigh, stems))
    if not total:
        return len(stems & content) / max(1, len(stems))
    return sum(map(_weigh, stems & content)) / total


def _find_conflict(claim: Content, whole: Content, passage: Content) -> str:
    """Return what another thing a passage says that speaks of the same as a claim: a number or a name; else ''."""
    no_number, no_name = claim.numbers - whole.numbers, claim.names - whole.stems
    is_parallel = _measure(claim.stems - no_number - no_name, passage.stems) >= _PARALLEL
    if is_parallel and no_number and passage.numbers - claim.numbers:
        return "number"
    if is_parallel and no_name and passage.names - claim.stems:
        return "name"
    return ""


_OPPOSITE = {"SUPPORTED": "CONTRADICTED", "CONTRADICTED": "SUPPORTED", "NEUTRAL": "NEUTRAL"}


def decide_claim(claim: str, source: str) -> ClaimDecision:
    """Decide whether a source supports a claim, contradicts it, or neither."""
    text = unify(claim)
    if _WHOLE_DENIAL.search(text):
        inner = decide_claim(_WHOLE_DENIAL.sub(" ", text).strip(), source)
        return ClaimDecision(_OPPOSITE[inner.label], f"{inner.reason}, which the claim denies")
    stated = read_content(text)
    whole, passages = _read_source(source)
    passage = max(passages, key=lambda content: _measure(stated.stems, content.stems), default=whole)
    coverage = (_measure(stated.stems, passage.stems) + _measure(stated.stems, whole.stems)) / 2
    coverage -= _NO_NUMBER * (not stated.numbers <= whole.numbers) + _NO_NAME * (not stated.names <= whole.stems)
    conflict = _find_conflict(stated, whole, passage)
    reason = f"the source holds {max(0.0, coverage):.0%} of the claim"
    if conflict:
        reason = f"{reason}, with another {conflict}"
    if abs(coverage - _LINE) < _DOUBT:
        reason = f"{UNSURE}{reason}"
    is_covered = coverage >= _LINE
    is_opposed = is_covered and stated.is_denied and not passage.is_denied
    if conflict == "number" or is_opposed or (conflict and not is_covered):
        return ClaimDecision("CONTRADICTED", reason)
    return ClaimDecision(("NEUTRAL", "SUPPORTED")[is_covered], reason)


def _list_statements(text: str) -> list[str]:
    """Return a text's sentences that state something: no questions, and none without a word."""
    statements = [text for text in _list_sentences(text) if not text.rstrip(_CLOSING).endswith(("?", "？"))]
    return [*filter(_WORD.search, statements)]


Values = Mapping[str, Any]


def _entail(values: Values) -> dict[str, Any]:
    verdicts = []
    for claim in values["claims"]:
        decision = decide_claim(claim["text"], values["source"])
        verdicts.append({"id": claim["id"], "reason": decision.reason, "verdict": decision.label})
    return {"verdicts": verdicts}


_SUPPORT = {"SUPPORTED": "ENTAILMENT", "CONTRADICTED": "CONTRADICTION", "NEUTRAL": "NEUTRAL"}
_CORRECT = {"SUPPORTED": "CORRECT", "CONTRADICTED": "INCORRECT", "NEUTRAL": "INCORRECT"}
_AS_TEXT = {"raw": False, "case_sensitive": False, "words": True}


def _support(values: Values) -> dict[str, Any]:
    decision = decide_claim(values["claim"], values["content"])
    return {"reason": decision.reason, "verdict": _SUPPORT[decision.label]}


def _correct(values: Values) -> dict[str, Any]:
    """Look for gold answers in what the answer does not deny: for all of them where several questions are asked."""
    golds = values["short_answers"]
    if not golds:
        decision = decide_claim(values["answer"], values["long_answer"])
        return {"reason": decision.reason, "verdict": _CORRECT[decision.label]}
    sentences = _list_sentences(unify(values["answer"]))
    affirmed = "\n".join(sentence for sentence in sentences if not _WHOLE_DENIAL.search(sentence))
    present = [gold for gold in golds if holds(affirmed, gold, _AS_TEXT)]
    is_enough = len(present) == len(golds) or unify(values["question"]).count("?") <= 1
    if present:
        verdict = ("PARTIALLY_CORRECT", "CORRECT")[is_enough]
        return {"reason": f"holds {len(present)} of {len(golds)} gold answers", "verdict": verdict}
    stems = read_content(affirmed).stems
    nearest = max(_measure(read_content(unify(gold)).stems, stems) for gold in golds)
    if nearest >= _HALF:
        return {"reason": f"{UNSURE}holds {nearest:.0%} of a gold answer", "verdict": "PARTIALLY_CORRECT"}
    return {"reason": "holds no gold answer", "verdict": "INCORRECT"}


def _rate(values: Values) -> dict[str, Any]:
    """Rate by the share of sentences that the contexts support: 2 for all, 1 for half of them."""
    source = "\n\n".join(values["contexts"])
    decisions = [decide_claim(statement, source) for statement in _list_statements(values["response"])]
    n_supported = sum(decision.label == "SUPPORTED" for decision in decisions)
    reason = f"{n_supported} of {len(decisions)} sentences supported"
    if any(decision.reason.startswith(UNSURE) for decision in decisions):
        reason = f"{UNSURE}{reason}"
    share = n_supported / max(1, len(decisions))
    return {"reason": reason, "rating": int(share >= _HALF) + int(share >= 1)}


def _find_use(values: Values) -> dict[str, Any]:
    """Find a context useful that supports a sentence of the expected answer."""
    decision = ClaimDecision("NEUTRAL", "the expected answer states nothing")
    for statement in _list_statements(values["reference"]):
        decision = decide_claim(statement, values["context"])
        if decision.label == "SUPPORTED":
            return {"reason": decision.reason, "verdict": YES}
    return {"reason": decision.reason, "verdict": NO}


DECISIONS: Mapping[str, Callable[[Values], dict[str, Any]]] = {
    "split": lambda values: {"claims": _list_statements(values["text"])},
    "entails": _entail,
    "support": _support,
    "correctness": _correct,
    "groundedness": _rate,
    "useful": _find_use,
}
"""The decided steps, by their exams' names: from what fills a step's prompt to the object that a judge replies."""
