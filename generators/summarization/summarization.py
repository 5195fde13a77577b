"""Summarize a paragraph by copying its one key sentence, among details, an example, an aside and loud trifles.

Source: seed 001, category 5 ('extractive summarization'); the texts and the rules of acceptance: ours (SPEC 2).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

from basic_control.data.decorators import family
from basic_control.data.patterns import pattern
from basic_control.data.reading import reply_text
from basic_control.data.reading.clauses import is_denied, is_refuted
from basic_control.data.records import Item, Verdict
from basic_control.generators._texts import by_language, frame

NOUNS = {"detail": "a detail", "example": "an example", "aside": "an aside", "loud": "a loud trifle"}
NEAR = 0.8  # similarity from which a reply counts as a changed copy of that sentence
SHARED = 0.5  # share of the key sentence's words from which a reply counts as a paraphrase of it
_SHORTEST_CUT = 12
_FINAL = ".!?… \"'"

# A quotation mark, ё, or a character that nobody sees: "«", "\u200b"
_FOLDED = pattern("[«»“”„‟″‘’‚‛‹›ʼ′`'ёЁ\u0301\u00ad\u200b-\u200f\u2060\ufeff]")
_FOLDS = {**dict.fromkeys("«»“”„‟″‘’‚‛‹›ʼ′`'", '"'), "ё": "е", "Ё": "Е"}  # the others are invisible
# An escape as JSON has it: "\\u0451", "\\n"
_ESCAPE = pattern(r"\\(?:u([0-9a-fA-F]{4})|([nrt])|([\"'/\\*_`]))")
# Marks of emphasis, or of a quoted line: "**", "<b>", "> "
_EMPHASIS = pattern(
    r"\*+|~~|==|(?<!\w)[_`]{1,3}|[_`]{1,3}(?!\w)|</?(?:b|i|u|em|strong|mark)>|(?:^|(?<=\n))[ \t]*>[> \t]*"
)
# A text without any of these has no emphasis.
_MARKED = pattern(r"[*~=_`<>\\]")
# More of a sentence that seems to end: ", however", "-based"
_GOES_ON = pattern(r",? [^\W\d_A-ZА-ЯЁ]|,? \d|-\w")
_GOES_ON_IN_CAPITALS = pattern(r",? [^\W_]|-\w")
_NEAR = 160  # characters before a sentence that are searched for a denial of it
# A question about the sentence, answered: "? No"
_NO = pattern(r"[\"*_)\]]{0,3}\?[\"*_)\]]{0,3} (?:No|Nope|Нет)(?![^\W_])")
# The end of a sentence: ". "
_END = pattern(r"[.!?…][\"*_)\]]* |\n")
_WORD = pattern(r"\w+")


class Topic(NamedTuple):
    """Sentences that make sense in any order; only `key` sums up the whole paragraph.

    `details` add how, when, where and for how much; `example` describes one case; `aside` digresses; `loud` ones
    sound weighty, but are about something small.
    """

    name: str
    key: str
    details: tuple[str, str, str]
    example: str
    aside: str
    loud: tuple[str, str]


class TopicTexts(NamedTuple):
    """A language's topics, and the towns and months for their sentences, in the cases that the language has."""

    towns: tuple[Mapping[str, str], ...]
    months: tuple[Mapping[str, str], ...]
    topics: tuple[Topic, ...]


texts = by_language(TopicTexts, "summarization")
"""A language's texts."""


def _shuffle(rng: Random, parts: list[Any]) -> list[Any]:
    """Shuffle in place, three times as fast as `Random.shuffle`."""
    draw = rng.random
    for last in range(len(parts) - 1, 0, -1):
        index = int(draw() * (last + 1))
        parts[last], parts[index] = parts[index], parts[last]
    return parts


def _draw_sentences(rng: Random, topic: Topic, count: int, loud: int) -> list[tuple[str, str]]:
    """Draw `count` (role, sentence) pairs beside the key; a detail leads, since nothing opens with an example."""
    first, *details = _shuffle(rng, [("detail", sentence) for sentence in topic.details])
    pool = _shuffle(rng, [*details, ("example", topic.example), ("aside", topic.aside)])
    louds: list[tuple[str, str]] = []
    if loud:
        louds = _shuffle(rng, [("loud", sentence) for sentence in topic.loud])[:loud]
    return [first, *_shuffle(rng, [*pool[: count - 1 - len(louds)], *louds])]


