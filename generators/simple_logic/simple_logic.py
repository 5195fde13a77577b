"""Find who is the tallest (oldest, second fastest, …) from a few comparisons and negations.

Source: seed 001, category 1; the wording, the proof of a single answer and the rules of acceptance: ours (SPEC 2).
"""

from collections.abc import Collection, Sequence
from functools import cache
from random import Random

from data.patterns import pattern
from data.records import Family, Item, Verdict
from generators._naming import Forms, fold, is_unfinished, named, read
from generators.simple_logic.comparisons import Property, ask, listed, properties, state, texts, wordings
from generators.simple_logic.orderings import DIRECT, INDIRECT, Fact, Puzzle, puzzles
from generators.simple_logic.people import cases, names, renamed
from generators.simple_logic.statements import (
    breaks_off,
    concluded,
    final_statement,
    marked,
    statements,
    without_place,
)
from prompts import render

LEVELS = {
    "easy": {"people": (2, 3), "statements": (2, 3), "kinds": DIRECT, "inner_places": False},
    "medium": {"people": (4, 4), "statements": (3, 4), "kinds": INDIRECT, "inner_places": True},
    "hard": {"people": (5, 5), "statements": (4, 5), "kinds": INDIRECT, "inner_places": True},
}
MARKERS = {"en": "ANSWER", "ru": "ОТВЕТ"}

_PAIR = 2
_EVEN = 0.5
_MOST_SENTENCES = 500
_NAMELESS = Verdict(correct=None, reason="the answer line names none of them")
_PLAIN = pattern(r"(?:ANSWER|ОТВЕТ): ?([^\W_]+)\s*")


def generate(
    rng: Random,
    *,
    people: tuple[int, int],
    statements: tuple[int, int],
    kinds: tuple[str, ...],
    inner_places: bool,
    language: str,
    drawn: str = "",
) -> Item:
    """Draw people, a property, and facts that settle one question about their order.

    For two people one comparison is enough, and the other facts compare them by other properties. `drawn`: the
    language of the drawn names.
    """
    drawn = drawn or language
    size, count = rng.randint(*people), rng.randint(*statements)
    known = properties(language, drawn)
    asked, *aside = rng.sample(known, count) if size == _PAIR else (rng.choice(known),)
    if aside:
        puzzle = Puzzle(_PAIR, (("above", (0, 1)),), rng.randrange(2))
    else:
        places = tuple(range(size)) if inner_places else (0, size - 1)
        puzzle = rng.choice(puzzles(size, count, kinds, places))
    order = renamed(rng.sample(names(drawn), size), drawn, language)
    told = [_told(rng, asked, fact, order, language) for fact in puzzle.facts]
    for by in aside:  # never 'not taller', the third wording: nothing rules out equality there
        pair = order if rng.random() < _EVEN else order[::-1]
        told.append(_told(rng, by, ("above", (0, 1)), pair, language, most=2))
    rng.shuffle(told)
    shown = order.copy()
    rng.shuffle(shown)
    prompt = render(
        "simple_logic/task",
        language,
        scene=rng.choice(texts(language).scenes).format(listed(shown, language)),
        distinct=asked.distinct,
        statements=" ".join(told),
        question=ask(asked, puzzle.place, shown, language),
    )
    facts = {
        "names": shown,
        # the number of `count_above` is kept
        "relations": [
            [kind, order[who[0]], *(who[1:] if kind == "count_above" else [order[one] for one in who[1:]])]
            for kind, who in puzzle.facts
        ],
        "place": puzzle.place,
    }
    template = f"{puzzle.size}:{'+'.join(sorted(kind for kind, _ in puzzle.facts))}:{puzzle.place}"
    return Item(prompt=prompt, answer=order[puzzle.place], facts=facts, template=template)


def _told(
    rng: Random, by: Property, fact: Fact, order: Sequence[str], language: str, *, most: int | None = None
) -> str:
    """Word a fact about a property, in one of the first `most` wordings."""
    kind, who = fact
    sentence = rng.choice(wordings(by, kind, order[who[0]], language)[:most])
    if kind == "count_above":
        return state(sentence, (order[who[0]],), language, count=who[1])
    return state(sentence, [order[person] for person in who], language)


