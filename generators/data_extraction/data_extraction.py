"""Extract the e-mail addresses, phone numbers and dates of a text; the set must be exactly right."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import chain, islice, permutations
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
    normalise,
    read_date,
    read_date_match,
    read_email,
    read_phone,
)
from basic_control.generators.data_extraction.json_objects import (
    find_entities,
    find_outermost,
    reverse_objects,
    strings,
)
from basic_control.generators.data_extraction.letters import LetterDraft

NOUNS = {"emails": "an e-mail", "phones": "a phone", "dates": "a date"}
RUN = 8  # consecutive source words, with no entity between them, that count as an echo
LIMIT = 64  # values read from a reply, per kind and for list lines; any further ones still count as wrong
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
# A link in Markdown: "[ann@example.com](mailto:…)"
_LINK = pattern(r"\[([^\]]+)\]\([^)]*\)")
# What stands between listed values: "; ", "and", ", "
_JOINTS = (re.compile(r"[;\n]|\band\b|\bи\b"), re.compile(r"[,;\n]|\band\b|\bи\b"))


# A word: "email"
_WORD = pattern(r"\w+")


def _has_echo(facts: Mapping[str, Any], reply: str) -> bool:
    """Return whether the reply has eight consecutive words of the source text with no entity among them."""
    words = _WORD.findall(reply.lower())
    if len(words) < RUN:
        return False
    text: str = facts["text"]
    for written in facts["written"]:
        text = text.replace(written, SLOT)
    source = "\n".join(f" {' '.join(_WORD.findall(piece))} " for piece in text.lower().split(SLOT))
    source_words = frozenset(source.split())
    length = 0  # of the current run of consecutive words from the source
    for end, word in enumerate(words, 1):
        length += 1
        if word not in source_words:
            length = 0
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

    def normalise(self, kind: str, written: str) -> str | None:
        """Return a value's normal form; None if it is no value of the kind."""
        text = normalise(written) if len(written) <= LONGEST else ""
        if "](" in text:
            text = _LINK.sub(r"\1", text)
        if kind == "emails":
            return read_email(text)
        if kind == "phones":
            return read_phone(text, self.region)
        value = read_date(text, self.region, self.language)
        # What no form of ours fits is read by a library, which takes long.
        if value is None and text and self.slow_reads > 0:
            self.slow_reads -= 1
            value = read_date(text, self.region, self.language, slowly=True)
        return value

    def add(self, kind: str, written: str) -> None:
        """Add a value, or the values that it lists; the parts count only if each of them is a value."""
        if written.strip().lower() in _NOTHING:
            return
        normal = self.normalise(kind, written)
        if normal:
            self.values[kind].setdefault(normal, written)
            return
        if len(written) <= _LONGEST_LINE:
            for joint in _JOINTS:
                if self._add_parts(kind, joint.split(written)):
                    return
        self.values[kind][written] = written

    def _add_parts(self, kind: str, parts: Sequence[str]) -> bool:
        """Add the parts of a list if each of them is a value; return whether they are."""
        if not 1 < len(parts) <= LIMIT:
            return False
        part_by_value = {self.normalise(kind, part): part for part in parts}
        if not all(part_by_value):
            return False
        self.values[kind] |= {str(value): part for value, part in part_by_value.items()}
        return True


def _read_object(reply: str, reading: _Reading) -> str:
    """Read the last object: 'object', 'wrong key' for one without our keys, 'cut off', or '' for none."""
    if "{" not in reply and "[" not in reply:
        return ""
    parsed = find_outermost(reply)
    if parsed.cut:
        return "cut off"
    values = [*islice(reverse_objects(parsed.values), ATTEMPTS)]
    entities = next(filter(_is_object, map(find_entities, values)), None)
    if entities is None and values:
        return "wrong key"
    if entities is None:
        return "cut off" if parsed.broken else ""
    for kind in KINDS:
        for written in islice(strings(entities.get(kind)), LIMIT):
            reading.add(kind, written)
    # Values under other keys count too: they are part of what was extracted.
    other_values = [islice(strings(value), LIMIT) for key, value in entities.items() if key not in KINDS]
    for written in islice(chain.from_iterable(other_values), LIMIT):
        _read_unnamed(written, reading)
    return "object"


def _is_object(entities: Mapping[str, Any] | None) -> bool:
    return entities is not None


