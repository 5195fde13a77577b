"""Find who is the tallest (oldest, second fastest, …) from a few comparisons and negations.

Source: seed 001, category 1; the wording, the proof of a single answer and the rules of acceptance: ours (SPEC 2).
"""

from collections.abc import Sequence
from functools import cache
from operator import itemgetter
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
    join_names,
    properties,
    state,
    texts,
    wordings,
)
from basic_control.generators.simple_logic.orderings import DIRECT, INDIRECT, Fact, Puzzle, puzzles
from basic_control.generators.simple_logic.people import cases, names, translate_names
from basic_control.prompts import render

LEVELS = {
    "easy": {"people": (2, 3), "statements": (2, 3), "kinds": DIRECT, "inner_places": False},
    "medium": {"people": (4, 4), "statements": (3, 4), "kinds": INDIRECT, "inner_places": True},
    "hard": {"people": (5, 5), "statements": (4, 5), "kinds": INDIRECT, "inner_places": True},
}
MARKERS = {"en": "ANSWER", "ru": "ОТВЕТ"}

_PAIR = 2
_EVEN = 0.5


def _word_fact(
    rng: Random, by: Property, fact: Fact, order: Sequence[str], language: str, *, n_wordings: int | None = None
) -> str:
    """Word a fact about a property, in one of the first `n_wordings`."""
    kind, people = fact
    sentence = rng.choice(wordings(by, kind, order[people[0]], language)[:n_wordings])
    if kind == "count_above":
        return state(sentence, (order[people[0]],), language, count=people[1])
    return state(sentence, [*map(order.__getitem__, people)], language)


LONGEST_READ = 100_000
"""Characters at a reply's end that are read."""


def verify(item: Item, reply: str, *, cut: bool = False) -> Verdict:
    """Accept the right name in the last statement, else in a bold last line, else alone in the reply.

    A name does not count if it is denied or only asked about. `cut`: the reply ended at its token limit, so that
    only a statement counts.
    """
    # A statement stands at the end: of megabytes only that is read, in bounded time.
    text = unify(reply_text(reply, prompt=item.prompt, expected=item.answer)[-LONGEST_READ:])
    forms: dict[str, str] = {}
    for name in item.facts["names"]:
        forms |= dict.fromkeys(_forms(name), name)
    question = item.prompt.rpartition("?")[0].rpartition("\n")[2]
    reading = read(text, Names(forms, unify(question)), cut=cut, prompt=item.prompt)
    if reading.values is None:
        return Verdict(correct=None, reason="names none of them")
    details = {"rule": reading.rule}
    if not reading.values:
        return Verdict(correct=False, reason="states none of those it names", details=details)
    if len(reading.values) > 1:
        return Verdict(correct=False, reason="names several of them", details=details)
    if item.answer not in reading.values:
        return Verdict(correct=False, reason="names another one", details=details)
    return Verdict(correct=True, reason="right", details=details)


@cache
def _forms(name: str) -> tuple[str, ...]:
    return tuple(unify(case).lower() for case in cases(name))


def reference(item: Item) -> str:
    """Return the answer line."""
    return f"{MARKERS[item.language]}: {item.answer}"


def list_near_misses(item: Item) -> Sequence[str]:
    """Return replies that name somebody else, too many people, or the right one only to deny it."""
    marker, right = MARKERS[item.language], item.answer
    everyone = item.facts["names"]
    wrong_names = [name for name in everyone if name != right]
    denials = [f"not {right}", f"It isn't {right}.", f"Anyone but {right}.", f"It is false that it is {right}."]
    if item.language == "ru":
        genitive = cases(right)[1]
        denials = [f"не {right}", f"Это не {right}.", f"Все, кроме {genitive}.", f"Неверно, что это {right}."]
    # Somebody else, alone and beside the right one.
    replies: list[str] = []
    for name in wrong_names:
        replies += [
            f"{marker}: {name}",
            f"It is clear: {name}.",
            f"{marker}: {right}\n{marker}: {name}",
            f"{marker}: {right} / {name}",
        ]
    return [
        *replies,
        *denials,
        *map(f"{marker}: ".__add__, denials),
        f"{marker}: {', '.join(everyone)}",
        ", ".join(everyone),
        "\n".join(map(f"{marker}: ".__add__, (*wrong_names, right, wrong_names[0]))),
        f"{marker}: {right}xx",
        f"{marker}: {right[:2]}",
        f"{marker}:",
    ]


@family(
    levels=LEVELS,
    verify=verify,
    languages=("en", "ru"),
    seed_id="t01_simple_logic",
    titles={"en": "Logic", "ru": "Логика"},
    reference=reference,
    near_misses=list_near_misses,
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
    candidates = properties(language, drawn)
    asked_by, *aside = rng.sample(candidates, count) if size == _PAIR else (rng.choice(candidates),)
    if aside:
        puzzle = Puzzle(_PAIR, (("above", (0, 1)),), rng.randrange(2))
    else:
        positions = range(size) if inner_places else (0, size - 1)
        puzzle = rng.choice(puzzles(size, count, kinds, tuple(positions)))
    order = translate_names(rng.sample(names(drawn), size), drawn, language)
    sentences = [_word_fact(rng, asked_by, fact, order, language) for fact in puzzle.facts]
    # Never 'not taller', the third wording: nothing rules out equality by these properties.
    for by in aside:
        pair = order if rng.random() < _EVEN else order[::-1]
        sentences.append(_word_fact(rng, by, ("above", (0, 1)), pair, language, n_wordings=2))
    rng.shuffle(sentences)
    # People are introduced in an order that says nothing about theirs.
    introduced = order.copy()
    rng.shuffle(introduced)
    prompt = render(
        "simple_logic/task",
        language,
        scene=rng.choice(texts(language).scenes).format(join_names(introduced, language)),
        distinct=asked_by.distinct,
        statements=" ".join(sentences),
        question=ask(asked_by, puzzle.position, introduced, language),
    )
    facts = {
        "names": introduced,
        "relations": [_name_people(fact, order) for fact in puzzle.facts],
        "place": puzzle.position,
    }
    fact_kinds = "+".join(sorted(map(itemgetter(0), puzzle.facts)))
    template = f"{puzzle.size}:{fact_kinds}:{puzzle.position}"
    return Item(prompt=prompt, answer=order[puzzle.position], facts=facts, template=template)


def _name_people(fact: Fact, order: Sequence[str]) -> list[str | int]:
    """Return a fact with its people's names; the number of `count_above` is kept."""
    kind, people = fact
    if kind == "count_above":
        return [kind, order[people[0]], people[1]]
    return [kind, *map(order.__getitem__, people)]