def verify(item: Item, reply: str) -> Verdict:
    """Accept the right name in the last answer line, else in the final statement, else alone in the reply.

    A name does not count if it is denied or only asked about, or if the reply breaks off there.
    """
    everyone = item.facts["names"]
    plain = _PLAIN.fullmatch(reply)  # as requested
    if plain and plain[1] in everyone:
        return _judge(item, {plain[1]})
    forms = {form: name for name in everyone for form in _forms(name)}
    if plain and not named(fold(plain[1]), forms):
        return _NAMELESS
    text = fold(reply)
    if (marker := marked(text, forms)) is not None:
        said, listed = marker
        if not named(said, forms):
            return _NAMELESS
        return _judge_passage(item, without_place(said, forms), forms, listed)
    statement = final_statement(text, forms)
    if statement is None:
        statement = concluded(text, forms, fold(item.prompt))
    return _judge_whole(item, text, forms) if statement is None else _judge_passage(item, statement, forms)


def _judge(item: Item, stated: Collection[str]) -> Verdict:
    if len(stated) > 1:
        return Verdict(correct=False, reason="names several of them")
    right = item.answer in stated
    return Verdict(correct=right, reason="right" if right else "names another one")


def _judge_passage(item: Item, passage: str, forms: Forms, listed: Collection[str] = ()) -> Verdict:
    """Judge a passage that should name the answer; `listed`: names beside it."""
    reading = read(passage, forms)
    if is_unfinished(passage):
        return Verdict(correct=False, reason="breaks off")
    if not reading.stated:
        reason = "denies the one it names" if reading.denied else "asks a question"
        return Verdict(correct=False, reason=reason)
    if reading.vague or not reading.stated.issuperset(listed):
        return Verdict(correct=False, reason="names several of them")
    return _judge(item, reading.stated)


def _judge_whole(item: Item, text: str, forms: Forms) -> Verdict:
    """Judge a reply without a final statement: one name, not denied, in sentences that state something."""
    everyone = named(text, forms)
    if not everyone:
        return Verdict(correct=None, reason="names none of them")
    told = [*dict.fromkeys(statements(text, forms))][-_MOST_SENTENCES:]
    readings = [read(sentence, forms) for sentence in told]
    stated = set[str]().union(*(reading.stated for reading in readings))
    if len(everyone) > 1 and (len(stated) > 1 or len(told) > 1 or not stated):
        return Verdict(correct=False, reason="names several of them")
    if any(reading.denied and not reading.stated for reading in readings):
        reason = "denies the one it names"
    elif not stated and any(reading.asked for reading in readings):
        reason = "asks a question"
    elif not stated or breaks_off(text, forms, fold(item.prompt)):
        reason = "breaks off"
    elif any(reading.vague for reading in readings):
        reason = "names several of them"
    else:
        return _judge(item, stated)
    return Verdict(correct=False, reason=reason)


@cache
def _forms(name: str) -> tuple[str, ...]:
    return tuple(map(fold, cases(name)))


def reference(item: Item) -> str:
    """Return the answer line."""
    return f"{MARKERS[item.language]}: {item.answer}"


def near_misses(item: Item) -> Sequence[str]:
    """Return replies that name somebody else, too many people, or the right one only to deny it."""
    marker, right = MARKERS[item.language], item.answer
    everyone = item.facts["names"]
    others = [name for name in everyone if name != right]
    denials = (
        (f"не {right}", f"Это не {right}.", f"Все, кроме {cases(right)[1]}.", f"Неверно, что это {right}.")
        if item.language == "ru"
        else (f"not {right}", f"It isn't {right}.", f"Anyone but {right}.", f"It is false that it is {right}.")
    )
    return (
        *(f"{marker}: {name}" for name in others),
        *(f"It is clear: {name}." for name in others),
        *denials,
        *(f"{marker}: {denial}" for denial in denials),
        *(f"{marker}: {right}\n{marker}: {name}" for name in others),
        *(f"{marker}: {right} / {name}" for name in others),
        f"{marker}: {', '.join(everyone)}",
        ", ".join(everyone),
        "\n".join(f"{marker}: {name}" for name in (*others, right, others[0])),
        f"{marker}: {right}xx",
        f"{marker}: {right[:2]}",
        f"{marker}:",
    )


UNIT = Family(
    name="simple_logic",
    version=1,
    levels=LEVELS,
    generate=generate,
    verify=verify,
    languages=("en", "ru"),
    seed_id="t01_simple_logic",
    titles={"en": "Logic", "ru": "Логика"},
    reference=reference,
    near_misses=near_misses,
    verifier_version=4,
)