def _decode_escape(match: re.Match[str]) -> str:
    code, space, sign = match.groups()
    if code:
        return chr(int(code, 16))
    return " " if space else sign


def normalise(text: str) -> str:
    """Collapse white space, unify quotes and apostrophes, replace ё by е, decode JSON escapes, and strip."""
    if "\\" in text:
        text = _ESCAPE.sub(_decode_escape, text)
    if "\u0308" in text or "\u0306" in text:
        text = text.replace("е\u0308", "е").replace("и\u0306", "й").replace("И\u0306", "Й")
    if not text.isascii():
        text = _FOLDED.sub(lambda sign: _FOLDS.get(sign[0], ""), text)
    text = text.replace("'", '"').replace("`", '"')
    return " ".join(text.split())


@lru_cache(maxsize=4096)
def _strip_ends(sentences: tuple[str, ...]) -> tuple[str, ...]:
    """Normalise a paragraph's sentences, without final punctuation; cached for all models that are asked."""
    return tuple([normalise(sentence).rstrip(_FINAL) for sentence in sentences])


def _has_sentence(text: str, sentence: str) -> bool:
    """Return whether the text contains the sentence at word boundaries."""
    start = text.find(sentence)
    while start >= 0:
        end = start + len(sentence)
        if not text[start - 1 : start].isalnum() and not text[end : end + 1].isalnum():
            return True
        start = text.find(sentence, end)
    return False


def _states(text: str, sentence: str) -> bool:
    """Return whether the text contains the sentence, ending there, and its last occurrence is not denied.

    'From May only' does not contain 'from May'. The first letter may be of either case ('It says that the town …'),
    or all letters capitals.
    """
    for written, goes_on in ((sentence, _GOES_ON), (sentence.upper(), _GOES_ON_IN_CAPITALS)):
        # The last occurrence counts; the first letter is compared apart.
        first, remainder = written[:1].lower(), written[1:]
        index = text.rfind(remainder)
        while index > 0:
            end = index + len(remainder)
            begins = text[index - 1].lower() == first and not text[max(0, index - 2) : index - 1].isalnum()
            if begins and not text[end : end + 1].isalnum() and not goes_on.match(text, end):
                return not _is_denied(text, index - 1, end)
            index = text.rfind(remainder, 0, index)
    return False


def _is_denied(text: str, start: int, end: int) -> bool:
    """Return whether the context of a sentence denies it.

    'It is false that …', 'Do not choose "…"', '"…" is not it'. 'You cannot miss it: …' announces it.
    """
    lead = _END.split(text[max(0, start - _NEAR) : start])[-1].replace('n"t', "n't")
    after = text[end : end + _NEAR].replace('n"t', "n't")
    is_refused = _NO.match(after) is not None or is_refuted(after.lstrip(_FINAL), 0)
    return is_refused or is_denied(lead, 0, len(lead))


def verify(item: Item, reply: str) -> Verdict:
    """Accept a reply that contains the key sentence verbatim, and no other sentence of the paragraph.

    White space, quotation marks, emphasis, JSON escapes, ё and the case of the first letter are normalised, final
    punctuation is ignored. Details: `similarity`, the normalised indel similarity of the whole reply and the key
    sentence, in [0, 1].
    """
    reply = reply_text(reply, prompt=item.prompt, expected=item.answer)
    text = normalise(reply)
    if not text:
        return Verdict(correct=None, reason="empty reply", details={"similarity": 0.0})
    from rapidfuzz import fuzz

    sentences = _strip_ends(tuple(item.facts["sentences"]))
    key = sentences[item.facts["key"]]
    details = {"similarity": round(fuzz.ratio(text.strip(_FINAL), key) / 100, 4)}
    has_key = _states(text, key)
    if has_key and len(text) < len(key) + min(map(len, sentences)):
        return Verdict(correct=True, reason="the key sentence", details=details)
    # Emphasis marks may close a sentence ('**…** is the point'), but never hide one.
    forms = {text}
    if _MARKED.search(reply):
        forms.add(normalise(_EMPHASIS.sub("", reply.replace("\\n", "\n"))) or text)
    has_key = has_key or any(_states(form, key) for form in forms)
    copied = _find_copies(forms, sentences, item.facts["roles"])
    if has_key and not copied:
        return Verdict(correct=True, reason="the key sentence", details=details)
    if copied:
        reason = _name_copies(copied, len(sentences), has_key=has_key)
    else:
        reason = _name_mistake(text, sentences, item.facts, details["similarity"])
    return Verdict(correct=False, reason=reason, details=details)