def _read_unnamed(written: str, reading: _Reading) -> None:
    """Read a value whose key names no kind: an address, or a number that is written as a phone's."""
    for kind in KINDS[:2]:
        normal = reading.normalise(kind, written)
        if normal and (kind == "emails" or PHONE.fullmatch(written.strip())):
            reading.values[kind].setdefault(normal, written)


# How a list line begins: "- ", "2. "
_BULLET = pattern(r"\s*(?:[-*•–|+→▪◦‣]|\d{1,2}[.)])\s+")
# A label: "Phone 1: "
_LABEL = pattern(r"[^\d@:]{1,40}(?:\d{1,2}[^\w@:]{0,3})?:(?:\s+|$)")
# A word that may stand beside entities: "and", "none"
_JOINT = pattern(r"\b(?:and|or|и|или|none|нет|mailto|tel)\b")
# A number alone: "(3)"
_COUNT = pattern(r"[\s(]*\d{1,2}[\s).,;]*")
# A letter, and what an entity cannot do without: "a", "@", "7"
_LETTER = pattern(r"[^\W\d_]")
_SIGN = pattern(r"[@\d]")


def _read_lines(reply: str, reading: _Reading) -> bool:
    """Read list lines: those with a bullet or a number, and those with only entities and a label."""
    count = 0
    for line in reply.splitlines():
        if count > LIMIT:
            break
        if len(line) <= _LONGEST_LINE and _SIGN.search(line):
            count += _read_line(line, reading)
    return count > 0


def _read_line(line: str, reading: _Reading) -> bool:
    bullet = _BULLET.match(line)
    if bullet:
        line = line[bullet.end() :]
    text = normalise(line).replace("**", "").replace("`", "")
    label = _LABEL.match(text)
    if label:
        text = text[label.end() :]
    text, entities = _take_entities(text, reading)
    if not bullet and _LETTER.search(_JOINT.sub(" ", text)):
        return False  # prose
    if not entities and _COUNT.fullmatch(text):
        return False  # the number of entities
    for kind, normal, written in entities:
        reading.values[kind].setdefault(normal, written)
    # A number, a handle, half a date: listed, but no entity.
    has_sign = _SIGN.search(text) is not None
    if has_sign:
        reading.values["emails" if "@" in text else "dates"].setdefault(text.strip(), text.strip())
    return bool(entities) or has_sign


def _take_entities(text: str, reading: _Reading) -> tuple[str, list[tuple[str, str, str]]]:
    """Return a line without its entities, and these: kind, normal form, as written."""
    entities: list[tuple[str, str, str]] = []

    def take_match(kind: str, match: re.Match[str]) -> str:
        written = match.group()
        if kind == "dates":
            normal = read_date_match(match, reading.region, reading.language)
        else:
            normal = reading.normalise(kind, written)
        if normal is None:
            return written
        entities.append((kind, normal, written))
        return " "

    # Each kind in turn, so that no digits of a date are taken for a phone's.
    for kind, form in (("emails", EMAIL), ("dates", DATE), ("dates", COMPACT), ("phones", PHONE)):
        text = form.sub(partial(take_match, kind), text)
    return text, entities


def _stands_in(part: str, text: str) -> bool:
    """Return whether `part` is in the text and not cut out of a longer number or word."""
    start = text.find(part)
    end = start + len(part)
    return start >= 0 and not text[start - 1 : start].isalnum() and not text[end : end + 1].isalnum()


def _name_mistake(
    facts: Mapping[str, Any], missing: Mapping[str, Collection[str]], extra: Mapping[str, Mapping[str, str]]
) -> str:
    """Name the first mistake: a distractor extracted, a value under the wrong key, then by kind."""
    for written in chain.from_iterable(extra[kind].values() for kind in KINDS):
        for distractor, noun in facts["distractors"].items():
            if _stands_in(distractor.lower(), written.lower()):
                return f"extracted {noun}"
    for kind, expected_kind in permutations(KINDS, 2):
        if not extra[kind].keys().isdisjoint(facts[expected_kind]):
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
    source = _read_object(reply, reading)
    if not source and _read_lines(reply, reading):
        source = "lines"
    missing: dict[str, frozenset[str]] = {}
    extra: dict[str, dict[str, str]] = {}
    for kind, values in reading.values.items():
        expected = reading.expected[kind]
        missing[kind] = expected - values.keys()
        extra[kind] = {value: written for value, written in values.items() if value not in expected}
    details = _measure(reading, missing, extra) | {"read": source}
    if _has_echo(facts, reply):
        return Verdict(correct=False, reason="echoed the source", details=details)
    if not source:
        return Verdict(correct=None, reason="no JSON object and no list", details=details)
    if source == "cut off":
        return Verdict(correct=None, reason="the JSON object is cut off", details=details)
    if source == "wrong key":
        return Verdict(correct=False, reason="wrong key", details=details)
    is_right = not any(missing.values()) and not any(extra.values())
    return Verdict(correct=is_right, reason=_name_mistake(facts, missing, extra), details=details)


