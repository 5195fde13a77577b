"""Find who is the tallest (oldest, second fastest, …) from a few comparisons and negations.

Source: seed 001, category 1; the wording, the proof of a single answer and the rules of acceptance: ours (SPEC 2).
"""

from collections.abc import Sequence
from functools import cache
from random import Random

from basic_control.data.decorators import family
from basic_control.data.reading import reply_text
from basic_control.data.reading.answer import read
from basic_control.data.reading.names import Names
from basic_control.data.reading.texts import unify
from basic_control.data.records import Item, Verdict
from basic_control.generators.simple_logic.comparisons import (
    Property,
    ask,
    listed,
    properties,
    state,
    texts,
    wordings,
)
from basic_control.generators.simple_logic.orderings import DIRECT, INDIRECT, Fact, Puzzle, puzzles
from basic_control.generators.simple_logic.people import cases, names, renamed
from basic_control.prompts import render

LEVELS = {
    "easy": {"people": (2, 3), "statements": (2, 3), "kinds": DIRECT, "inner_places": False},
    "medium": {"people": (4, 4), "statements": (3, 4), "kinds": INDIRECT, "inner_places": True},
    "hard": {"people": (5, 5), "statements": (4, 5), "kinds": INDIRECT, "inner_places": True},
}
MARKERS = {"en": "ANSWER", "ru": "ОТВЕТ"}

_PAIR = 2
_EVEN = 0.5


def _told(
    rng: Random, by: Property, fact: Fact, order: Sequence[str], language: str, *, most: int | None = None
) -> str:
    """Word a fact about a property, in one of the first `most` wordings."""
    kind, who = fact
    sentence = rng.choice(wordings(by, kind, order[who[0]], language)[:most])
    if kind == "count_above":
        return state(sentence, (order[who[0]],), language, count=who[1])
    return state(sentence, [order[person] for person in who], language)


MOST_READ = 100_000
"""Characters at a reply's end that are read."""


def verify(item: Item, reply: str, *, cut: bool = False) -> Verdict:
    """Accept the right name in the last statement, else in a bold last line, else alone in the reply.

    A name does not count if it is denied or only asked about. `cut`: the reply ended at its token limit, so that
    only a statement counts.
    """
    # A statement stands at the end: of megabytes only that is read, in bounded time.
    text = unify(reply_text(reply, prompt=item.prompt, expected=item.answer)[-MOST_READ:])
    forms = {form: name for name in item.facts["names"] for form in _forms(name)}
    question = item.prompt.rpartition("?")[0].rpartition("\n")[2]
    reading = read(text, Names(forms, unify(question)), cut=cut, prompt=item.prompt)
    if reading.values is None:
        return Verdict(correct=None, reason="names none of them")
    details = {"rule": reading.rule}
    if not reading.values:
        return Verdict(correct=False, reason="states none of those it names", details=details)
    if len(reading.values) > 1:
        return Verdict(correct=False, reason="names several of them", details=details)
    right = item.answer in reading.values
    return Verdict(correct=right, reason="right" if right else "names another one", details=details)


@cache
def _forms(name: str) -> tuple[str, ...]:
    return tuple(unify(case).lower() for case in cases(name))


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


@family(
    levels=LEVELS,
    verify=verify,
    languages=("en", "ru"),
    seed_id="t01_simple_logic",
    titles={"en": "Logic", "ru": "Логика"},
    reference=reference,
    near_misses=near_misses,
    verifier_version=5,
)
def simple_logic(
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