def _find_copies(forms: Iterable[str], sentences: Sequence[str], roles: Sequence[str]) -> list[str]:
    """Return the roles of the sentences beside the key that a reply has; a copy in another case is still a copy."""
    lowered = [form.lower() for form in forms]
    copied = []
    for sentence, role in zip(sentences, roles, strict=True):
        if role != "key" and any(_has_sentence(form, sentence.lower()) for form in lowered):
            copied.append(role)
    return copied


def _name_copies(copied: Sequence[str], n_sentences: int, *, has_key: bool) -> str:
    """Return what is wrong with a reply that has other sentences than the key."""
    if has_key and len(copied) == n_sentences - 1:
        return "copied the whole paragraph"
    if has_key:
        return f"added {NOUNS[copied[0]]}"
    return f"chose {NOUNS[copied[0]]}" if len(copied) == 1 else "chose several sentences"


def _name_mistake(text: str, sentences: Sequence[str], facts: Mapping[str, Any], similarity: float) -> str:
    """Classify a reply that contains no sentence of the paragraph verbatim."""
    from rapidfuzz import fuzz

    key, stripped = sentences[facts["key"]], text.strip(_FINAL)
    if _SHORTEST_CUT <= len(stripped) < len(key) and stripped in key:
        return "cut the key sentence short"
    if similarity >= NEAR or key.lower() in text.lower():
        return "changed the key sentence"
    ratios = [fuzz.ratio(stripped, sentence) / 100 for sentence in sentences]
    highest, role = max(zip(ratios, facts["roles"], strict=True))
    if highest >= NEAR:
        return f"changed {NOUNS[role]}"
    words = set(_WORD.findall(key.lower()))
    if len(words.intersection(_WORD.findall(text.lower()))) >= SHARED * len(words):
        return "paraphrased"
    return "none of the sentences"


def reference(item: Item) -> str:
    """Return the key sentence."""
    return item.answer


def list_near_misses(item: Item) -> list[str]:
    """Return every other sentence, the paragraph, pairs with the key, and the key changed in a word or cut."""
    sentences: list[str] = list(item.facts["sentences"])
    key = sentences.pop(item.facts["key"])
    words = key.rstrip(_FINAL).split()
    return [
        *sentences,
        *(f"{key} {sentence}" for sentence in sentences),
        " ".join(item.facts["sentences"]),
        item.prompt,
        " ".join(words[:-1]),
        " ".join(words[1:]),
        " ".join([words[1], words[0], *words[2:]]),
        f"{' '.join(words)}x",
        f"{' '.join(words)} 7",
    ]


LEVELS = {
    "easy": {"minimum": 3, "maximum": 5, "loud": 0},
    "medium": {"minimum": 5, "maximum": 6, "loud": 1},
    "hard": {"minimum": 7, "maximum": 8, "loud": 2},
}


@family(
    levels=LEVELS,
    verify=verify,
    languages=("en", "ru"),
    seed_id="t05_summarization",
    titles={"en": "Summarization", "ru": "Суммаризация"},
    reference=reference,
    near_misses=list_near_misses,
    verifier_version=4,
)
def summarization(rng: Random, *, language: str, minimum: int, maximum: int, loud: int) -> Item:
    """Draw a paragraph of `minimum` to `maximum` sentences, `loud` of them trifles that sound weighty.

    The key sentence's position is uniform.
    """
    draw, (towns, months, topics) = rng.random, texts(language)
    topic = topics[int(draw() * len(topics))]
    count = minimum + int(draw() * (maximum - minimum + 1))
    parts = _draw_sentences(rng, topic, count - 1, loud)
    key_index = int(draw() * count)
    parts.insert(key_index, ("key", topic.key))
    # In Russian, all numbers that end in 0 or 5 take the genitive plural.
    numbers = {"n": 15 + 5 * int(draw() * 10), "k": 15 + 5 * int(draw() * 10)}
    slots = {**towns[int(draw() * len(towns))], **months[int(draw() * 12)], **numbers}
    text = "\n".join([sentence for _, sentence in parts]).format_map(slots)
    sentences = text.split("\n")
    before, after = frame("summarization/task", language)
    return Item(
        prompt=f"{before}{text.replace(chr(10), ' ')}{after}",
        answer=sentences[key_index],
        facts={"sentences": sentences, "roles": [role for role, _ in parts], "key": key_index},
        template=topic.name,
    )
