"""Tell who is the tallest (oldest, second fastest, …) from a few comparisons and negations.

Source: seed 001, category 1; the wording, the proof of a single answer and the rules of acceptance: ours (SPEC 2).
"""

import re
from collections.abc import Collection, Sequence
from functools import cache
from random import Random

from data.records import Family, Item, Verdict
from generators._comparisons import SCENES, Property, ask, listed, properties, state, wordings
from generators._orderings import DIRECT, INDIRECT, Fact, Puzzle, puzzles
from generators._people import cases, names
from prompts import render

LEVELS = {
    "easy": {"people": (2, 3), "statements": (2, 3), "kinds": DIRECT, "inner_places": False},
    "medium": {"people": (4, 4), "statements": (3, 4), "kinds": INDIRECT, "inner_places": True},
    "hard": {"people": (5, 5), "statements": (4, 5), "kinds": INDIRECT, "inner_places": True},
}
MARKERS = {"en": "ANSWER", "ru": "ОТВЕТ"}

_PAIR = 2
_EVEN = 0.5
_MARKER = re.compile(r"(?<![^\W_])(?:answer|ответ)[ \t*_\"'`]{0,4}[::]([^\n\r]*)")
_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"[^.!?…;\n\r]+")
_LINE_WITH_WORD = re.compile(r"[^\n\r]*[^\W_][^\n\r]*")
_DENIAL = (
    "not isnt cannot neither nor never no non none nobody nothing except excluding unlikely wrong incorrect false "
    "untrue не нет ни никто никогда кроме исключая неверно неправильно неправда ложно маловероятно вряд"
)
_DENIALS = frozenset(_DENIAL.split())
_DENYING_PHRASE = re.compile(
    r"n['’]t(?![^\W_])|(?<![^\W_])(?:(?:any|every)(?:one|body) but|all but|(?:other|rather) than|instead of|вместо)"
    r"(?![^\W_])"
)


def generate(
    rng: Random,
    *,
    people: tuple[int, int],
    statements: tuple[int, int],
    kinds: tuple[str, ...],
    inner_places: bool,
    language: str,
) -> Item:
    """Draw people, a property, and facts that settle one question about their order.

    Two people are settled by one comparison: the other facts then compare them by other properties.
    """
    size, count = rng.randint(*people), rng.randint(*statements)
    asked, *aside = (
        rng.sample(properties(language), count) if size == _PAIR else (rng.choice(properties(language)),)
    )
    if aside:
        puzzle = Puzzle(_PAIR, (("above", (0, 1)),), rng.randrange(2))
    else:
        places = tuple(range(size)) if inner_places else (0, size - 1)
        puzzle = rng.choice(puzzles(size, count, kinds, places))
    order = rng.sample(names(language), size)
    told = [_told(rng, asked, fact, order, language) for fact in puzzle.facts]
    told += [_aside(rng, by, order, language) for by in aside]
    rng.shuffle(told)
    shown = order.copy()
    rng.shuffle(shown)
    prompt = render(
        "simple_logic/task",
        language,
        scene=rng.choice(SCENES[language]).format(listed(shown, language)),
        distinct=asked.distinct,
        statements=" ".join(told),
        question=ask(asked, puzzle.place, shown, language),
    )
    facts = {
        "names": shown,
        "relations": [[kind, *_named(kind, who, order)] for kind, who in puzzle.facts],
        "place": puzzle.place,
    }
    return Item(prompt=prompt, answer=order[puzzle.place], facts=facts, template=_template(puzzle))


def _named(kind: str, who: Sequence[int], order: Sequence[str]) -> list[str | int]:
    """Return a fact's persons by name; the number of `count_above` stays one."""
    return [order[who[0]], who[1]] if kind == "count_above" else [order[person] for person in who]


def _told(rng: Random, by: Property, fact: Fact, order: Sequence[str], language: str) -> str:
    """Word a fact about the property that is asked for."""
    kind, who = fact
    first = order[who[0]]
    sentence = rng.choice(wordings(by, kind, first, language))
    if kind == "count_above":
        return state(sentence, (first,), language, count=who[1])
    return state(sentence, [order[person] for person in who], language)


def _aside(rng: Random, by: Property, order: Sequence[str], language: str) -> str:
    """Word a comparison by another property; never 'not taller', since nothing says that no two are equal there."""
    pair = order if rng.random() < _EVEN else order[::-1]
    return state(rng.choice(wordings(by, "above", pair[0], language)[:2]), pair, language)


@cache
def _template(puzzle: Puzzle) -> str:
    """Name the kind of puzzle: its size, its facts' kinds and the place asked for."""
    return f"{puzzle.size}:{'+'.join(sorted(kind for kind, _ in puzzle.facts))}:{puzzle.place}"


def verify(item: Item, reply: str) -> Verdict:
    """Accept the right name in the last answer line or, without one, alone in the reply and not denied."""
    text = _fold(reply)
    forms = {form: name for name in item.facts["names"] for form in _forms(name)}
    if (said := _answer_line(text)) is not None:
        named = {forms[word] for word in _WORD.findall(said) if word in forms}
        denied, missing = _denies(said), "the answer line names none of them"
    else:
        named = {forms[word] for word in _WORD.findall(text) if word in forms}
        denied, missing = len(named) == 1 and _denied_in(text, forms), "names none of them"
    if not named:
        return Verdict(correct=None, reason=missing)
    if len(named) > 1:
        return Verdict(correct=False, reason="names several of them")
    if denied:
        return Verdict(correct=False, reason="denies the one it names")
    if item.answer in named:
        return Verdict(correct=True, reason="right")
    return Verdict(correct=False, reason="names another one")


def _fold(text: str) -> str:
    return text.lower().replace("ё", "е")


@cache
def _forms(name: str) -> tuple[str, ...]:
    return tuple(map(_fold, cases(name)))


def _answer_line(text: str) -> str | None:
    """Return what stands after the last marker, on its line or the next one that is not blank; None without."""
    last = None
    for last in _MARKER.finditer(text):  # noqa: B007 - only the last one counts
        pass
    if last is None:
        return None
    if _WORD.search(last[1]):
        return last[1]
    following = _LINE_WITH_WORD.search(text, last.end())
    return following[0] if following else None


def _denies(passage: str) -> bool:
    return not _DENIALS.isdisjoint(_WORD.findall(passage)) or bool(_DENYING_PHRASE.search(passage))


def _denied_in(text: str, named: Collection[str]) -> bool:
    """Tell whether a sentence that holds one of the forms holds a denial."""
    return any(
        _denies(sentence)
        for sentence in _SENTENCE.findall(text)
        if any(word in named for word in _WORD.findall(sentence))
    )


def reference(item: Item) -> str:
    """Return the answer line."""
    return f"{MARKERS[item.language]}: {item.answer}"


def near_misses(item: Item) -> Sequence[str]:
    """Return replies that name somebody else, too many, or the right one only to deny it."""
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
)