def _measure(
    reading: _Reading, missing: Mapping[str, Collection[str]], extra: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """Return precision and recall, and what is missing and extra."""
    count = sum(map(len, reading.values.values()))
    hits = count - sum(map(len, extra.values()))
    extra_texts = sorted(chain.from_iterable(values.values() for values in extra.values()))[:10]
    return {
        "precision": round(hits / count, 4) if count else 0.0,
        "recall": round(hits / sum(map(len, reading.expected.values())), 4),
        "missing": sorted(chain.from_iterable(missing.values())),
        # UTF-8 cannot encode a lone surrogate from a JSON escape
        "extra": [text[:LONGEST].encode("utf-8", "replace").decode() for text in extra_texts],
    }


def reference(item: Item) -> str:
    """Return the expected JSON object in a code fence."""
    return f"```json\n{item.answer}\n```"


def list_near_misses(item: Item) -> list[str]:
    """Return replies with one entity missing, changed, invented or misplaced, and echoes of the source."""
    sets: dict[str, list[str]] = {kind: list(item.facts[kind]) for kind in KINDS}
    kind = next(filter(sets.get, KINDS))
    *before, last = sets[kind]
    changed = f"x{last}"
    if kind != "emails":
        changed = last[:-1] + ("2" if last[-1] == "1" else "1")
    next_kind = KINDS[(KINDS.index(kind) + 1) % 3]
    dates = ["1999-12-31", *item.facts["distractors"]]
    objects = [
        {**sets, kind: before},
        {**sets, kind: [*before, changed]},
        {**sets, kind: before, next_kind: [*sets[next_kind], last]},
        {**sets, "emails": [*sets["emails"], "nobody@invented.example.com"]},
        {**sets, "phones": [*sets["phones"], "+49 30 901820"]},
        {"contacts": sets["emails"], "numbers": sets["phones"], "days": sets["dates"]},
        *({**sets, "dates": [*sets["dates"], written]} for written in dates),
    ]
    replies = [json.dumps(value, ensure_ascii=False) for value in objects]
    return [*replies, item.prompt, f"{item.facts['text']}\n\n{item.answer}"]


LEVELS = {
    "easy": {"minimum": 2, "maximum": 5, "distractors": 0, "twists": False},
    "medium": {"minimum": 3, "maximum": 5, "distractors": 2, "twists": False},
    "hard": {"minimum": 4, "maximum": 5, "distractors": 4, "twists": True},
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
    rng: Random, *, language: str, minimum: int, maximum: int, distractors: int, twists: bool, drawn: str = ""
) -> Item:
    """Draw a text with `minimum` to `maximum` entities of at least two kinds.

    `distractors` are order numbers, prices, times, handles, dates without a year and room numbers; `twists` are
    capitals in addresses, foreign numbers, and one entity repeated in another notation. The entities are those of
    the same draw in the language `drawn`.
    """
    draft = LetterDraft(rng, language, drawn or language, twists=twists)
    count = minimum + int(rng.random() * (maximum - minimum + 1))
    first = int(rng.random() * 3)
    second = (first + 1 + int(rng.random() * 2)) % 3
    draft.add_sentence(first)
    draft.add_sentence(second)
    for _ in range(count - 2):
        draft.add_sentence(int(rng.random() * 3))
    if twists:
        draft.repeat()
    # Distractors are none where the level has none: nothing is drawn for them.
    traps = draft.distract(distractors) if distractors else {}
    text = draft.lay_out()
    before, after = frame("data_extraction/task", language, country=_COUNTRIES[language][draft.region])
    entities = dict(zip(KINDS, map(sorted, draft.entities), strict=True))
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
