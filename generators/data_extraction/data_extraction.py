"""Extract the e-mail addresses, phone numbers and dates of a text; the set must be exactly right."""

import json
import re
from collections.abc import Collection, Mapping
from functools import partial
from itertools import islice
from random import Random
from typing import Any

from basic_control.data.decorators import family
from basic_control.data.patterns import pattern
from basic_control.data.reading import reply_text
from basic_control.data.records import Item, Verdict
from basic_control.generators._texts import SLOT, frame
from basic_control.generators.data_extraction.entities import (
    COMPACT,
    DATE,
    EMAIL,
    KINDS,
    LONGEST,
    PHONE,
    clean,
    date_of,
    read_date,
    read_email,
    read_phone,
)
from basic_control.generators.data_extraction.letters import LetterDraft
from basic_control.generators.data_extraction.objects import find, last_first, named_object, strings

NOUNS = {"emails": "an e-mail", "phones": "a phone", "dates": "a date"}
RUN = 8  # consecutive source words, with no entity between them, that count as an echo
MOST = 64  # values read from a reply, per kind and for list lines; any further ones still count as wrong
ATTEMPTS = 12  # objects tried, from the reply's end
SLOW_READS = 3  # values of a reply passed to dateparser
_LONGEST_LINE = 300
_COUNTRIES = {
    "en": {"US": "US", "GB": "UK", "RU": "Russian"},
    "ru": {"US": "американские", "GB": "британские", "RU": "российские"},
}
_NOTHING = frozenset(
    {"", "none", "n/a", "null", "-", "—", "[]", "none found", "not found", "нет", "отсутствует", "отсутствуют"}
    | {"не найдено", "не найдены", "не указано", "не указаны"}
)
_LINK = pattern(r"\[([^\]]+)\]\([^)]*\)")
_JOINTS = (re.compile(r"[;\n]|\band\b|\bи\b"), re.compile(r"[,;\n]|\band\b|\bи\b"))


_WORD = pattern(r"\w+")


def _echoes(facts: Mapping[str, Any], reply: str) -> bool:
    """Return whether the reply has eight consecutive words of the source text with no entity among them."""
    words = _WORD.findall(reply.lower())
    if len(words) < RUN:
        return False
    text: str = facts["text"]
    for written in facts["written"]:
        text = text.replace(written, SLOT)
    source = "\n".join(f" {' '.join(_WORD.findall(piece))} " for piece in text.lower().split(SLOT))
    known = frozenset(source.split())
    length = 0  # of the current run of consecutive words from the source
    for end, word in enumerate(words, 1):
        length = length + 1 if word in known else 0
        if length >= RUN and f" {' '.join(words[end - RUN : end])} " in source:
            return True
    return False


