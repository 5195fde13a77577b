"""Summarize a paragraph by copying its one key sentence, among details, an example, an aside and loud trifles.

Source: seed 001, category 5 ('extractive summarization'); the texts and the rules of acceptance: ours (SPEC 2).
"""

from collections.abc import Mapping, Sequence
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

_FOLDED = pattern("[«»“”„‟″‘’‚‛‹›ʼ′`'ёЁ\u0301\u00ad\u200b-\u200f\u2060\ufeff]")
_FOLDS = {**dict.fromkeys("«»“”„‟″‘’‚‛‹›ʼ′`'", '"'), "ё": "е", "Ё": "Е"}  # the others are invisible
_ESCAPE = pattern(r"\\(?:u([0-9a-fA-F]{4})|([nrt])|([\"'/\\*_`]))")
_EMPHASIS = pattern(
    r"\*+|~~|==|(?<!\w)[_`]{1,3}|[_`]{1,3}(?!\w)|</?(?:b|i|u|em|strong|mark)>|(?:^|(?<=\n))[ \t]*>[> \t]*"
)
_MARKED = pattern(r"[*~=_`<>\\]")  # a text without any of these has no emphasis
_GOES_ON = pattern(r",? [^\W\d_A-ZА-ЯЁ]|,? \d|-\w")
_GOES_ON_ALOUD = pattern(r",? [^\W_]|-\w")
_NEAR = 160  # characters before a sentence that are searched for a denial of it
_NO = pattern(r"[\"*_)\]]{0,3}\?[\"*_)\]]{0,3} (?:No|Nope|Нет)(?![^\W_])")
_ENDED = pattern(r"[.!?…][\"*_)\]]* |\n")
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
        other = int(draw() * (last + 1))
        parts[last], parts[other] = parts[other], parts[last]
    return parts


def _others(rng: Random, topic: Topic, count: int, loud: int) -> list[tuple[str, str]]:
    """Draw `count` (role, sentence) pairs beside the key; a detail leads, since nothing opens with an example."""
    first, *more = _shuffle(rng, [("detail", sentence) for sentence in topic.details])
    pool = _shuffle(rng, [*more, ("example", topic.example), ("aside", topic.aside)])
    louds = _shuffle(rng, [("loud", sentence) for sentence in topic.loud])[:loud] if loud else []
    return [first, *_shuffle(rng, [*pool[: count - 1 - len(louds)], *louds])]


def normalise(text: str) -> str:
    """Collapse white space, unify quotes and apostrophes, replace ё by е, decode JSON escapes, and strip."""
    if "\\" in text:
        text = _ESCAPE.sub(lambda one: chr(int(one[1], 16)) if one[1] else " " if one[2] else one[3], text)
    if "\u0308" in text or "\u0306" in text:
        text = text.replace("е\u0308", "е").replace("и\u0306", "й").replace("И\u0306", "Й")
    if not text.isascii():
        text = _FOLDED.sub(lambda sign: _FOLDS.get(sign[0], ""), text)
    text = text.replace("'", '"').replace("`", '"')
    return " ".join(text.split())


@lru_cache(maxsize=4096)
def _bare(sentences: tuple[str, ...]) -> tuple[str, ...]:
    """Normalise a paragraph's sentences, without final punctuation; cached for all models that are asked."""
    return tuple([normalise(sentence).rstrip(_FINAL) for sentence in sentences])


def _holds(text: str, sentence: str) -> bool:
    """Return whether the text contains the sentence at word boundaries."""
    at = text.find(sentence)
    while at >= 0:
        end = at + len(sentence)
        if not text[at - 1 : at].isalnum() and not text[end : end + 1].isalnum():
            return True
        at = text.find(sentence, end)
    return False


def _holds_whole(text: str, sentence: str) -> bool:
    """Return whether the text contains the sentence, ending there, and its last occurrence is not denied.

    'From May only' does not contain 'from May'. The first letter may be of either case ('It says that the town …'),
    or all letters capitals.
    """
    for written, goes_on in ((sentence, _GOES_ON), (sentence.upper(), _GOES_ON_ALOUD)):
        first, rest = written[:1].lower(), written[1:]
        at = text.rfind(rest)
        while at > 0:
            end = at + len(rest)
            begins = text[at - 1].lower() == first and not text[max(0, at - 2) : at - 1].isalnum()
            if begins and not text[end : end + 1].isalnum() and not goes_on.match(text, end):
                return not _denied(text, at - 1, end)
            at = text.rfind(rest, 0, at)
    return False


def _denied(text: str, start: int, end: int) -> bool:
    """Return whether the context of a sentence denies it.

    'It is false that …', 'Do not choose "…"', '"…" is not it'. 'You cannot miss it: …' announces it.
    """
    lead = _ENDED.split(text[max(0, start - _NEAR) : start])[-1].replace('n"t', "n't")
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
    said = normalise(reply)
    if not said:
        return Verdict(correct=None, reason="empty reply", details={"similarity": 0.0})
    from rapidfuzz import fuzz

    facts = item.facts
    sentences = _bare(tuple(facts["sentences"]))
    key = sentences[facts["key"]]
    details = {"similarity": round(fuzz.ratio(said.strip(_FINAL), key) / 100, 4)}
    right = _holds_whole(said, key)
    if right and len(said) < len(key) + min(map(len, sentences)):
        return Verdict(correct=True, reason="the key sentence", details=details)
    # Emphasis marks may close a sentence ('**…** is the point'), but never hide one.
    plain = normalise(_EMPHASIS.sub("", reply.replace("\\n", "\n"))) if _MARKED.search(reply) else ""
    forms = {said, plain or said}
    right = right or any(_holds_whole(text, key) for text in forms)
    lower = [text.lower() for text in forms]  # a copy in another case is still a copy
    others = [
        role
        for sentence, role in zip(sentences, facts["roles"], strict=True)
        if role != "key" and any(_holds(text, sentence.lower()) for text in lower)
    ]
    if right and not others:
        return Verdict(correct=True, reason="the key sentence", details=details)
    if right:
        whole = len(others) == len(sentences) - 1
        reason = "copied the whole paragraph" if whole else f"added {NOUNS[others[0]]}"
    elif others:
        reason = f"chose {NOUNS[others[0]]}" if len(others) == 1 else "chose several sentences"
    else:
        reason = _reason(said, sentences, facts, details["similarity"])
    return Verdict(correct=False, reason=reason, details=details)


def _reason(said: str, sentences: Sequence[str], facts: Mapping[str, Any], similarity: float) -> str:
    """Classify a reply that contains no sentence of the paragraph verbatim."""
    from rapidfuzz import fuzz

    key, bare = sentences[facts["key"]], said.strip(_FINAL)
    if _SHORTEST_CUT <= len(bare) < len(key) and bare in key:
        return "cut the key sentence short"
    if similarity >= NEAR or key.lower() in said.lower():
        return "changed the key sentence"
    near, role = max(
        (fuzz.ratio(bare, sentence) / 100, role) for sentence, role in zip(sentences, facts["roles"], strict=True)
    )
    if near >= NEAR:
        return f"changed {NOUNS[role]}"
    words = set(_WORD.findall(key.lower()))
    if len(words.intersection(_WORD.findall(said.lower()))) >= SHARED * len(words):
        return "paraphrased"
    return "none of the sentences"


def reference(item: Item) -> str:
    """Return the key sentence."""
    return item.answer


def near_misses(item: Item) -> list[str]:
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
    "easy": {"least": 3, "most": 5, "loud": 0},
    "medium": {"least": 5, "most": 6, "loud": 1},
    "hard": {"least": 7, "most": 8, "loud": 2},
}


@family(
    levels=LEVELS,
    verify=verify,
    languages=("en", "ru"),
    seed_id="t05_summarization",
    titles={"en": "Summarization", "ru": "Суммаризация"},
    reference=reference,
    near_misses=near_misses,
    verifier_version=4,
)
def summarization(rng: Random, *, language: str, least: int, most: int, loud: int) -> Item:
    """Draw a paragraph of `least` to `most` sentences, `loud` of them trifles that sound weighty.

    The key sentence's position is uniform.
    """
    draw, (towns, months, topics) = rng.random, texts(language)
    topic = topics[int(draw() * len(topics))]
    count = least + int(draw() * (most - least + 1))
    parts = _others(rng, topic, count - 1, loud)
    place = int(draw() * count)
    parts.insert(place, ("key", topic.key))
    # In Russian, all numbers that end in 0 or 5 take the genitive plural.
    numbers = {"n": 15 + 5 * int(draw() * 10), "k": 15 + 5 * int(draw() * 10)}
    slots = {**towns[int(draw() * len(towns))], **months[int(draw() * 12)], **numbers}
    text = "\n".join([sentence for _, sentence in parts]).format_map(slots)
    sentences = text.split("\n")
    before, after = frame("summarization/task", language)
    return Item(
        prompt=f"{before}{text.replace(chr(10), ' ')}{after}",
        answer=sentences[place],
        facts={"sentences": sentences, "roles": [role for role, _ in parts], "key": place},
        template=topic.name,
    )