class _Reading:
    """The values found in a reply: kind → normal form → as written; unreadable values keep their written form."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.region: str = facts["region"]
        self.language: str = facts["language"]
        self.expected = {kind: frozenset(facts[kind]) for kind in KINDS}
        self.values: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
        self.slow_reads = SLOW_READS

    def normal(self, kind: str, written: str) -> str | None:
        text = clean(written) if len(written) <= LONGEST else ""
        if "](" in text:
            text = _LINK.sub(r"\1", text)
        if kind == "emails":
            return read_email(text)
        if kind == "phones":
            return read_phone(text, self.region)
        value = read_date(text, self.region, self.language)
        if value is None and text and self.slow_reads > 0:
            self.slow_reads -= 1
            value = read_date(text, self.region, self.language, slowly=True)
        return value

    def add(self, kind: str, written: str) -> None:
        """Add a value, or the values that it lists; the parts count only if each of them is a value."""
        if written.strip().lower() in _NOTHING:
            return
        if normal := self.normal(kind, written):
            self.values[kind].setdefault(normal, written)
            return
        for joint in _JOINTS if len(written) <= _LONGEST_LINE else ():
            parts = joint.split(written)
            normals = {self.normal(kind, part): part for part in parts} if 1 < len(parts) <= MOST else {}
            if normals and all(normals):
                self.values[kind] |= {normal: part for normal, part in normals.items() if normal}
                return
        self.values[kind][written] = written


def _read_object(reply: str, reading: _Reading) -> str:
    """Read the last object: 'object', 'wrong key' for one without our keys, 'cut off', or '' for none."""
    if "{" not in reply and "[" not in reply:
        return ""
    found = find(reply)
    if found.cut:
        return "cut off"
    values = [*islice(last_first(found.values), ATTEMPTS)]
    named = next((named for value in values if (named := named_object(value)) is not None), None)
    if named is None:
        return "wrong key" if values else "cut off" if found.broken else ""
    for kind in KINDS:
        for written in islice(strings(named.get(kind)), MOST):
            reading.add(kind, written)
    # Values under other keys count too: they are part of what was extracted.
    others = (part for key, parts in named.items() if key not in KINDS for part in islice(strings(parts), MOST))
    for written in islice(others, MOST):
        for kind in KINDS[:2]:
            if (normal := reading.normal(kind, written)) and (kind == "emails" or PHONE.fullmatch(written.strip())):
                reading.values[kind].setdefault(normal, written)
    return "object"


_BULLET = pattern(r"\s*(?:[-*•–|+→▪◦‣]|\d{1,2}[.)])\s+")
_LABEL = pattern(r"[^\d@:]{1,40}(?:\d{1,2}[^\w@:]{0,3})?:(?:\s+|$)")
_JOINT = pattern(r"\b(?:and|or|и|или|none|нет|mailto|tel)\b")
_COUNT = pattern(r"[\s(]*\d{1,2}[\s).,;]*")
_LETTER = pattern(r"[^\W\d_]")
_SIGN = pattern(r"[@\d]")


def _read_lines(reply: str, reading: _Reading) -> bool:
    """Read list lines: those with a bullet or a number, and those with only entities and a label."""
    there = 0
    for line in reply.splitlines():
        if there > MOST:
            break
        if len(line) <= _LONGEST_LINE and _SIGN.search(line):
            there += _read_line(line, reading)
    return there > 0


def _read_line(line: str, reading: _Reading) -> bool:
    bullet = _BULLET.match(line)
    rest = clean(line[bullet.end() :] if bullet else line).replace("**", "").replace("`", "")
    label = _LABEL.match(rest)
    rest = rest[label.end() :] if label else rest
    found: list[tuple[str, str, str]] = []

    def take(kind: str, match: re.Match[str]) -> str:
        written = match.group()
        dated = kind == "dates"
        normal = date_of(match, reading.region, reading.language) if dated else reading.normal(kind, written)
        if normal is None:
            return written
        found.append((kind, normal, written))
        return " "

    for kind, form in (("emails", EMAIL), ("dates", DATE), ("dates", COMPACT), ("phones", PHONE)):
        rest = form.sub(partial(take, kind), rest)
    if not bullet and _LETTER.search(_JOINT.sub(" ", rest)):
        return False  # prose
    if not found and _COUNT.fullmatch(rest):
        return False  # the number of entities
    for kind, normal, written in found:
        reading.values[kind].setdefault(normal, written)
    if _SIGN.search(rest):  # a number, a handle, half a date: listed, but no entity
        reading.values["emails" if "@" in rest else "dates"].setdefault(rest.strip(), rest.strip())
    return bool(found) or bool(_SIGN.search(rest))


def _stands_in(part: str, text: str) -> bool:
    """Return whether `part` is in the text and not cut out of a longer number or word."""
    at = text.find(part)
    return at >= 0 and not text[at - 1 : at].isalnum() and not text[at + len(part) : at + len(part) + 1].isalnum()


def _reason(
    facts: Mapping[str, Any], missing: Mapping[str, Collection[str]], extra: Mapping[str, Mapping[str, str]]
) -> str:
    """Name the first mistake: a distractor extracted, a value under the wrong key, then by kind."""
    for written in (value for kind in KINDS for value in extra[kind].values()):
        for distractor, what in facts["distractors"].items():
            if _stands_in(distractor.lower(), written.lower()):
                return f"extracted {what}"
    for kind in KINDS:
        if any(not extra[kind].keys().isdisjoint(facts[other]) for other in KINDS if other != kind):
            return "wrong key"
    for kind in KINDS:
        if missing[kind] and extra[kind]:
            return f"changed {NOUNS[kind]}"
        if missing[kind]:
            return f"missed {NOUNS[kind]}"
        if extra[kind]:
            return f"invented {NOUNS[kind]}"
    return "every entity and nothing else"


def verify(item: Item, reply: str) -> Verdict:
    """Compare the set in the reply's last JSON object, or else in its list lines, with the expected one.

    Details: precision and recall in [0, 1], missing and extra values, and where the set was read.
    """
    facts = item.facts
    reply = reply_text(reply, prompt=item.prompt)
    reading = _Reading(facts)
    where = _read_object(reply, reading) or ("lines" if _read_lines(reply, reading) else "")
    missing = {kind: reading.expected[kind] - reading.values[kind].keys() for kind in KINDS}
    extra = {
        kind: {value: raw for value, raw in reading.values[kind].items() if value not in reading.expected[kind]}
        for kind in KINDS
    }
    given = sum(map(len, reading.values.values()))
    listed = sorted(raw for kind in KINDS for raw in extra[kind].values())[:10]
    hits = given - sum(map(len, extra.values()))
    details = {
        "precision": round(hits / given, 4) if given else 0.0,
        "recall": round(hits / sum(map(len, reading.expected.values())), 4),
        "missing": sorted(value for kind in KINDS for value in missing[kind]),
        # UTF-8 cannot encode a lone surrogate from a JSON escape
        "extra": [value[:LONGEST].encode("utf-8", "replace").decode() for value in listed],
        "read": where,
    }
    if _echoes(facts, reply):
        return Verdict(correct=False, reason="echoed the source", details=details)
    if not where:
        return Verdict(correct=None, reason="no JSON object and no list", details=details)
    if where == "cut off":
        return Verdict(correct=None, reason="the JSON object is cut off", details=details)
    if where == "wrong key":
        return Verdict(correct=False, reason="wrong key", details=details)
    right = not any(missing.values()) and not any(extra.values())
    return Verdict(correct=right, reason=_reason(facts, missing, extra), details=details)


def reference(item: Item) -> str:
    """Return the expected JSON object in a code fence."""
    return f"```json\n{item.answer}\n```"


def list_near_misses(item: Item) -> list[str]:
    """Return replies with one entity missing, changed, invented or misplaced, and echoes of the source."""
    sets: dict[str, list[str]] = {kind: list(item.facts[kind]) for kind in KINDS}
    kind = next(kind for kind in KINDS if sets[kind])
    last = sets[kind][-1]
    changed = last[:-1] + ("1" if last[-1] != "1" else "2") if kind != "emails" else f"x{last}"
    other = KINDS[(KINDS.index(kind) + 1) % 3]
    replies = [
        {**sets, kind: sets[kind][:-1]},
        {**sets, kind: [*sets[kind][:-1], changed]},
        {**sets, kind: sets[kind][:-1], other: [*sets[other], last]},
        {**sets, "emails": [*sets["emails"], "nobody@invented.example.com"]},
        {**sets, "phones": [*sets["phones"], "+49 30 901820"]},
        {**sets, "dates": [*sets["dates"], "1999-12-31"]},
        {"contacts": sets["emails"], "numbers": sets["phones"], "days": sets["dates"]},
        *({**sets, "dates": [*sets["dates"], written]} for written in item.facts["distractors"]),
    ]
    return [
        *(json.dumps(reply, ensure_ascii=False) for reply in replies),
        item.prompt,
        f"{item.facts['text']}\n\n{item.answer}",
    ]


LEVELS = {
    "easy": {"least": 2, "most": 5, "distractors": 0, "twists": False},
    "medium": {"least": 3, "most": 5, "distractors": 2, "twists": False},
    "hard": {"least": 4, "most": 5, "distractors": 4, "twists": True},
}


@family(
    levels=LEVELS,
    verify=verify,
    languages=("en", "ru"),
    seed_id="t04_data_extraction",
    titles={"en": "Extraction", "ru": "Извлечение"},
    reference=reference,
    near_misses=list_near_misses,
    verifier_version=5,
)
def data_extraction(
    rng: Random, *, language: str, least: int, most: int, distractors: int, twists: bool, drawn: str = ""
) -> Item:
    """Draw a text with `least` to `most` entities of at least two kinds.

    `distractors` are order numbers, prices, times, handles, dates without a year and room numbers; `twists` are
    capitals in addresses, foreign numbers, and one entity repeated in another notation. The entities are those of
    the same draw in the language `drawn`.
    """
    draft = LetterDraft(rng, language, drawn or language, twists=twists)
    count = least + int(rng.random() * (most - least + 1))
    first = int(rng.random() * 3)
    second = (first + 1 + int(rng.random() * 2)) % 3
    draft.add(first)
    draft.add(second)
    for _ in range(count - 2):
        draft.add(int(rng.random() * 3))
    if twists:
        draft.repeat()
    traps = draft.distract(distractors) if distractors else {}
    text = draft.text()
    before, after = frame("data_extraction/task", language, country=_COUNTRIES[language][draft.region])
    entities = {kind: sorted(found) for kind, found in zip(KINDS, draft.found, strict=True)}
    return Item(
        prompt=f"{before}{text}{after}",
        answer=json.dumps(entities),
        facts={
            **entities,
            "region": draft.region,
            "language": language,
            "text": text,
            "written": draft.written,
            "distractors": traps,
        },
        template=draft.scenario.name,
    )
